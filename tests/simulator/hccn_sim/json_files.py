"""JSON files that a call reads without the module json, whose import takes a third of the time of a call: it imports re."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import Any

NAMES = {"__builtins__": {}, "true": True, "false": False, "null": None}


def read_json(path: str) -> Any:
    """Return the value of a file that write_json or a test wrote, None if there is no file. JSON is Python but for three names."""
    try:
        with open(path, encoding="utf-8", errors="surrogatepass") as stream:
            return eval(stream.read(), dict(NAMES))
    except FileNotFoundError:
        return None


def write_json(path: str, value: Any) -> None:
    """Replace a file atomically, so that readers need no lock."""
    import json

    scratch = f"{path}.{os.getpid()}"
    with open(scratch, "w", encoding="utf-8", errors="surrogatepass") as stream:
        json.dump(value, stream, indent=1, sort_keys=True, ensure_ascii=False)
    os.replace(scratch, path)
