"""Mutate texts and documents, slightly or strongly. The same seed makes the same mutations."""

from __future__ import annotations

import copy
import random
from typing import Any

WORDS = (
    "", " ", "\t", "\r\n", "\n\n", ":", "|", "%", "-", "--", "+", "0", "-1", "00", "1e999", "-nan", "nan", "inf", "0x", "0xffffffffffffffffff", "9" * 400,
    "1.2.3.4.5", "999.999.999.999", "::", "fe80::1%eth0", "NA", "N/A", "null", "true", "\x00", "\x1b[31m", "\u200b", "\u0661\u0662", "\ud800", "\U0001d7d9",
    "\u00b2", "9" * 5000,
    "{", "}", "[", "\"", "'", "\\", "{{ lookup('pipe','id') }}", "success", "failed", "Command execute failed!", "device is busy", "a" * 3000, "=" * 200,
    "(" * 200,
)

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, float("inf"), 2**70, "", " ", "0", "-1", "x" * 3000, "1.2.3.4", "\x00", "\ud800", "{{ x }}", [], {}, [[]], [None],
    {"": None}, {"a": {"b": []}},
)


def text(generator: random.Random, seeds: list[str]) -> str:
    """Return a seed text with one to six mutations."""
    made = generator.choice(seeds)
    for _time in range(generator.choice((1, 1, 2, 3, 6))):
        made = generator.choice(_TEXT)(generator, made, seeds)
        if len(made) > 200_000:
            made = made[:200_000]
    return made


def document(generator: random.Random, seed: Any) -> Any:
    """Return a copy with one to four values replaced, removed, doubled or moved."""
    made = copy.deepcopy(seed)
    for _time in range(generator.choice((1, 1, 2, 4))):
        places = list(_places(made))
        if not places:
            return generator.choice(JUNK)
        holder, key = generator.choice(places)
        kind = generator.randrange(5)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == 2:
            other, place = generator.choice(places)
            holder[key] = copy.deepcopy(other[place]) if _has(other, place) else None
        elif kind == 3 and isinstance(holder[key], str):
            holder[key] = text(generator, [holder[key]])
        else:
            holder[key] = copy.deepcopy(generator.choice(JUNK))
    return made


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Yield every holder and key, top down."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 5000:
        holder = waiting.pop()
        keys: Any = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def _cut(generator: random.Random, made: str, _seeds: list[str]) -> str:
    return made[:generator.randrange(len(made) + 1)]


def _head_off(generator: random.Random, made: str, _seeds: list[str]) -> str:
    return made[generator.randrange(len(made) + 1):]


def _insert(generator: random.Random, made: str, _seeds: list[str]) -> str:
    place = generator.randrange(len(made) + 1)
    return made[:place] + generator.choice(WORDS) + made[place:]


def _word(generator: random.Random, made: str, _seeds: list[str]) -> str:
    """Replace one word with another."""
    words = made.split(" ")
    words[generator.randrange(len(words))] = generator.choice(WORDS)
    return " ".join(words)


def _lines(generator: random.Random, made: str, _seeds: list[str]) -> str:
    """Remove, double or move a line, or join it with the previous one."""
    lines = made.split("\n")
    place = generator.randrange(len(lines))
    kind = generator.randrange(4)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[place])
    elif kind == 2:
        lines.insert(generator.randrange(len(lines)), lines.pop(place))
    else:
        lines[max(0, place - 1):place + 1] = ["".join(lines[max(0, place - 1):place + 1])]
    return "\n".join(lines)


def _digits(generator: random.Random, made: str, _seeds: list[str]) -> str:
    return "".join(generator.choice("0123456789-.x ") if letter.isdigit() and generator.random() < 0.1 else letter for letter in made)


def _splice(generator: random.Random, made: str, seeds: list[str]) -> str:
    """Join the head of one text with the tail of another."""
    other = generator.choice(seeds)
    return made[:generator.randrange(len(made) + 1)] + other[generator.randrange(len(other) + 1):]


def _again(generator: random.Random, made: str, _seeds: list[str]) -> str:
    start = generator.randrange(len(made) + 1)
    return made[:start] + made[start:start + generator.randrange(1, 200)] * generator.choice((2, 10, 300)) + made[start:]


def _ends(generator: random.Random, made: str, _seeds: list[str]) -> str:
    return made.replace("\n", generator.choice(("\r\n", "\r", "\n\n", "", "\x0b", "\u2028")))


_TEXT = (_cut, _head_off, _insert, _insert, _word, _word, _lines, _lines, _digits, _splice, _again, _ends)
