"""Judge every recorded file hccn.conf: errors exactly where the recovery of the real hccn_tool front end failed, by the recording itself."""

from __future__ import annotations

from functools import cache
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf, conf_check, conf_replay
from tests.lib.conf_recordings import devices, recoveries, text

UNKNOWN_KEYS = {"foo", "tls", "udp_port", "vlan", "pfc_storm_watchdog_enable"}
"""Keys of no meaning in the recordings. An unknown key alone is no problem, since hccn_tool may know more keys than we do."""


def host(run: dict[str, Any]) -> conf_replay.RecoveryHost:
    """Return the product of a run, and whether it was in a super pod. A board of the type A+X does not write optical settings, as an A3 does not."""
    if run["form"] == "A2":
        return conf_replay.RecoveryHost("A2")
    return conf_replay.RecoveryHost("A3", run["form"] == "A3") if run["form"].startswith("A3") else conf_replay.RecoveryHost("A2-AX")


def device_decides(run: dict[str, Any]) -> bool:
    """Return True if the device made the recovery fail, which the file cannot tell: it refused a call, has no certificate, or its sibling the address."""
    refused = any(call[2] != 0 for call in run["device_calls"] if isinstance(call[2], int))
    sibling = run["form"].startswith("A3") and "duplicate" not in run["circumstances"] and "1.ip=" in run["stub_state"]
    return refused or "tls_nocert=1" in run["stub_state"] or sibling


def present(run: dict[str, Any]) -> list[int]:
    """Return the devices that were recovered so far: in a sequence, those before this one too."""
    own = devices(run)
    return sorted(range(own[0] + 1)) if "continues" in run["circumstances"] and run["form"].startswith("A3") else own


@cache
def judged() -> dict[str, tuple[dict[str, Any], list[Problem]]]:
    return {run["id"]: (run, conf_check.check(text(run["conf_before"]), present(run), host(run))) for run in recoveries()}


def test_errors_are_reported_exactly_where_the_recovery_failed() -> None:
    failed = {name: run["exit"] != "0" for name, (run, _problems) in judged().items() if not device_decides(run)}
    found = {name: any(problem.severity == "error" and problem.device in (None, *devices(run)) for problem in problems)
             for name, (run, problems) in judged().items() if name in failed}
    assert found == failed
    assert (len(failed), sum(failed.values())) == (208, 90)


def test_devices_alone_decide_few_recordings() -> None:
    assert {name: run["circumstances"] for name, (run, _problems) in judged().items() if device_decides(run)} == {
        "r2-014": "device refuses netdetect", "r2-052": "device refuses tls", "r2-196": "device refuses the gateway",
        "r2-330": "no certificate on the device", "r2-408": "address of the sibling die"}


def test_errors_are_on_lines_that_recovery_refused() -> None:
    """The recording names them; a line that was joined to another one by the recovery itself is named by neither line alone."""
    wrong = {}
    for name, (run, problems) in judged().items():
        refused = {line for line, _key, verdict in run.get("verdicts", ()) if verdict in ("refused", "partly")}
        lines = {int(problem.where.split()[1]) for problem in problems
                 if problem.severity == "error" and problem.where and problem.where.startswith("line ") and problem.rule not in ("final_newline", "nul_bytes")}
        if refused and not lines <= refused:
            wrong[name] = (run["circumstances"], lines, refused)
    assert wrong == {}


def test_lines_that_recovery_ignores_are_warnings() -> None:
    missing = {}
    for name, (run, problems) in judged().items():
        ignored = {line: key for line, key, verdict in run.get("verdicts", ()) if verdict == "ignored"}
        warned = {problem.where for problem in problems}
        for line, key in ignored.items():
            named, _line, device = key.rpartition("_")
            other_device = device.isdigit() and int(device) not in devices(run)  # named once, by its first line
            if f"line {line}" not in warned and named not in UNKNOWN_KEYS and not other_device and run["form"] != "A2-AX":
                missing[name] = key
    assert missing == {
        "r2-166": "send_arp_status_0", "r2-396": "send_arp_status_0",  # an error names the period, at which this part of the recovery ends
        "r2-224": "a",  # a line of two characters
    }


def test_recovery_leaves_the_predicted_text() -> None:
    different = {}
    for name, (run, _problems) in judged().items():
        if "sibling" not in run["circumstances"] and conf_replay.replay(text(run["conf_before"]), devices(run), host(run))[1] != text(run["conf_after"]):
            different[name] = run["circumstances"]
    assert different == {}


def test_values_are_those_that_the_tool_read() -> None:
    """The recording tells for each line with an equals sign whether it reached the device: a line that did is a setting."""
    for run, _problems in judged().values():
        keys = {setting.full_key for setting in conf.settings(text(run["conf_before"]))}
        assert {key for key, applied in run.get("applied", ()) if applied and not key.startswith("#")} - keys == set(), run["id"]
