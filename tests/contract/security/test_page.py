"""Show the page of a run with hostile names of hosts, switches (LLDP) and errors in headless Chromium: no script runs, and nothing is fetched.

The unit tests of _report check in the source of the page that no text becomes markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html, model

from tests.integration.report import browser as chromium

PWN = "window.pwned=1"
TEXTS = (f"<img src=x onerror={PWN}>", f"<script>{PWN}</script>", f"\"'><svg onload={PWN}>", f"javascript:{PWN}", f"</script><script>{PWN}</script>",
         f"{{{{ 7*7 }}}}${{{PWN}}}", "\u202e\x1b[31m\x00", f"x]]><iframe srcdoc='<script>parent.{PWN}</script>'>", "<style>*{display:none}</style>")
SCHEMA = "hccn.cluster/measurement/1"


def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for text in TEXTS:
        end = {"host": text, "device": 0, "address": text}
        found += [
            {"schema": SCHEMA, "id": f"d/{text}", "kind": "device", "status": "failed", "source": end, "error": {"code": text, "message": text, "hint": text},
             "samples": [{"lldp": {"system_name": text, "port_id": text, "ifname": text}, "link": text, "health": text}], "context": {"product": text}},
            {"schema": SCHEMA, "id": f"r/{text}", "kind": "rdma", "status": "failed", "tool": {"name": text, "version": text}, "operation": text,
             "measure": "bandwidth", "source": end, "target": end, "hosts": [text, text], "error": {"code": text, "message": text, "hint": text},
             "command": [text], "options": {text: text}, "context": {"leaf": text}},
            {"schema": SCHEMA, "id": f"v/{text}", "kind": "verdict", "status": "failed", "source": end, "hosts": [text],
             "samples": [{"class": "slow", "message": text, "evidence": [text], "component": text}]},
            {"schema": SCHEMA, "id": f"c/{text}", "kind": "collective", "status": "failed", "operation": text, "hosts": list(TEXTS), "ranks": 8,
             "error": {"code": text, "message": text}, "context": {"suspects": [text], "group": text}},
        ]
        found.append({"schema": SCHEMA, "id": f"f/{text}", "kind": "finding", "status": "failed", "hosts": [text], "samples": [
            {"component": {"kind": "host", "name": text}, "cause": text, "severity": "failed", "message": text, "hosts": [text], "evidence": [text],
             "next_step": text, "stage": text}]})
    names = list(TEXTS)
    found += [{"schema": SCHEMA, "id": f"m/{name}", "kind": "matrix", "status": "ok", "source": {"host": name, "device": 0}, "hosts": names,
               "measure": "bandwidth", "operation": "write",
               "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [100.0 + place for place in range(len(names))]}]} for name in names]
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser_or_skip(tmp_path_factory.mktemp("browser")) as started:
        yield started


def test_scripts_in_names_do_not_run(browser: chromium.Browser, tmp_path: Path) -> None:
    header = {"schema": "hccn.cluster/history/1", "run_id": TEXTS[0], "started_at": TEXTS[1], "playbook": TEXTS[2], "controller": TEXTS[3]}
    run = Run(RunFile(tmp_path / "2026/01/20260102T030405Z-1a2b3c4d.jsonl", "20260102T030405Z-1a2b3c4d", "20260102T030405Z", part=False), header, records(),
              [{"event": "failed", "host": text, "task": text, "message": text} for text in TEXTS], {"end": True, "hosts": {text: {} for text in TEXTS}})
    path = tmp_path / "page.html"
    path.write_text(html.render(model.build(run, title=TEXTS[0])), encoding="utf-8")
    browser.screen(1280, 800, False)
    browser.scripts(True)
    browser.open(path)
    # Everything is displayed, and has received pointer and click events, and is plain text.
    browser.value("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    browser.value("document.querySelectorAll('*').forEach((e) => { e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); })")
    assert browser.value("document.body.innerText.includes('<img src=x onerror=')")
    assert browser.value("typeof window.pwned") == "undefined"
    strange = 'iframe, object, embed, img:not([src^="data:"]), a[href^="javascript:"], [onload], [onerror]'
    assert browser.value(f"document.querySelectorAll({strange!r}).length") == 0
    assert browser.value("document.querySelectorAll('script').length") == 2
    assert browser.value("performance.getEntriesByType('resource').filter((e) => !e.name.startsWith('data:')).length") == 0
    # The page's own policy works, too: a script that is added afterwards does not run.
    browser.value("(() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 2'; document.body.append(s); })()")
    assert browser.value("typeof window.pwned") == "undefined"
