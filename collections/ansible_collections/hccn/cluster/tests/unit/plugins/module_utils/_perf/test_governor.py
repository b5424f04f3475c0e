from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import governor

CPUFREQ = "sys/devices/system/cpu/cpufreq"


@pytest.fixture
def machine(tmp_path):
    """A machine with two policies and a file that is not a policy."""
    for name, value in (("policy0", "powersave"), ("policy4", "schedutil"), ("ondemand", "x")):
        (tmp_path / CPUFREQ / name).mkdir(parents=True)
        (tmp_path / CPUFREQ / name / "scaling_governor").write_text(value + "\n")
    return tmp_path


def place(machine):
    return str(machine / governor.SAVED)


def set_to(machine, policy, value):
    (machine / CPUFREQ / policy / "scaling_governor").write_text(value)


def test_governors_are_set_and_restored(machine):
    before = {"policy0": "powersave", "policy4": "schedutil"}
    assert governor.read(str(machine)) == before
    assert governor.raise_all(place(machine), str(machine)) == before
    assert governor.read(str(machine)) == {"policy0": "performance", "policy4": "performance"}
    assert json.loads((machine / governor.SAVED).read_text()) == before
    assert governor.restore(place(machine), str(machine)) == []
    assert governor.read(str(machine)) == before
    assert sorted(path.name for path in machine.iterdir()) == ["sys"]


def test_policies_at_performance_are_not_changed(machine):
    set_to(machine, "policy0", "performance")
    assert governor.raise_all(place(machine), str(machine)) == {"policy4": "schedutil"}
    governor.restore(place(machine), str(machine))
    assert governor.read(str(machine)) == {"policy0": "performance", "policy4": "schedutil"}


def test_machine_without_cpufreq_is_not_changed(tmp_path):
    assert governor.read(str(tmp_path)) == {}
    assert governor.raise_all(place(tmp_path), str(tmp_path)) == {}
    assert governor.restore(place(tmp_path), str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_next_run_restores_after_a_killed_run(machine):
    governor.raise_all(place(machine), str(machine))
    set_to(machine, "policy4", "ondemand")
    assert governor.raise_all(place(machine), str(machine)) == {"policy0": "powersave", "policy4": "ondemand"}
    governor.restore(place(machine), str(machine))
    assert governor.read(str(machine)) == {"policy0": "powersave", "policy4": "ondemand"}


def test_governor_changed_by_another_program_is_kept(machine):
    governor.raise_all(place(machine), str(machine))
    set_to(machine, "policy0", "ondemand")
    assert governor.restore(place(machine), str(machine)) == []
    assert governor.read(str(machine)) == {"policy0": "ondemand", "policy4": "schedutil"}


@pytest.fixture
def stubborn(machine, monkeypatch):
    """A machine whose kernel rejects a governor that is not in ``allowed``."""
    allowed = {"policy0": {"performance", "powersave"}, "policy4": {"schedutil"}}
    write = governor._write

    def refusing(root, policy, value):
        return value in allowed[policy] and write(root, policy, value)

    monkeypatch.setattr(governor, "_write", refusing)
    return machine, allowed


def test_all_policies_are_restored_if_one_cannot_be_set(stubborn):
    machine, _allowed = stubborn
    with pytest.raises(HccnError) as raised:
        governor.raise_all(place(machine), str(machine))
    assert (raised.value.code, raised.value.message) == ("governor_unchanged", "the governor of policy4 cannot be set to performance")
    assert governor.read(str(machine)) == {"policy0": "powersave", "policy4": "schedutil"}
    assert not (machine / governor.SAVED).exists()


def test_policies_that_cannot_be_restored_stay_in_the_file(stubborn):
    machine, allowed = stubborn
    allowed["policy4"].add("performance")
    governor.raise_all(place(machine), str(machine))
    allowed["policy4"].remove("schedutil")
    assert governor.restore(place(machine), str(machine)) == ["policy4"]
    assert json.loads((machine / governor.SAVED).read_text()) == {"policy4": "schedutil"}
    assert governor.read(str(machine)) == {"policy0": "powersave", "policy4": "performance"}


@pytest.mark.parametrize("text", ["", '{"policy0": "power', "[]", '{"../../etc": "x", "policy4": 3}'])
def test_invalid_file_is_ignored(machine, text):
    (machine / governor.SAVED).write_text(text)
    assert governor.raise_all(place(machine), str(machine)) == {"policy0": "powersave", "policy4": "schedutil"}
    assert json.loads((machine / governor.SAVED).read_text()) == {"policy0": "powersave", "policy4": "schedutil"}


def test_governor_that_cannot_be_written(machine):
    path = machine / CPUFREQ / "policy0" / "scaling_governor"
    path.unlink()
    path.mkdir()
    assert governor.read(str(machine)) == {"policy4": "schedutil"}
    assert governor._write(str(machine), "policy0", "performance") is False
