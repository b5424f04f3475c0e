"""Compare the messages of ClusterD with the reference material (field numbers) and with the descriptors of the stand-in (bytes).

`make test-protobuf` runs this file with the oldest and the newest supported protobuf.
"""

from __future__ import annotations

import re
from typing import Any

import google.protobuf
import pytest
import yaml
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import schema, wire

from tests.simulator.clusterd_sim import proto
from tests.lib.project import ROOT, shared

SECTIONS = {"config": "config.proto", "recover": "recover.proto", "fault": "fault.proto", "job": "job.proto"}
FIELD = re.compile(r"(\d+) (?:(?:repeated|map<[^>]*>)(?: [A-Z]\w*| string| bool)? )?(\w+)")
MESSAGES = [(name, title) for name, file in schema.FILES.items() for title in file.messages]

VALUES: dict[str, dict[str, Any]] = {
    "recover.SwitchNics": {"jobID": "j", "nicOps": {"node-1": {"dev": ["0", "8"], "op": [True, False]}, "node-2": {"dev": ["3"], "op": [True]}}},
    "recover.Status": {"code": 411, "info": "jobId=j nic is swtiching, or job recovering"},
    "config.RankTableStream": {"jobId": "j", "rankTable": '{"version": "1.0"}'},
    "fault.FaultQueryResult": {"code": 200, "info": "ok", "faultSignal": {"uuid": "u", "jobId": "-1", "signalType": "fault", "nodeFaultInfo": [
        {"nodeName": "n", "nodeIP": "192.0.2.1", "nodeSN": "s", "faultLevel": "UnHealthy", "faultDevice": [
            {"deviceId": "0", "deviceType": "NPU", "faultCodes": ["a", "b"], "faultLevel": "l", "faultType": ["t"], "faultReason": [],
             "switchFaultInfos": [{"faultCode": "c", "switchChipId": "1", "switchPortId": "2", "faultTime": "3", "faultLevel": "4"}],
             "faultLevels": ["x"]}]}]}},
    "job.ClientInfo": {"role": "CCAgent", "clientId": "c"},
    "job.JobSummarySignalList": {"jobSummarySignals": [{name: name for name in schema.FILES["job"].messages["JobSummarySignal"]}], "ReportTime": "9",
                                 "JobTotalNum": 1},
}


def documented() -> dict[str, dict[str, dict[str, int]]]:
    """Return the messages and field numbers of the reference material, by file."""
    text = shared("facts/clusterd-ranktable.md").read_text().replace("**3** clientId", "3 clientId").split("### 1.2")[1].split("### 1.3")[0]
    found: dict[str, dict[str, dict[str, int]]] = {}
    for name, title in SECTIONS.items():
        section = text.split(f"**{title} ")[1] if f"**{title} " in text else text.split(f"**{title}")[1]
        section = re.split(r"\n\*\*\w+\.proto", section)[0]
        rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ") and re.match(r"\| \w+ \|", line)]
        numbers = {cells[0]: {field: int(number) for number, field in FIELD.findall(cells[1])}
                   for cells in rows if len(cells) == 2 and cells[1][0].isdigit()}
        found[name] = numbers
    return found


@pytest.mark.parametrize(("name", "title"), MESSAGES)
def test_field_numbers_match_the_reference_material(name: str, title: str) -> None:
    ours = {field: number for field, (number, _) in schema.FILES[name].messages[title].items()}
    expected = documented()[name].get(title)
    if expected is None:
        # The tables omit these two messages; the text says that Status and ClientInfo of fault.proto equal those of config.proto.
        assert (name, title) in (("fault", "Status"), ("fault", "ClientInfo"))
        expected = documented()["config"][title]
    assert ours == expected


@pytest.mark.parametrize(("name", "title"), MESSAGES)
def test_field_numbers_match_the_stand_in(name: str, title: str) -> None:
    ours = {field: number for field, (number, _) in schema.FILES[name].messages[title].items()}
    assert ours == proto.load(name).numbers[title]


def test_descriptors_match_the_schema() -> None:
    built = {(name, title): {field.name: field.number for field in wire.message_class(name, title).DESCRIPTOR.fields} for name, title in MESSAGES}
    assert built == {(name, title): {field: number for field, (number, _) in schema.FILES[name].messages[title].items()} for name, title in MESSAGES}
    assert [wire.message_class(name, "Status").DESCRIPTOR.full_name for name in ("recover", "config")] == ["Status", "config.Status"]


@pytest.mark.parametrize("which", VALUES)
def test_product_and_stand_in_understand_each_other(which: str) -> None:
    name, title = which.split(".")
    theirs = proto.load(name).messages[title]
    data = wire.encode(name, title, VALUES[which])
    message = theirs.FromString(data)
    assert wire.decode(name, title, message.SerializeToString()) == VALUES[which]
    assert {field.name for field, _ in message.ListFields()} == set(VALUES[which])


def test_encoded_bytes() -> None:
    request = {"jobID": "j", "nicOps": {"n": {"dev": ["0", "8"], "op": [True, True]}}}
    assert wire.encode("recover", "SwitchNics", request).hex() == "0a016a120f0a016e120a0a01300a01381202" + "0101"
    assert wire.decode("recover", "Status", b"") == {"code": 0, "info": ""}
    assert wire.decode("recover", "Status", bytes.fromhex("0800120161") + b"\x1a\x01x") == {"code": 0, "info": "a"}


def test_installed_protobuf_is_supported() -> None:
    oldest, newest = yaml.safe_load((ROOT / "tests/lab/versions/versions.yml").read_text())["protobuf"]
    assert google.protobuf.__version__ in (oldest, newest)
    assert f"protobuf=={newest}" in (ROOT / "requirements-clusterd.txt").read_text().splitlines()
