"""Pass mutated inputs to all parsers and report those that raise anything but the project's own errors, or do not return.

``python -m tests.lab.fuzz.run 1000000`` distributes that number of inputs over all parsers and prints the seed. ``--seed`` and ``--only`` repeat one.
"""

from __future__ import annotations

import argparse
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from tests.lab.fuzz import mutate, targets

HANG_SECONDS = 20
"""Inputs are below 200 kB; a parser that takes this long is considered hung."""


class Hung(BaseException):
    """The parser did not return. It is not an Exception, so that no parser can catch it."""


@dataclass(frozen=True)
class Finding:
    """``problem``: the exception and where it was raised."""

    target: str
    problem: str
    input: Any

    def __str__(self) -> str:
        return f"{self.target}: {self.problem}\n    {self.input!r:.400}"


@dataclass
class Tally:
    """``refused``: number of inputs that raised the project's own error."""

    inputs: int = 0
    refused: int = 0


def names() -> list[str]:
    """Return the names of all targets."""
    return [*targets.text_targets(), *targets.document_targets()]


def fuzz(name: str, count: int, seed: int, tally: Tally) -> Iterator[Finding]:
    """Yield one finding of each kind."""
    generator = random.Random(f"{name} {seed}")  # noqa: S311
    call, make = _maker(name, generator)
    known: set[str] = set()
    before = signal.signal(signal.SIGALRM, _hung)
    try:
        for _number in range(count):
            made = make()
            tally.inputs += 1
            problem = _one(call, made, tally)
            if problem and problem not in known:
                known.add(problem)
                yield Finding(name, problem, made)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _maker(name: str, generator: random.Random) -> tuple[Callable[[Any], Any], Callable[[], Any]]:
    texts, documents = targets.text_targets(), targets.document_targets()
    if name in documents:
        call, begin = documents[name]
        return call, lambda: mutate.document(generator, generator.choice(begin))
    every = targets.seeds()
    own = every.get(name.split(".")[1], []) or every[""]
    return texts[name], lambda: mutate.text(generator, own if generator.random() < 0.9 else every[""])


def _hung(_signal: int, _frame: Any) -> None:
    raise Hung


def _one(call: Callable[[Any], Any], made: Any, tally: Tally) -> str:
    """Return a description of what went wrong, or an empty text."""
    signal.alarm(HANG_SECONDS)
    try:
        call(made)
    except HccnError:
        tally.refused += 1
    except Hung:
        return f"did not return within {HANG_SECONDS} s"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
    finally:
        signal.alarm(0)
    return ""


def main() -> int:
    """Return the number of findings, at most 100."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("inputs", type=int)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options.add_argument("--only")
    arguments = options.parse_args()
    wanted = [name for name in names() if arguments.only in (None, name)]
    tally, found, start = Tally(), [], time.monotonic()
    print(f"seed {arguments.seed}, {len(wanted)} parsers", flush=True)
    for name in wanted:
        for finding in fuzz(name, arguments.inputs // len(wanted) + 1, arguments.seed, tally):
            found.append(finding)
            print(finding, flush=True)
    print(f"{tally.inputs} inputs, {tally.refused} refused, {len(found)} findings, {time.monotonic() - start:.0f} s")
    return min(len(found), 100)


if __name__ == "__main__":
    raise SystemExit(main())
