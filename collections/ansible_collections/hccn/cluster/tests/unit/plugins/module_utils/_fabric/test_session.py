from __future__ import annotations

import json
import os
import pwd
import socket
import stat
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import repair, results, run_locks, runner, session
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal as journals
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_state import Settings
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import pack, parse_plan

KEY = "0123456789abcdef0123456789ABCDEF"


def plan_of(port):
    def end(host, device):
        return {"host": host, "device": device, "address": "10.0.%d.%d" % (device, "ab".index(host) + 1)}

    return {
        "rounds": [[{"id": "p0001", "source": end("a", 0), "target": end("b", 0)}, {"id": "p0002", "source": end("b", 1), "target": end("a", 1)}]],
        "hosts": {"a": {"control_address": "127.0.0.1", "control_port": port}, "b": {"control_address": "127.0.0.2", "control_port": port}},
    }


@pytest.fixture
def params(tmp_path):
    tool = tmp_path / "hccn_tool"
    tool.write_text("#!/bin/sh\necho \"$@\" >> %s/calls\necho 'Cmd executed successfully!'\n" % tmp_path)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return {
        "run_id": "r1", "state": "present", "plan": plan_of(free_port()), "host": "a", "key": KEY, "tool": "roce_test", "operation": "write",
        "measure": "bandwidth",
        "size": "64K", "iterations": 100, "duration": None, "qps": None, "mtu": None, "gid_index": None, "traffic_class": None, "source_port": None,
        "parallel": "rails",
        "server_start_delay": 0.0, "pair_timeout": 5.0, "meeting_timeout": 0.0, "wait": True, "state_dir": str(tmp_path / "state"), "purge": False,
        "devices": ["all"], "hccn_tool": str(tool), "npu_smi": str(tmp_path / "npu-smi"), "timeout": 5, "fail_on": "any", "allow_busy": True,
        "rdma_device": None, "rdma_port": None, "cpu_governor": "keep", "bidirectional": False, "resume": None, "root": "/",
        "reporters": [], "context": None,
    }


def test_check_mode_returns_the_commands(params):
    result = session.perform(params, True)
    tool = params["hccn_tool"]
    assert result == {"changed": False, "run_id": "r1", "measurements": [], "commands": [
        [tool, "-i", "0", "-roce_test", "ib_write_bw", "-s", "65536", "-n", "100", "address", "10.0.0.2", "-tcp"],
        [tool, "-i", "1", "-roce_test", "ib_write_bw", "-s", "65536", "-n", "100", "-tcp"],
    ]}
    assert not os.path.exists(params["state_dir"])


def test_a_packed_plan_has_the_same_result(params):
    wanted = session.perform(params, True)
    assert session.perform({**params, "plan": pack(params["plan"])}, True) == wanted


def test_resume_with_other_options_is_refused(params):
    session.perform(params, False)
    session.perform({**params, "plan": pack(params["plan"]), "resume": "r1", "run_id": "r2"}, False)
    with pytest.raises(HccnError) as raised:
        session.perform({**params, "resume": "r1", "run_id": "r3", "size": "128K"}, False)
    assert raised.value.as_dict() == {"code": "resume_refused", "message": "run r1 cannot be resumed: its options are not those of this run",
                                      "hint": "omit resume to measure all pairs"}
    assert not os.path.exists(journals.path_of(params["state_dir"], "r3"))


def test_a_pair_can_have_its_own_options(params):
    for entry, options in zip(params["plan"]["rounds"][0], ({"qps": 4}, {"qps": "2"})):
        entry["options"] = options
    assert [" ".join(argv[1:]) for argv in session.perform(params, True)["commands"]] == [
        "-i 0 -roce_test ib_write_bw -s 65536 -n 100 -q 4 address 10.0.0.2 -tcp", "-i 1 -roce_test ib_write_bw -s 65536 -n 100 -q 2 -tcp"]
    params["plan"]["rounds"][0][1]["options"] = {"source_port": 50000}
    with pytest.raises(InputError) as raised:
        session.perform(params, False)
    assert raised.value.message == "source_port has no effect with roce_test, which chooses the source ports of its queue pairs itself"


def test_check_mode_with_some_devices_and_all_sizes(params):
    params.update(devices=["1"], size="all")
    assert session.perform(params, True)["commands"] == [
        [params["hccn_tool"], "-i", "1", "-roce_test", "ib_write_bw", "-a", "-n", "100", "-tcp"]]


@pytest.mark.parametrize("changes, message", [
    ({"key": "0123"}, "key must be 32 hexadecimal digits (128 bit)"),
    ({"key": KEY[:-1] + "g"}, "key must be 32 hexadecimal digits (128 bit)"),
    ({"host": "z"}, "plan does not contain the host 'z'"),
    ({"size": "huge"}, "size 'huge' is not a positive number of bytes with an optional K, M or G"),
    ({"iterations": 1}, "iterations is 1, but roce_test accepts 5 to 20000 (-n)"),
    ({"pair_timeout": 4.0, "server_start_delay": 4.0}, "pair_timeout is 4 s, but a pair takes 4 s by duration and server_start_delay alone"),
    ({"iterations": None, "duration": 10}, "pair_timeout is 5 s, but a pair takes 10 s by duration and server_start_delay alone"),
    ({"server_start_delay": -1.0}, "server_start_delay and meeting_timeout must not be negative"),
    ({"devices": ["0-x"]}, "devices: '0-x' is neither an id, nor a range such as 0-7, nor all alone"),
    ({"reporters": ["a", "z"]}, "reporters: z is not among the hosts of the plan"),
    ({"context": {"line_rate_gbit_s": {"1": "fast"}}}, "context: the line rate of device 1 is 'fast', which is not a number of Gbit/s"),
    ({"run_id": "a/b"}, "run_id 'a/b' is not a name of up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit"),
])
def test_invalid_options_are_refused_before_any_action(params, changes, message):
    params.update(changes)
    with pytest.raises(InputError) as raised:
        session.perform(params, False)
    assert raised.value.message == message
    assert not os.path.exists(params["state_dir"])


def test_a_port_in_use_leaves_no_journal(params):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        params["plan"] = plan_of(other.getsockname()[1])
        with pytest.raises(HccnError) as raised:
            session.perform(params, False)
        assert raised.value.code == "control_port_in_use"
        assert raised.value.message == "127.0.0.1 port %d is in use on this host by pid %d (%s) of the user %s" % (
            other.getsockname()[1], os.getpid(), open("/proc/self/comm").read().strip(), pwd.getpwuid(os.getuid()).pw_name)
    assert os.listdir(params["state_dir"]) == [run_locks.NAME]


def held(params, run_id="r0"):
    return run_locks.HostLock.take(params["state_dir"], run_id)


def test_a_run_on_a_host_in_use_changes_nothing(params, tmp_path, monkeypatch):
    """The leftovers of a dead run, the devices and the port are not touched, since the other run uses them."""
    dead_run(params)
    lock = held(params)
    monkeypatch.setattr(session, "Listener", lambda control: pytest.fail("a port was bound"))
    before = {name: os.stat(os.path.join(params["state_dir"], name)).st_mtime_ns for name in os.listdir(params["state_dir"])}
    with pytest.raises(HccnError) as raised:
        session.perform({**params, "run_id": "r2"}, False)
    assert raised.value.code == "host_in_use"
    assert raised.value.message.startswith("run r0 (pid %d" % os.getpid())
    assert not (tmp_path / "calls").exists()
    assert {name: os.stat(os.path.join(params["state_dir"], name)).st_mtime_ns for name in os.listdir(params["state_dir"])} == before
    lock.close()


def test_a_run_that_cannot_start_releases_the_lock(params):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        params["plan"] = plan_of(other.getsockname()[1])
        with pytest.raises(HccnError):
            session.perform(params, False)
    held(params).close()


def test_a_detached_run_holds_the_lock_until_it_ends(params):
    params.update(plan=plan_of(free_port()), wait=False, meeting_timeout=300.0)
    session.perform(params, False)
    holder = run_locks.holder(params["state_dir"])
    assert (holder.run_id, holder.pid) == ("r1", journals.read(params["state_dir"], "r1").start["pid"])
    asked = params["state_dir"], 0.0
    assert results.wait_for_host(*asked) == {"run_id": "r1", "state": "running", "holder": holder.as_dict(), "measurements": []}
    with pytest.raises(HccnError) as raised:
        session.perform({**params, "run_id": "r2"}, False)
    assert raised.value.code == "host_in_use"
    session.perform({**params, "state": "absent"}, False)
    started = journals.read(params["state_dir"], "r1").start["started_at"]
    assert results.wait_for_host(*asked) == {"state": "idle", "measurements": [], "last_run": {"run_id": "r1", "started_at": started}}
    assert results.wait_for_host(params["state_dir"] + "/none", 60.0) == {"state": "idle", "measurements": []}


def test_ending_a_dead_run_beside_a_running_one_resets_nothing(params, tmp_path):
    dead_run(params)
    lock = held(params)
    session.perform({**params, "state": "absent"}, False)
    assert not (tmp_path / "calls").exists()
    lock.close()
    session.perform({**params, "state": "absent"}, False)
    assert len((tmp_path / "calls").read_text().splitlines()) == 3


def test_a_reporter_of_a_finished_run_does_not_occupy_the_host(params, monkeypatch):
    lock = held(params, "r1")
    made = Journal.create(params["state_dir"], "r1")
    made.start(mark="no process has it", devices=[], pairs_total=0)
    asked = params["state_dir"], 0.0
    assert results.wait_for_host(*asked)["state"] == "running"
    made.end("finished", lingers=True)
    summary = {"over": False, "written_at": time.monotonic()}
    sums = os.path.join(params["state_dir"], "r1", journals.FABRIC)
    for over, age, hosts_over, state in ((False, 0, 1, "running"), (True, 0, 1, "idle"), (False, 61, 1, "idle"), (False, 0, 2, "idle")):
        with open(sums, "w") as stream:
            json.dump({**summary, "over": over, "written_at": summary["written_at"] - age, "hosts_heard": 2, "hosts_over": hosts_over}, stream)
        assert results.wait_for_host(*asked)["state"] == state
        assert repair.is_over_everywhere(params["state_dir"], "r1") is (state == "idle")
    monkeypatch.setattr(journals, "namespace", lambda: "pid:[1]")
    assert results.wait_for_host(*asked)["state"] == "running", "from here it cannot be ended"
    made.close()
    lock.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("wait", [True, False])
def test_an_absent_partner_fails_the_pair(params, wait):
    port = free_port()
    params.update(plan=plan_of(port), wait=wait, fail_on="none")
    result = session.perform(params, False)
    if not wait:
        assert result["state"] == "running"
        result = results.wait_for_run(params["state_dir"], "r1", 60.0)
    assert result["state"] == "finished"
    assert result["progress"]["pairs_total"] == 1
    (record,) = result["measurements"]
    assert record["id"] == "r1/p0001/forward/1"
    assert (record["kind"], record["status"], record["samples"]) == ("rdma", "failed", [])
    assert record["context"] == {"round": 1, "rail": 0, "failed_end": "target"}
    assert record["error"]["code"] == "peer_unreachable"
    assert record["error"]["message"] == "the runner of b (127.0.0.2 port %d) cannot be reached: connection refused" % port
    assert "command" not in record


def test_a_host_without_pairs_finishes(params):
    params.update(plan=plan_of(free_port()), devices=["7"])
    result = session.perform(params, False)
    assert (result["state"], result["measurements"], result.get("failed")) == ("finished", [], None)


def test_a_run_that_started_nothing_resets_nothing(params, tmp_path):
    params.update(plan=plan_of(free_port()), fail_on="none")
    session.perform(params, False)
    assert not (tmp_path / "calls").exists()


def test_the_journal_does_not_contain_the_key(params):
    params.update(plan=plan_of(free_port()), fail_on="none")
    session.perform(params, False)
    with open(os.path.join(params["state_dir"], "r1", "journal.jsonl")) as journal:
        assert KEY.lower() not in journal.read().lower()


def test_ending_an_unknown_run_changes_nothing(params):
    params.update(state="absent", run_id="never")
    assert session.perform(params, False) == {"changed": False, "run_id": "never", "measurements": []}


def test_a_detached_run_can_be_ended(params, tmp_path):
    params.update(plan=plan_of(free_port()), wait=False, meeting_timeout=300.0)
    session.perform(params, False)
    absent = {**params, "state": "absent"}
    assert session.perform(absent, True)["changed"] is True
    assert results.run_result(params["state_dir"], "r1")["state"] == "running"
    assert session.perform(absent, False)["changed"] is True
    over = results.run_result(params["state_dir"], "r1")
    assert (over["state"], over["error"]["code"]) == ("failed", "run_cancelled")
    assert {"-i 0 -roce_test reset", "-i 1 -roce_test reset"} == set((tmp_path / "calls").read_text().splitlines())
    assert session.perform(absent, False)["changed"] is False
    purge = {**absent, "purge": True}
    assert session.perform(purge, True)["changed"] is True
    assert session.perform(purge, False)["changed"] is True
    assert session.perform(purge, False)["changed"] is False
    assert results.run_result(params["state_dir"], "r1")["state"] == "unknown"


def dead_run(params, **fields):
    """A run whose runner and guard were both killed."""
    made = Journal.create(params["state_dir"], "r1")
    made.start(mark="no process has it", devices=[0, 1, 2], pairs_total=3, hccn_tool=params["hccn_tool"], **fields)
    made.close()
    path = journals.path_of(params["state_dir"], "r1")
    with open(path) as stream:
        line = json.loads(stream.read())
    with open(path, "w") as stream:
        stream.write(json.dumps({**line, "identity": "another boot/1"}) + "\n")


def test_ending_a_run_does_not_reset_an_npu_with_a_job(params, tmp_path):
    (tmp_path / "npu-smi").write_text(SMI)
    (tmp_path / "npu-smi").chmod(0o755)
    dead_run(params, npu_smi=params["npu_smi"])
    assert session.perform({**params, "state": "absent"}, False)["changed"] is True
    assert (tmp_path / "calls").read_text().splitlines() == ["-i 1 -roce_test reset", "-i 2 -roce_test reset"]


def test_ending_a_run_does_not_reset_npus_with_unknown_processes(params, tmp_path):
    (tmp_path / "npu-smi").write_text("#!/bin/sh\n[ \"$*\" = info ] || sh %s/good info -m\n" % tmp_path)
    (tmp_path / "npu-smi").chmod(0o755)
    (tmp_path / "good").write_text(SMI)
    dead_run(params, npu_smi=params["npu_smi"])
    with pytest.raises(HccnError) as raised:
        session.perform({**params, "state": "absent"}, False)
    assert raised.value.message.startswith("run r1 was ended, but not every NPU could be reset: NPU 0: npu-smi info shows no process table; NPU 1")
    assert not (tmp_path / "calls").exists()


def test_an_npu_that_cannot_be_reset_does_not_stop_the_cleanup(params, tmp_path):
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_governor").write_text("performance")
    with open(params["hccn_tool"], "w") as tool:
        tool.write("#!/bin/sh\necho \"$@\" >> %s/calls\n[ \"$2\" = 1 ] || exit 3\necho 'Cmd executed successfully!'\n" % tmp_path)
    dead_run(params)
    with open(repair.saved_governor(params["state_dir"], "r1"), "w") as saved:
        saved.write('{"policy0": "schedutil"}')
    params.update(state="absent", root=str(tmp_path))
    with pytest.raises(HccnError) as raised:
        session.perform(params, False)
    assert (raised.value.code, raised.value.message) == (
        "tool_exit_3", "run r1 was ended, but not every NPU could be reset: "
        "NPU 0: hccn_tool printed nothing (exit code 3); NPU 2: hccn_tool printed nothing (exit code 3)")
    assert (tmp_path / "calls").read_text().splitlines() == ["-i %d -roce_test reset" % device for device in (0, 1, 2)]
    assert (policy / "scaling_governor").read_text() == "schedutil"
    assert results.run_result(params["state_dir"], "r1")["error"]["code"] == "run_cancelled"
    assert session.perform(params, False)["changed"] is False


def test_a_run_in_another_container_is_not_ended(params, tmp_path, monkeypatch):
    made = Journal.create(params["state_dir"], "r1")
    made.start(mark="no process has it", devices=[0], pairs_total=3, hccn_tool=params["hccn_tool"])
    monkeypatch.setattr(journals, "namespace", lambda: "pid:[1]")
    params.update(state="absent", purge=True)
    with pytest.raises(HccnError) as raised:
        session.perform(params, False)
    assert (raised.value.code, raised.value.message) == (
        "runner_elsewhere", "run r1 is at work in another container of this host, where it cannot be ended from here")
    assert not (tmp_path / "calls").exists()
    assert results.run_result(params["state_dir"], "r1")["state"] == "running"
    made.close()


def test_waiting_for_the_end_is_bounded(params):
    params.update(plan=plan_of(free_port()), wait=False, meeting_timeout=300.0)
    session.perform(params, False)
    assert results.wait_for_run(params["state_dir"], "r1", 0.3)["state"] == "running"
    session.perform({**params, "state": "absent"}, False)


def record(pair, device, status="ok", number=1):
    made = {"id": "r1/%s/forward/1" % pair, "status": status, "context": {"round": number}, "source": {"device": device},
            "target": {"host": "b", "device": device}}
    return made if status == "ok" else {**made, "error": {"message": "it broke"}}


ONE_BAD = [record("p1", 0), record("p2", 1, "failed"), record("p3", 1)]
ALL_BAD = [record("p1", 0, "failed"), record("p2", 1, "failed"), record("p3", 1)]


@pytest.mark.parametrize("records, fail_on, message", [
    (ONE_BAD, "any", "pairs of 1 of 2 devices failed: NPU 1 with b NPU 1: it broke"),
    (ONE_BAD, "all", None),
    (ONE_BAD, "none", None),
    (ALL_BAD, "all", "pairs of 2 of 2 devices failed: NPU 0 with b NPU 0: it broke; see measurements for the others"),
    ([record("p1", 0)], "any", None),
    ([], "all", None),
])
def test_the_module_fails_according_to_fail_on(records, fail_on, message):
    result = results.judged({"measurements": []}, records, fail_on)
    assert (result.get("failed"), result.get("msg")) == (None if message is None else True, message)


def test_a_run_that_failed_as_a_whole_fails_the_module():
    result = results.judged({"error": {"code": "x", "message": "the disk is full"}}, [], "none")
    assert (result["failed"], result["msg"]) == (True, "the disk is full")


def test_the_time_limit_counts_the_busiest_device():
    entries = plan_of(18514)
    entries["rounds"].append([{**entries["rounds"][0][0], "id": "p0003"}])
    plan = parse_plan(entries, "a", "r1")
    assert runner.time_limit(plan, Settings(0.0, 10.0, 100.0)) == 145.0
    assert runner.time_limit(plan, Settings(0.0, 10.0, 100.0, parallel=False)) == 165.0
    assert runner.time_limit(plan.limited([7]), Settings(0.0, 10.0, 100.0)) == 105.0


SMI = """#!/bin/sh
case "$*" in
  "info -m") printf '\\tNPU ID      Chip ID      Chip Logic ID      Chip Name\\n\\t0      0      0      910B4\\n\\t1      0      1      910B4\\n' ;;
  info) echo '| NPU     Chip   | Process id    | Process name   | Process memory(MB) |'; echo '| 0       0      | 4711          | python3        | 100 |' ;;
esac
"""


def test_a_busy_device_is_not_measured(params, tmp_path):
    (tmp_path / "npu-smi").write_text(SMI)
    (tmp_path / "npu-smi").chmod(0o755)
    params.update(plan=plan_of(free_port()), allow_busy=False, fail_on="none")
    result = session.perform(params, False)
    assert [(entry["id"], entry["status"], entry["error"]["code"], entry["context"]) for entry in result["measurements"]] == [
        ("r1/p0001/forward/0", "not_run", "device_busy", {"round": 1, "rail": 0, "failed_end": "source"})]
    assert result["measurements"][0]["error"]["message"] == "device 0 is busy: pid 4711 (python3)"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert not [call for call in calls if call.startswith("-i 0 -roce_test")]
    start = journals.read(params["state_dir"], "r1").start
    assert start["npu_smi"] == str(tmp_path / "npu-smi"), "a later repair needs it to find busy devices"
