"""Check that a mutated answer of one host does not change the controller's results for the other hosts.

HCCN_MUTATIONS is the number of mutated answers per test. The answers are generated from the documentation of the modules and the schema of the records, so that
a new module, field or kind needs no other test. test_odd_host.py checks the same with whole playbooks.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import html.parser
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.action import fabric_verdict
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._collective import outcome
from ansible_collections.hccn.cluster.plugins.plugin_utils._collective.placement import placement
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect, reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import SCHEMA
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.redact import NotKept, Redactor
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.writer import RunWriter
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.adoption import adopt
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurable import context, line as line_of, measurable
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._progress.progress import extent, is_stale, line, read_answer
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.compose import compose
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html as page_html
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import export, markdown, model, prometheus

from tests.contract.security import documented, mutations
from tests.lab.fabric_simulation.events import Events
from tests.lab.fabric_simulation.records import results
from tests.lab.fabric_simulation.trials import pairs
from tests.lab.fabric_simulation.world import World

MUTATIONS = int(os.environ.get("HCCN_MUTATIONS", "500"))
SEED = os.environ.get("HCCN_MUTATION_SEED", "1")
HOSTS = ["n1", "n2", "n3", "n4", "n5", "n6"]
ODD = "n3"
TEMPLATES = ("{{", "{%", "{#", "#jinja2:")
OTHERS = [host for host in HOSTS if host != ODD]


def generators(name: str, count: int = MUTATIONS) -> Iterator[random.Random]:
    """Yield a random generator for each mutation. The assertion messages name the mutation."""
    for number in range(count):
        yield random.Random(f"{SEED} {name} {number}")  # noqa: S311


def probed(number: int) -> dict[str, Any]:
    """Return an answer of device_info with all documented fields and a host's unique addresses."""
    answer = documented.answer_of("device_info")
    base = answer["devices"][0]
    answer["devices"] = [{
        **copy.deepcopy(base), "id": device, "address": f"10.1.{device}.{number}", "errors": [], "processes": [], "link": "up", "speed": 200_000,
        "lldp": {"system_name": f"leaf-{number % 2}"}, "super_pod": None, "vnic": None} for device in (0, 1)]
    return {**answer, "product": "A2", "dialect": "910"}


@functools.cache
def sound_plan() -> dict[str, Any]:
    answers = {host: {"npus": probed(number)} for number, host in enumerate(HOSTS, 1)}
    return make_plan(measurable(HOSTS, answers.__getitem__, "npus", 18514).hosts, "quick")


@functools.cache
def measured() -> dict[str, Any]:
    """Return the answer of rdma_perf_info for each host; the records have all fields of the schema."""
    world = World(len(HOSTS), 2, 0, line_rate=200.0)
    answers = results(world, Events(world, pairs(sound_plan())).run().done)
    whole = documented.record_of("rdma")
    base = documented.answer_of("rdma_perf_info")
    for host, answer in answers.items():
        assert answer is not None
        for record in answer["measurements"]:
            record.update({key: copy.deepcopy(whole[key]) for key in ("tool", "command", "options", "started_at", "duration_s") if key in whole})
            record["schema"] = whole["schema"]
        answers[host] = {**copy.deepcopy(base), **answer, "error": {"code": "x", "message": "broken"}}
        answers[host].pop("error")
    return answers


def verdicts(answers: dict[str, Any]) -> dict[str, str]:
    found = diagnose(HOSTS, answers, plan=sound_plan())
    fabric_verdict._returned(found, fabric_verdict._run_id(None, answers))
    plan_confirmation_run(sound_plan(), found, answers)
    json.dumps(found.as_dict(), allow_nan=False)
    return {verdict.host: verdict.verdict for verdict in found.verdicts}


def test_unmutated_answers_are_good() -> None:
    assert verdicts(measured()) == dict.fromkeys(HOSTS, "good")
    for module in documented.modules():
        assert documented.answer_of(module), module


def test_verdicts_of_other_hosts_do_not_change() -> None:
    for generator in generators("verdict"):
        mutation, odd = mutations.mutated(generator, measured()[ODD], OTHERS)
        found = verdicts({**measured(), ODD: odd})
        assert {host: found[host] for host in OTHERS} == dict.fromkeys(OTHERS, "good"), mutation


def test_other_hosts_stay_in_the_plan() -> None:
    """Exception: the NPU whose address the odd host claims."""
    sound = {host: {"npus": probed(number)} for number, host in enumerate(HOSTS, 1)}
    for generator in generators("plan"):
        mutation, odd = mutations.mutated(generator, sound[ODD]["npus"], OTHERS)
        found = measurable(HOSTS, {**sound, ODD: {"npus": odd}}.__getitem__, "npus", 18514)
        assert {reason["host"] for reason in found.left_out if reason["code"] != "address_duplicate"} <= {ODD}, mutation
        devices = {entry["host"]: [(device["id"], device["address"]) for device in entry["devices"]] for entry in found.hosts}
        for number, host in enumerate(HOSTS, 1):
            assert host == ODD or devices[host] == [(0, f"10.1.0.{number}"), (1, f"10.1.1.{number}")] or "address_duplicate" in str(found.left_out), mutation
        plan = make_plan(found.hosts, "quick")
        lines = [line_of(reason) for reason in found.left_out]
        json.dumps(plan_record("r1", plan, HOSTS, found.left_out, lines), allow_nan=False)
        assert all(text.isprintable() and len(text) < 1000 for text in lines), mutation
        json.dumps(context(odd), allow_nan=False)


def test_collective_names_only_the_odd_host() -> None:
    sound = {host: {"npus": probed(number), "trust": documented.answer_of("ssh_trust")} for number, host in enumerate(HOSTS, 1)}
    for generator in generators("collective"):
        mutation, odd = mutations.mutated(generator, sound[ODD], OTHERS)
        found = placement(HOSTS, {**sound, ODD: odd}.__getitem__, "npus", "trust", {}, "super_pod")
        assert sorted(found.hosts) == HOSTS, mutation
        assert {text.split(" ")[0].rstrip(":") for text in found.busy + found.unready} <= {ODD}, mutation


def test_mutated_collective_result_is_summarized_or_refused() -> None:
    for generator in generators("outcome"):
        mutation, odd = mutations.mutated(generator, documented.answer_of("hccl_perf"), OTHERS)
        with contextlib.suppress(InputError):
            found = outcome.outcome(odd, outcome.Run("all_reduce", len(HOSTS)))
            assert found.state == "measured", mutation


def test_rank_table_names_the_odd_host_or_contains_all_others() -> None:
    sound = {host: probed(number) for number, host in enumerate(HOSTS, 1)}
    options: dict[str, Any] = {
        "nodes": None, "hosts": HOSTS, "register_name": "npus", "tables": None, "format": "hccl", "version": "auto", "devices": ["all"], "host_devices": {},
        "device_ids": "physical", "levels": {}, "rank_order": "hosts", "racks": {}, "groups": [], "server_ids": {host: f"192.0.2.{number}" for number, host in
                                                                                                                 enumerate(HOSTS)},
        "host_ips": {}, "container_ips": {}, "readers": None, "path": "/etc/hccl.json"}
    table = composed(options, sound).table
    assert table is not None and len(table["server_list"]) == len(HOSTS)
    for generator in generators("rank table"):
        mutation, odd = mutations.mutated(generator, sound[ODD], OTHERS)
        try:
            made = composed(options, {**sound, ODD: odd})
        except InputError as error:
            assert ODD in error.sentence(), (mutation, error.sentence())
            continue
        if made.failure is not None:
            assert ODD in made.failure and "Traceback" not in made.failure, (mutation, made.failure)
            assert made.failure.isprintable() and len(made.failure) < 10_001, mutation
        else:
            assert made.table is not None
            assert [server["device"][0]["device_ip"] for server in made.table["server_list"] if server["server_id"] != "192.0.2.2"] == [
                f"10.1.0.{number}" for number in (1, 2, 4, 5, 6)], mutation


def composed(options: dict[str, Any], answers: dict[str, Any]) -> Any:
    return compose(options, HostVars({host: {"npus": answer} for host, answer in answers.items()}), lambda path: b"")


def test_adoption_fails_only_for_the_odd_host() -> None:
    """No text that Ansible would evaluate as a template gets into the inventory."""
    settings = [{"device": 0, "key": "address", "value": "10.1.0.1"}, {"device": 0, "key": "mtu", "value": "4200"}]
    file = {**documented.answer_of("hccn_conf"), "settings": settings, "diff": {"before": "address_0=10.1.0.1\n"}}
    adopt(probed(1), file)
    for generator in generators("adopt"):
        part = generator.randrange(2)
        mutation, odd = mutations.mutated(generator, (probed(1), file)[part], OTHERS)
        try:
            found = adopt(*((odd, file), (probed(1), odd))[part])
        except InputError:
            continue
        text = json.dumps(found["variables"], allow_nan=False)
        assert not any(mark in text for mark in TEMPLATES), mutation


def test_mutated_progress_does_not_affect_other_hosts() -> None:
    answer = {"state": "running", "alive": True, "fabric": {
        "hosts": 4, "hosts_heard": 4, "hosts_over": 1, "hosts_silent": 1, "silent": ["n2"], "pairs_done": 5, "pairs_failed": 0, "round": 1, "over": False,
        "seconds": 3.0, "age": 0.1, "slowest": {"value": 1.0, "unit": "Gbit/s", "source": "a", "target": "b"}}}
    whole = extent(sound_plan())
    for generator in generators("progress"):
        mutation, odd = mutations.mutated(generator, answer, OTHERS)
        found = read_answer(odd)
        if found.get("fabric"):
            assert line(found["fabric"], whole).isprintable(), mutation
            is_stale(found["fabric"])
        assert "lost" in found or isinstance(found["state"], str), mutation


@pytest.mark.parametrize("module", documented.modules())
def test_mutated_answer_is_kept_and_shown_safely(module: str, tmp_path: Path) -> None:
    """Check every module: its records reach the history, a page can be made of them, and no text of the host becomes markup."""
    answer = documented.answer_of(module)
    if not isinstance(answer.get("measurements"), list):
        answer["measurements"] = [documented.record_of(kind) for kind in ("rdma", "device", "matrix", "collective", "verdict", "plan")]
    sound = [record for host in OTHERS for record in collect.records(measured()[host], host)]
    for number, generator in enumerate(generators(f"kept {module}", max(20, MUTATIONS // 25))):
        mutation, odd = mutations.mutated(generator, answer, OTHERS)
        if not isinstance(odd, dict):
            continue
        found = [*sound, *collect.records(odd, ODD)]
        folder = tmp_path / str(number)
        writer = RunWriter(folder, {"schema": SCHEMA, "run_id": "r1", "started_at": "2026-01-02T03:04:05.000Z", "playbook": "p", "controller": "c"})
        redactor = Redactor()
        try:
            events = [collect.event("failed", ODD, "a task", odd, "2026-01-02T03:04:05.000Z", redactor.value)]
        except NotKept:
            events = []
        writer.append(collect.lines([*found, *events], redactor)[0])
        writer.finish(collect.end("2026-01-02T03:04:06.000Z", len(found), HOSTS, {host: dict.fromkeys(("ok", "failures", "unreachable", "changed"), 0)
                                                                                  for host in HOSTS}))
        run = reader.newest(folder)
        kept_of_others = [record for record in run.records if (record.get("source") or {}).get("host") in OTHERS and record.get("kind") == "rdma"
                          and str(record.get("id")).startswith("sim/")]
        assert len(kept_of_others) == len(sound), mutation
        page = model.build(run, "title")
        no_markup(page_html.render(page), mutation)
        shown = markdown.render(page)
        assert not re.search(r"(?<!\\)<(?:img|script)|(?<!\\)\]\(javascript", shown), mutation
        export.artifacts(page, "x")
        prometheus.render(page, None)


class Tags(html.parser.HTMLParser):
    """Collects elements and attributes with which a page could run code or fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}" for name, value in attrs if name.startswith("on") or (value or "").strip().startswith("javascript:")]
        self.found += [tag] if tag in ("iframe", "object", "embed", "base") or (tag == "img" and not dict(attrs).get("src", "").startswith("data:")) else []


def no_markup(text: str, mutation: str) -> None:
    tags = Tags()
    tags.feed(text)
    assert tags.found == [], mutation
    assert text.count("<script") == 2, mutation


def test_mutations_cover_all_kinds() -> None:
    """Check that every kind of hostile value is inserted and that the mutated documents differ."""
    made = [mutations.mutated(generator, measured()[ODD], OTHERS) for generator in generators("self", 2000)]
    texts = " ".join(repr(document) for _done, document in made)
    assert {mutation.split(" at ")[0] for mutation, _document in made} == {"word", "value", "remove", "double", "nest", "deep", "add", "key", "like"}
    assert all(word in texts for word in ("lookup('pipe'", "-oProxyCommand", "../../", mutations.MARKUP, "nan", "inf", "n5"))
    assert sum(document == measured()[ODD] for _done, document in made) < 100
