"""PMI-1, the text protocol with which MPICH's Hydra introduces ranks to each other. Without Hydra there is one rank."""

from __future__ import annotations

import os


class Pmi:
    """``rank``, ``size``. ``put`` and ``get`` share short texts; after ``barrier``, all earlier texts are visible."""

    def __init__(self) -> None:
        self.rank = int(os.environ.get("PMI_RANK", "0"))
        self.size = int(os.environ.get("PMI_SIZE", "1"))
        self._fd = int(os.environ["PMI_FD"]) if "PMI_FD" in os.environ else None
        self._read = b""
        self._local: dict[str, str] = {}
        self._space = ""
        if self._fd is not None:
            self._ask("init", pmi_version="1", pmi_subversion="1")
            self._ask("get_maxes")
            self._space = self._ask("get_my_kvsname")["kvsname"]

    def put(self, key: str, value: str) -> None:
        self._local[key] = value
        if self._fd is not None:
            self._ask("put", kvsname=self._space, key=key, value=value)

    def get(self, key: str) -> str:
        if self._fd is None:
            return self._local[key]
        return self._ask("get", kvsname=self._space, key=key)["value"]

    def barrier(self) -> None:
        if self._fd is not None:
            self._ask("barrier_in")

    def finalize(self) -> None:
        if self._fd is not None:
            self._ask("finalize")

    def _ask(self, command: str, **arguments: str) -> dict[str, str]:
        words = [f"cmd={command}"] + [f"{key}={value}" for key, value in arguments.items()]
        os.write(self._fd, (" ".join(words) + "\n").encode())
        while b"\n" not in self._read:
            data = os.read(self._fd, 4096)
            if not data:
                raise SystemExit(1)
            self._read += data
        line, self._read = self._read.split(b"\n", 1)
        answer = dict(word.split("=", 1) for word in line.decode().split() if "=" in word)
        if answer.get("rc", "0") != "0":
            raise SystemExit(f"PMI: {command}: {line.decode()}")
        return answer
