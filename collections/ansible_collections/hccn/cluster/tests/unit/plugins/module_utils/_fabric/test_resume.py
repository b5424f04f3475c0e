from __future__ import annotations

import json
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import utc
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal as journals
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import repair, session
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair

TOOL = {"tool": {"name": "ib_write_bw", "version": "6.29"}, "operation": "write", "measure": "bandwidth", "options": {"qps": 1}}
CONDITIONS = {"cpu_governor": "keep", "parallel": "rails", "rdma_device": None, "rdma_port": None}
_ENDS = {"source": {"host": "a", "device": 0}, "target": {"host": "b", "device": 0}, "context": {"round": 1}, "samples": []}
GOOD = {"id": "r1/p0001/forward/1", "status": "ok", **_ENDS}
BAD = {"id": "r1/p0002/forward/1", "status": "failed", "error": {"code": "x", "message": "y"}, **_ENDS}


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


def run_of(folder, run_id="r1", conditions_hash="h", end=True, age=0.0, **fields):
    made = Journal.create(folder, run_id)
    made.start(conditions_hash=conditions_hash, devices=[], mark="x", pairs_total=2, **fields)
    made.record(GOOD)
    made.record(BAD)
    if end:
        made.end("finished")
    made.close()
    path = journals.path_of(folder, run_id)
    lines = [json.loads(line) for line in open(path)]
    lines[0]["started_at"] = time.time() - age
    lines[0]["identity"] = "another boot/1"
    with open(path, "w") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)


def test_the_hash_covers_the_options_without_the_release_of_the_tool():
    known = session.hash_conditions(TOOL, CONDITIONS)
    assert len(known) == 64
    assert session.hash_conditions({**TOOL, "tool": {"name": "ib_write_bw"}}, CONDITIONS) == known
    assert session.hash_conditions({**TOOL, "options": {"qps": 2}}, CONDITIONS) != known


@pytest.mark.parametrize("changes", [{"cpu_governor": "performance"}, {"parallel": "none"}, {"rdma_device": "mlx5_1"}, {"rdma_port": 2}])
def test_other_conditions_change_the_hash(changes):
    assert session.hash_conditions(TOOL, {**CONDITIONS, **changes}) != session.hash_conditions(TOOL, CONDITIONS)


def ends(target="b", address="10.0.0.2", device=0):
    return {"source": {"host": "a", "device": 0, "address": "10.0.0.1"}, "target": {"host": target, "device": device, "address": address}}


def pair(name, target="b", address="10.0.0.2", round_number=1, **options):
    return Pair(name, round_number, 0, Endpoint("a", 0, "10.0.0.1"), Endpoint(target, 0, address), tuple(options.items()))


def test_records_are_those_of_the_same_npus_in_another_plan():
    """The ids of pairs are their positions in a plan, so with one host more each id can be that of other NPUs."""
    records = [{**GOOD, **ends()}, {**GOOD, "id": "r1/p0002/forward/1", **ends("c", "10.0.0.3")}]
    same, moved = pair("p0001"), pair("p0005", "c", "10.0.0.3", round_number=3)
    assert session.taken_over(records, [same, pair("p0002", "d", "10.0.0.4"), moved]) == {
        same: {**GOOD, **ends()}, moved: {**GOOD, "id": "r1/p0005/forward/1", **ends("c", "10.0.0.3"), "context": {"round": 3}}}


@pytest.mark.parametrize("planned", [pair("p0001", address="10.0.0.9"), pair("p0001", "c"), pair("p0001", qps=4)])
def test_other_address_host_or_options_are_measured(planned):
    assert session.taken_over([{**GOOD, **ends()}], [planned]) == {}


def test_record_without_addresses_is_not_taken_over():
    assert session.taken_over([GOOD], [pair("p0001")]) == {}


def test_good_records_are_taken_over(folder):
    run_of(folder)
    assert session.earlier_records(folder, "r1", "r2", "h") == [GOOD]
    assert session.earlier_records(folder, None, "r2", "h") == []
    assert session.earlier_records(folder, "never", "r2", "h") == session.earlier_records(folder + "/no", "last", "r2", "h") == []


def test_records_that_were_taken_over_expire(folder):
    run_of(folder)
    days = {6.9: "r0/p0003/forward/1", 7.1: "r0/p0004/forward/1"}
    taken = [{**GOOD, "id": name, "started_at": utc(time.time() - age * 86400)} for age, name in days.items()]
    with open(journals.path_of(folder, "r1"), "a") as stream:
        stream.writelines(json.dumps({"type": "record", "record": record}) + "\n" for record in taken)
    assert session.earlier_records(folder, "r1", "r2", "h") == [GOOD, taken[0]]


def test_the_last_run_is_the_one_that_started_last(folder):
    run_of(folder, "a", "other", age=10.0)
    run_of(folder, "b", "other", age=20.0)
    run_of(folder, "c", "h", age=5.0)
    run_of(folder, "c-confirmation", "of a few pairs", age=1.0)
    assert (journals.last_started(folder).run_id, journals.last_started(folder, "c").run_id) == ("c", "a")
    assert session.earlier_records(folder, "last", "r2", "h") == [GOOD]
    with pytest.raises(HccnError) as raised:
        session.earlier_records(folder, "last", "c", "h")
    assert raised.value.message == "run a cannot be resumed: its options are not those of this run"


@pytest.mark.parametrize("fields, name, code, message", [
    ({}, "r2", "invalid_input", "resume names the run itself, r2"),
    ({"age": 8 * 86400.0}, "r1", "resume_refused", "run r1 cannot be resumed: it is 8 days old, and a fabric can change within 7"),
    ({"conditions_hash": "g"}, "r1", "resume_refused", "run r1 cannot be resumed: its options are not those of this run"),
])
def test_runs_that_cannot_be_resumed_are_refused(folder, fields, name, code, message):
    run_of(folder, **fields)
    with pytest.raises(HccnError) as raised:
        session.earlier_records(folder, name, "r2", "h")
    assert (raised.value.code, raised.value.message) == (code, message)


def test_a_running_run_is_not_resumed(folder):
    made = Journal.create(folder, "r1")
    made.start(conditions_hash="h", pairs_total=2)
    with pytest.raises(HccnError) as raised:
        session.earlier_records(folder, "r1", "r2", "h")
    made.close()
    assert raised.value.message == "run r1 cannot be resumed: it is still at work on this host"


def test_repair_ends_the_journal_of_a_dead_run_once(folder, tmp_path):
    run_of(folder, "dead", end=False)
    run_of(folder, "over")
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_governor").write_text("performance")
    for name in ("dead", "over"):
        with open(repair.saved_governor(folder, name), "w") as saved:
            saved.write('{"policy0": "schedutil"}')
    assert repair.repair_all(folder, str(tmp_path)) == ["dead", "over"]
    assert (policy / "scaling_governor").read_text() == "schedutil"
    snapshot = journals.read(folder, "dead")
    assert (snapshot.state, snapshot.error()["message"]) == ("failed", "the runner died during the run: 2 of 2 pairs are in the journal")
    assert journals.read(folder, "over").state == "finished"
    assert repair.repair_all(folder, str(tmp_path)) == []


def test_repair_resets_the_npus_of_a_dead_run(folder, tmp_path):
    tool = tmp_path / "hccn_tool"
    tool.write_text("#!/bin/sh\necho \"$@\" >> %s/calls\necho 'Cmd executed successfully!'\n" % tmp_path)
    tool.chmod(0o755)
    run_of(folder, end=False, hccn_tool=str(tool))
    path = journals.path_of(folder, "r1")
    with open(path) as stream:
        text = stream.read().replace('"devices": []', '"devices": [0, 3]')
    with open(path, "w") as stream:
        stream.write(text)
    assert repair.repair_all(folder) == ["r1"]
    assert (tmp_path / "calls").read_text().splitlines() == ["-i 0 -roce_test reset", "-i 3 -roce_test reset"]


def test_a_running_run_is_not_repaired(folder):
    made = Journal.create(folder, "r1")
    made.start(devices=[], mark="x")
    made.close()
    assert repair.repair_all(folder) == []
