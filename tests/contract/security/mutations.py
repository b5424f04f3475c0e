"""Replace one field of an answer with a value that a hostile or broken host might send.

It uses the standard library only, because the connection of test_odd_host.py imports it.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

MARK = "pwned"
CANARY = f"{MARK}_canary"
"""The name of a file that no answer may create."""

MARKUP = f"<img src=x onerror={MARK}=1>"

WORDS: Sequence[str] = (
    "", " ", "-", f"-oProxyCommand=touch {CANARY}", f"--{MARK}", f"$(touch {CANARY})", f"'; touch {CANARY} #", f"`touch {CANARY}`",
    f"{{{{ lookup('pipe', 'touch {CANARY}') }}}}", f"{{% for x in lookup('pipe', 'touch {CANARY}') %}}{{% endfor %}}", "{{", "{# x #}",
    f"#jinja2: variable_start_string: '<<', variable_end_string: '>>'\n<< lookup('pipe', 'touch {CANARY}') >>",
    f"../../{CANARY}", f"/tmp/{CANARY}", f"!unsafe {MARK}", MARKUP, f"</script><script>{MARK}=1</script>", f"[x](javascript:{MARK})", "@everyone",
    "\x1b[2J\x1b]0;x\x07", "\u202e\u2066", "\x00", "\ud800", "a\nb\r\nTASK [x]", "999.999.999.999", "10.1.1.999", "::", "1e999", "nan", "0x10", "9" * 400,
    "\u0661", "all", "localhost", "x" * 20_000, "failed", "good", "source", "target")

VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1.5, 10**30, -(10**30), 1e308, 1e-320, float("nan"), float("inf"), -float("inf"), [], {}, [[]], [None], {"": None},
    {"a": {"b": []}}, [1, 2, 3], ["x"] * 300)

ADDED: dict[str, Any] = {
    "ansible_facts": {"report_path": f"/tmp/{CANARY}", "ansible_connection": "local", "check_fabric_plan": MARK}, "failed": True, "unreachable": True,
    "skipped": True, "changed": MARK, "rail": MARK, "leaf": [MARK], "_ansible_no_log": True, "censored": MARK, "warnings": [MARK], "exception": MARK,
    "invocation": {"module_args": MARK}, "kind": "verdict", "measurements": [{"schema": "hccn.cluster/measurement/1", "kind": "verdict", "host": "all"}]}
"""Keys that a result must not contain, or that have a meaning for Ansible."""


Place = tuple[str | int, ...]


def places(value: Any, before: Place = ()) -> Iterator[Place]:
    """Yield every field of a document, from the top."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*before, key)
        yield from places(one, (*before, key))


def mutated(generator: random.Random, answer: Any, others: Sequence[str] = ()) -> tuple[str, Any]:
    """Return a description of the mutation and a mutated copy: one field is replaced, removed, doubled, nested, renamed or added."""
    made = copy.deepcopy(answer)
    where = generator.choice(list(places(made)))
    holder: Any = made
    for step in where[:-1]:
        holder = holder[step]
    key: Any = where[-1]
    how = generator.choice(("word", "word", "word", "value", "value", "remove", "double", "nest", "deep", "add", "key", "like"))
    if how == "word":
        holder[key] = generator.choice((*WORDS, *others))
    elif how == "value":
        holder[key] = copy.deepcopy(generator.choice(VALUES))
    elif how == "remove":
        del holder[key]
    elif how == "double" and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key])] * generator.choice((1, 2, 100))
    elif how == "nest":
        holder[key] = generator.choice(([holder[key]], {"x": holder[key]}, [[holder[key]]]))
    elif how == "deep":
        for _level in range(generator.choice((5, 60, 300))):
            holder[key] = generator.choice(([holder[key]], {"x": holder[key]}))
    elif how == "add":
        target = holder[key] if isinstance(holder[key], dict) else holder if isinstance(holder, dict) else made
        name = generator.choice(list(ADDED))
        target[name] = copy.deepcopy(ADDED[name])
    elif how == "key" and isinstance(holder, dict):
        holder[generator.choice(WORDS)] = holder.pop(key)
    elif isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * generator.choice((-1, 0.1, 0.5, 2, 10, 1000)) + generator.choice((0, 0, 1))
    else:
        holder[key] = f"{holder[key]!s:.200}{generator.choice(WORDS)}"
    return f"{how} at {'.'.join(map(str, where))}", made
