"""Every recorded exchange with the real ClusterD, repeated at the stand-in: the same answers in the same order, and the same end.

Each case has a scenario that makes the world of its precondition. Times are shortened. Where the real servers differ by chance and not by version, any of the
recorded outcomes is right.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.reference.clusterd_recordings import DEADLINE, METHODS, Client, Outcome, Row, cases, outcome, recorded, request_of, rows
from tests.simulator.clusterd_sim.gate import Gate
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Limits, Times, World

pytestmark = pytest.mark.slow
VERSIONS = tuple(PROFILES)
SHORT = 0.5
"""The deadline of a stream that is silent."""
LLAMA, BERT, WAITING, CPU_ONLY = (f"{digit * 8}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}" for digit in "1234")
DEVICES = [str(device) for device in range(16)]
REGISTER, SUBSCRIBE = "/config.Config/Register", "/config.Config/SubscribeRankTable"
ORDER, RESULT = "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal"
FAULTS, JOBS = "/fault.Fault/", "/job.Job/"

TRAINER_STREAMS = ("/Recover/SubscribeNotifySwitch", "/Recover/SubscribeProcessManageSignal")
"""Streams of the training process, which the product never opens and the stand-in does not serve."""

CHANCE = {"rank/preempt/first-again", "switch/bad/result-nothing-ordered", "switch/giveup/first-gives-up-after-1-s", "switch/giveup/second-subscriber",
          "switch/giveup/third", "switch/two/subscriber-a", "switch/two/subscriber-b", "switch/switchfail/result-again", "switch/pausefail/result-again",
          "switch/again/failover-twice", "down/after-restart"}
"""Cases whose outcome depends on the moment, not on the version: who of two comes first, and how far the state machine is."""


def for_versions(*versions: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with each version (default: all) as ``version``, all at the same time, since it mostly waits."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_versions(**arguments: Any) -> None:
            with ThreadPoolExecutor(len(VERSIONS)) as pool:
                running = {version: pool.submit(test, version=version, **arguments) for version in versions or VERSIONS}
            for version, one in running.items():
                if (error := one.exception()) is not None:
                    error.add_note(f"version {version}")
                    raise error

        known = inspect.signature(test)
        all_versions.__signature__ = known.replace(parameters=[one for name, one in known.parameters.items() if name != "version"])  # type: ignore[attr-defined]
        return all_versions

    return decorate


@contextlib.contextmanager
def served(version: str, *jobs: Job, times: Times | None = None, **options: Any) -> Iterator[tuple[ClusterD, Client]]:
    """Yield a stand-in of this version with the jobs of the recordings, and a client."""
    own = {job.id for job in jobs}
    lab = (Job(LLAMA, {"node-1": DEVICES, "node-2": DEVICES}), Job(BERT, {"node-3": DEVICES[:8]}, registered=False, initialised=False, recovery=False),
           Job(WAITING, status="pending", registered=False, initialised=False), Job(CPU_ONLY))
    world = World((*(job for job in lab if job.id not in own), *jobs), times or Times(first_push=0.05, switch=0.2, reset=0.4), version=version, **options)
    server = ClusterD(world)
    try:
        with Client(server.address) as client:
            yield server, client
    finally:
        server.close()


def together(client: Client, known: dict[str, Row], seconds: float) -> dict[str, Outcome]:
    """Repeat requests at once."""
    with ThreadPoolExecutor(len(known)) as pool:
        return dict(zip(known, pool.map(lambda row: client.repeat(row, seconds), known.values()), strict=True))


def expected(area: str, case: str, version: str) -> list[Outcome]:
    known = cases(area)[case]
    return [recorded(known[one]) for one in (known if f"{area}/{case}" in CHANCE else (version,))]


def check(area: str, version: str, found: dict[str, Outcome]) -> None:
    """Compare the outcomes of cases that were recorded with this version. At least one must be."""
    known = {case: one for case, one in found.items() if version in cases(area).get(case, {})}
    assert known
    for case, one in known.items():
        assert one in expected(area, case, version), (case, one, expected(area, case, version))


def unary(area: str, prefix: str) -> list[str]:
    return [case for case in cases(area) if case.startswith(prefix)]


# -- config.Config

def silent(client: Client, row: Row) -> Outcome:
    client.ask(REGISTER, jobId=row["request"]["json"].get("jobId", "x" * 5000), role=row["request"]["json"].get("role", "r"))
    return client.repeat(row, SHORT)


@for_versions()
def test_registrations_and_silent_streams_of_rank_tables(version: str) -> None:
    found = {}
    with served(version) as (_server, client):
        for case, known in cases("rank").items():
            if version not in known:
                continue
            if case.startswith("register/") or case == "subscribe/not-registered-chinese":
                found[case] = client.repeat(known[version], 5)
            elif case.startswith("subscribe/"):
                found[case] = silent(client, known[version])
        with ThreadPoolExecutor(10) as pool:
            slow = [case for case in unary("rank", "deadline/") if version in cases("rank")[case]]
            found |= dict(zip(slow, pool.map(lambda case: silent(client, cases("rank")[case][version]), slow), strict=True))
    check("rank", version, found)


@for_versions()
def test_rank_tables(version: str) -> None:
    """The tables themselves are compared in test_clusterd_tables.py."""
    known = {case: known[version] for case, known in cases("rank").items() if case.startswith("set/") and version in known}
    jobs = [Job(row["request"]["json"]["jobId"], table=row["responses"][0]["json"]["rankTable"] if row["responses"] else "") for row in known.values()]
    with served(version, *jobs) as (_server, client), ThreadPoolExecutor(20) as pool:
        check("rank", version, dict(zip(known, pool.map(lambda row: silent(client, row), known.values()), strict=True)))


@for_versions()
def test_changes_of_a_rank_table(version: str) -> None:
    row = cases("rank")["change"][version]
    tables = [one["json"]["rankTable"] for one in row["responses"]]
    with served(version, Job("mindie-change", table=tables[0])) as (server, client):
        client.ask(REGISTER, jobId="mindie-change", role="hccn.cluster")
        call = client.open(SUBSCRIBE, request_of(row), 1.5)
        time.sleep(0.4)
        assert [server.world.change("mindie-change", table) for table in (tables[1], tables[1], tables[2], "")] == [True, False, True, False]
        check("rank", version, {"change": outcome(SUBSCRIBE, call)})


@for_versions()
def test_preemption(version: str) -> None:
    known = {case: one[version] for case, one in cases("rank").items() if version in one}
    table = known["preempt/first"]["responses"][0]["json"]["rankTable"]
    with served(version, Job("mindie-preempt", table=table), Job("mindie-shared", table=table)) as (_server, client):
        found = {}
        for job, first in (("mindie-preempt", "preempt/first"), ("nosuch-pre", "preempt/silent-first")):
            client.ask(REGISTER, jobId=job, role="first")
            call = client.open(SUBSCRIBE, request_of(known[first]), 5)
            time.sleep(0.4)
            if job == "mindie-preempt":
                found["preempt/second-register"] = client.repeat(known["preempt/second-register"], 5)
            else:
                client.ask(REGISTER, jobId=job, role="b")
            found[first] = outcome(SUBSCRIBE, call)
            if job == "mindie-preempt":
                found["preempt/second-subscribe"] = client.repeat(known["preempt/second-subscribe"], SHORT)
                time.sleep(0.3)
                found["preempt/first-again"] = client.repeat(known["preempt/first-again"], SHORT)
        client.ask(REGISTER, jobId="mindie-shared", role="r")
        found |= together(client, {case: known[case] for case in ("shared/a", "shared/b")}, 3)
        check("rank", version, found)


# -- Recover

@for_versions()
def test_orders_that_are_refused(version: str) -> None:
    found = {}
    with served(version) as (_server, client):
        for case in unary("switch", "bad/"):
            row = cases("switch")[case].get(version)
            if row is not None and row["by"] == "client":
                found[case] = client.repeat(row, 3)
    check("switch", version, found)


def job_of(row: Row, **more: Any) -> Job:
    """Return the registered job of a recorded order."""
    request = row["request"]["json"]
    return Job(request["jobID"], dict.fromkeys(request["nicOps"], DEVICES), **more)


def switching(case: str, version: str, **options: Any) -> contextlib.AbstractContextManager[tuple[ClusterD, Client]]:
    known = cases("switch")
    order = known.get(f"{case}/order", known.get(f"{case}/failover", {}))[version]
    times = options.pop("times", None)
    return served(version, job_of(order, **options), times=times)


def row_of(case: str, version: str) -> Row:
    return cases("switch")[case][version]


@pytest.mark.parametrize(("case", "trainer"), [("dup", "ok"), ("switchfail", "switch fails"), ("pausefail", "pause fails"), ("silent", "silent")])
@for_versions()
def test_results(case: str, trainer: str, version: str) -> None:
    """A result comes once; a later subscriber is refused, or finds silence until the reset."""
    with switching(case, version, trainer=trainer) as (_server, client):
        found = {f"{case}/order": client.repeat(row_of(f"{case}/order", version), 5)}
        found[f"{case}/result"] = client.repeat(row_of(f"{case}/result", version), 1)
        if f"{case}/result-again" in cases("switch"):
            found[f"{case}/result-again"] = client.repeat(row_of(f"{case}/result-again", version), 0.2)
    check("switch", version, found)


@for_versions()
def test_order_during_a_switch_and_on_a_node_without_super_pod(version: str) -> None:
    with switching("busy", version, times=Times(switch=0.6)) as (_server, client):
        found = {f"busy/{one}": client.repeat(row_of(f"busy/{one}", version), 5) for one in ("order", "second-order", "second-order-other-device", "result")}
    bad = cases("switch")["badsp/order"][version]
    with switching("badsp", version, super_pods={next(iter(bad["request"]["json"]["nicOps"])): -1}) as (_server, client):
        found["badsp/order"] = client.repeat(bad, 5)
    check("switch", version, found)


@for_versions()
def test_reset_after_a_result_drops_the_next_order(version: str) -> None:
    found = {}
    with switching("again", version, times=Times(switch=0.2, reset=1.0)) as (_server, client):
        for one, seconds in (("failover", 5), ("failover-result", 5), ("failover-twice", 5), ("failover-twice-result", 5)):
            found[f"again/{one}"] = client.repeat(row_of(f"again/{one}", version), seconds)
        time.sleep(0.3)
        for one in ("switchback", "switchback-result"):
            found[f"again/{one}"] = client.repeat(row_of(f"again/{one}", version), 5)
    check("switch", version, found)


@for_versions()
def test_two_subscribers_of_one_result(version: str) -> None:
    with switching("two", version) as (_server, client):
        found = {"two/order": client.repeat(row_of("two/order", version), 5)}
        found |= together(client, {f"two/subscriber-{one}": row_of(f"two/subscriber-{one}", version) for one in "ab"}, 5)
    check("switch", version, found)
    assert sorted(len(found[f"two/subscriber-{one}"].messages) for one in "ab") == [0, 1]


@for_versions()
def test_subscriber_that_gives_up_loses_nothing(version: str) -> None:
    """Also on a node that is not ready, except before 26.0, where the job then counts as recovering."""
    first = next(case for case in unary("switch", "giveup/first") if version in cases("switch")[case])
    with switching("giveup", version, times=Times(switch=0.6, reset=0.4), node_ready=not PROFILES[version].job_list) as (_server, client):
        found = {"giveup/order": client.repeat(row_of("giveup/order", version), 5), first: client.repeat(row_of(first, version), 0.2)}
        found["giveup/second-subscriber"] = client.repeat(row_of("giveup/second-subscriber", version), 5)
        time.sleep(0.6)
        found["giveup/third"] = client.repeat(row_of("giveup/third", version), 1)
    assert found["giveup/second-subscriber"].messages
    check("switch", version, found)


@pytest.mark.parametrize("case", ["reset", "lost"])
@for_versions(*(one for one in VERSIONS if PROFILES[one].job_list))
def test_connection_that_is_cut_or_frozen(case: str, version: str) -> None:
    """A result that is sent into a frozen connection is lost; a connection that is cut before the result is harmless."""
    cut = f"{case}/{'connection-closed-at-2-s' if case == 'reset' else 'frozen-connection'}"
    with switching(case, version, times=Times(switch=0.8, reset=0.3), node_ready=False) as (server, client):
        gate = Gate(server.port, 100, 100)
        found = {f"{case}/order": client.repeat(row_of(f"{case}/order", version), 5)}
        with Client(f"127.0.0.1:{gate.port}") as through:
            call = through.open(RESULT, request_of(row_of(cut, version)), 10)
            server.wait_for(RESULT)
            if case == "lost":
                gate.freeze()
                time.sleep(1.5)
            threading.Timer(0.1, gate.cut).start()
            found[cut] = outcome(RESULT, call)
        found[f"{case}/again"] = client.repeat(row_of(f"{case}/again", version), 5)
        gate.close()
    check("switch", version, found)


@for_versions()
def test_calls_of_the_training_process(version: str) -> None:
    """Calls without a stream. The product makes none of them."""
    found = {}
    for case in [one for one, known in cases("switch").items() if next(iter(known.values()))["by"] == "trainer"]:
        row = cases("switch")[case].get(version)
        if row is not None and row["rpc"] not in TRAINER_STREAMS:
            with served(version, Job(row["request"]["json"]["jobId"], registered="reply" in case)) as (_server, client):
                found[case] = client.repeat(row, 5)
    check("switch", version, found)


# -- fault.Fault

def faults_of(row: Row) -> dict[str, list[Any]]:
    """Return the last recorded faults by job; those of the cluster are under an empty id."""
    signal = row["responses"][0]["json"]["faultSignal"]
    return {"" if signal["jobId"] == "-1" else signal["jobId"]: signal["nodeFaultInfo"]}


@for_versions()
def test_queries_of_faults(version: str) -> None:
    found = {}
    for case in unary("fault", "get/"):
        row = cases("fault")[case].get(version)
        if row is not None:
            with served(version, mindie=frozenset({"mindie-plain"})) as (server, client):
                if row["responses"] and row["responses"][0]["json"].get("faultSignal"):
                    server.world.faults.nodes = faults_of(row)
                found[case] = client.repeat(row, 5)
    check("fault", version, found)


@for_versions()
def test_registrations_for_faults(version: str) -> None:
    found = {}
    with served(version, mindie=frozenset({"mindie-plain"})) as (_server, client):
        for case in [*unary("fault", "register/"), *unary("fault", "subscribe/"), *unary("fault", "deadline/")]:
            row = cases("fault")[case].get(version)
            if row is None:
                continue
            expected_end = recorded(row)
            if case.startswith(("subscribe/healthy-job", "deadline/")) and expected_end.end == DEADLINE:
                client.ask(FAULTS + "Register", **row["request"]["json"])  # up to 7.1 the stream of another role had ended this registration
            elif case == "subscribe/healthy-job":
                client.ask(FAULTS + "Register", **row["request"]["json"])
                client.exchange(FAULTS + "SubscribeFaultMsgSignal", request_of(row), 0.2)
                time.sleep(0.2)
            found[case] = client.repeat(row, SHORT)
        found["preempt/second-register"] = client.repeat(cases("fault")["preempt/second-register"][version], 5)
    check("fault", version, found)


@pytest.mark.parametrize("case", ["watch/cluster", "watch/job-bert", "watch/mindie"])
@for_versions()
def test_watches(case: str, version: str) -> None:
    """Each recorded signal is reported to the stand-in, and arrives in this order."""
    row = cases("fault")[case][version]
    with served(version, mindie=frozenset({"mindie-plain"})) as (server, client):
        if recorded(row).end != "UNKNOWN":
            client.ask(FAULTS + "Register", **row["request"]["json"])
        call = client.open(row["rpc"], request_of(row), 2)
        if recorded(row).end != "UNKNOWN":
            server.wait_for(row["rpc"])
            time.sleep(0.2)
            for one in row["responses"]:
                server.world.faults.report(one["json"]["jobId"], one["json"]["nodeFaultInfo"])
        check("fault", version, {case: outcome(row["rpc"], call)})


# -- job.Job

@for_versions()
def test_clients_of_jobs(version: str) -> None:
    known = {case: one[version] for case, one in cases("job").items() if version in one}
    found = {}
    with served(version) as (_server, client):
        for case, row in known.items():
            if case.startswith("register/") or case.endswith(("/no-client", "/empty", "/any")):
                found[case] = client.repeat(row, SHORT)
            elif case.endswith("/wrong-role"):
                number = client.ask(JOBS + "Register", role="DefaultUser1")["clientId"]
                found[case] = subscribed(client, row["rpc"], "FdAgent", number, SHORT)
        if "SubscribeJobSummarySignalList/same-client-again" in known:
            number = client.ask(JOBS + "Register", role="DefaultUser2")["clientId"]
            path = JOBS + "SubscribeJobSummarySignalList"
            subscribed(client, path, "DefaultUser2", number, 0.3)
            time.sleep(0.2)
            found["SubscribeJobSummarySignalList/same-client-again"] = subscribed(client, path, "DefaultUser2", number, SHORT)
    if not PROFILES[version].job_list and "FdAgent" in PROFILES[version].all_first:  # the stand-in tells FdAgent all jobs, which the recorder cut off
        found.pop("SubscribeJobSummarySignal/wrong-role", None)
    check("job", version, found)


def subscribe_call(client: Client, path: str, role: str, number: str, seconds: float) -> Any:
    return client.open(path, METHODS[path][1].request(role=role, clientId=number).SerializeToString(), seconds)


def subscribed(client: Client, path: str, role: str, number: str, seconds: float) -> Outcome:
    return outcome(path, subscribe_call(client, path, role, number, seconds))


def of_signal(signal: Row) -> Job:
    return Job(signal["jobId"], name=signal["jobName"], namespace=signal["namespace"], status=signal["jobStatus"], framework=signal["frameWork"],
               hccl=signal["HcclJson"])


@pytest.mark.parametrize("case", ["changes", "two-streams-one-client-a"])
@for_versions()
def test_changes_of_jobs(case: str, version: str) -> None:
    """Single signals are changes, except for FdAgent, which 7.2.RC1 and 7.3.0 tell every job first."""
    row = cases("job")[f"SubscribeJobSummarySignal/{case}"][version]
    signals = [one["json"] for one in row["responses"]]
    new = [one for one in signals if one["jobName"] == "job-new"]
    role = row["request"]["json"]["role"]
    known = [of_signal(one) for one in signals if one["jobName"] != "job-new"]
    second = None
    with served(version) as (server, client):
        server.world.jobs = {job.id: job for job in known}
        number = client.ask(JOBS + "Register", role=role)["clientId"]
        call = subscribe_call(client, row["rpc"], role, number, 3)
        server.wait_for(row["rpc"])
        time.sleep(0.3)
        for one in new:
            server.world.summaries.change(of_signal(one), one["operator"])
        if case == "changes":
            server.world.summaries.change(of_signal(new[-1]), "delete") if not PROFILES[version].tells_delete else None
        elif PROFILES[version].job_list:
            time.sleep(0.3)
            second = subscribe_call(client, row["rpc"], role, number, 1)
        found = outcome(row["rpc"], call)
        if second is not None:
            second.cancel()
    check("job", version, {f"SubscribeJobSummarySignal/{case}": found})


# -- limits, keepalive, restarts

@pytest.mark.parametrize(("case", "keepalive_ms", "factor"), [("1000-ms", 1000, 1), ("30000-ms", 30_000, 30), ("none", None, 30)])
@for_versions()
def test_keepalive(case: str, keepalive_ms: int | None, factor: int, version: str) -> None:
    """With the times of client and server shortened by the same factor. The library of the client pings every second at most."""
    row = cases("keepalive")[case][version]
    options = [] if keepalive_ms is None else [("grpc.keepalive_time_ms", keepalive_ms // factor), ("grpc.http2.max_pings_without_data", 0)]
    with served(version, limits=Limits(ping_ms=PROFILES[version].ping_ms // factor)) as (server, _client):
        with Client(server.address, *options) as client:
            client.ask(REGISTER, jobId=row["request"]["json"]["jobId"], role="hccn.cluster")
            check("keepalive", version, {case: client.repeat(row, 8)})


def counted(outcomes: Any) -> Counter[tuple[str, str]]:
    return Counter((one.end, one.details) for one in outcomes)


@for_versions()
def test_limits(version: str) -> None:
    known = {case: one[version] for case, one in cases("limits").items()}
    with served(version, limits=Limits(unary=1000)) as (_server, client):
        found = {case: client.repeat(known[case], 5) for case in ("grpc-health", "unknown-method")}
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda _number: client.exchange(REGISTER, b"", 20), range(1100)))
        time.sleep(1 if PROFILES[version].unary_refill > 1 else 0)  # 7.1.RC1 adds one token per second, here and there
        found["call-2-s-after-the-1600"] = client.repeat(known["call-2-s-after-the-1600"], 5)
    check("limits", version, found)


@pytest.mark.parametrize(("case", "count", "roles"), [
    ("30-job-streams", 30, ("DefaultUser2",)), ("50-job-streams-at-once", 50, ("CCAgent", "DefaultUser1", "DefaultUser2"))])
@for_versions()
def test_limits_of_job_streams(case: str, count: int, roles: tuple[str, ...], version: str) -> None:
    """Up to 7.3.0 other clients hold all places, so Register gives no client id. From 26.0 on, the streams of a role and new streams per second are limited:
    here to 5 a second instead of 20, so that 50 streams at once are too many also where they take seconds to begin."""
    row, at_once = cases("limits")[case][version], case.endswith("at-once")
    path = JOBS + "SubscribeJobSummarySignal"
    with served(version, limits=Limits(jobs=5 if at_once else None)) as (_server, client):
        if not PROFILES[version].job_list:
            for _ in range(20):
                client.ask(JOBS + "Register", role="CCAgent")
        numbers = [client.ask(JOBS + "Register", role=roles[place % len(roles)])["clientId"] for place in range(count)]
        with ThreadPoolExecutor(count) as pool:
            found = counted(pool.map(lambda place: subscribed(client, path, roles[place % len(roles)], numbers[place], 3), range(count)))
    ends = {(DEADLINE if one["code"] == "DEADLINE_EXCEEDED" else one["code"], "" if one["code"] == "DEADLINE_EXCEEDED" else one["details"]): one["count"]
            for one in row["outcomes"]}
    assert set(found) == set(ends)
    if not at_once or len(ends) == 1:
        assert dict(found) == ends


@for_versions()
def test_streams_of_one_connection(version: str) -> None:
    """Streams beyond 64 wait in the client until its deadline. A race there ends some of them without an error, or as refused by the stand-in."""
    row = cases("limits")["70-streams-one-connection"][version]
    with served(version) as (_server, client), ThreadPoolExecutor(70) as pool:
        requests = [METHODS[SUBSCRIBE][1].request(jobId=f"nosuch-{number}", role="r").SerializeToString() for number in range(70)]
        for request in requests:
            client.exchange(REGISTER, request, 10)
        found = counted(pool.map(lambda request: client.exchange(SUBSCRIBE, request, 2), requests))
    assert set(found) <= {(DEADLINE, ""), ("UNAVAILABLE", "")} and found[DEADLINE, ""] >= 64
    assert {one["code"] for one in row["outcomes"]} <= {"DEADLINE_EXCEEDED", "OK"} and sum(one["count"] for one in row["outcomes"]) == 70


@for_versions()
def test_restart(version: str) -> None:
    """A new server knows no registration, and at first not all jobs."""
    known = {case: one[version] for case, one in cases("down").items()}
    table = next((one["json"]["rankTable"] for row in cases("down")["after-restart"].values() for one in row["responses"]), "")
    with served(version, Job("mindie-plain", table=table)) as (_server, client):
        found = {"registered-before-restart": client.repeat(known["registered-before-restart"], SHORT)}
        found["after-restart"] = silent(client, known["after-restart"])
        check("down", version, found)
    row = known["SubscribeJobSummarySignal"]
    role = row["request"]["json"]["role"]
    with served(version) as (server, client):
        at_once = [one["json"] for one in row["responses"] if one["at_s"] <= 0.1] if role in PROFILES[version].all_first else []
        server.world.jobs = {one["jobId"]: of_signal(one) for one in at_once}
        number = client.ask(JOBS + "Register", role=role)["clientId"]
        call = subscribe_call(client, row["rpc"], role, number, 2)
        server.wait_for(row["rpc"])
        time.sleep(0.3)
        for one in row["responses"][len(at_once):]:
            server.world.summaries.change(of_signal(one["json"]), one["json"]["operator"])
            time.sleep(0.02)
        check("down", version, {"SubscribeJobSummarySignal": outcome(row["rpc"], call)})


IN_NGINX_TEST = "nginx"
COMPARED = {
    "rank": ("register/", "subscribe/", "deadline/", "set/", "change", "preempt/", "shared/"),
    "switch": ("bad/", "dup/", "switchfail/", "pausefail/", "silent/", "busy/", "badsp/", "again/", "two/", "giveup/", "reset/", "lost/"),
    "fault": ("get/", "register/", "subscribe/", "deadline/", "preempt/", "watch/"),
    "job": ("register/", "SubscribeJobSummarySignal/", "SubscribeJobSummarySignalList/"),
    "keepalive": ("1000-ms", "30000-ms", "none"), "limits": ("grpc-health", "unknown-method", "call-", "30-", "50-", "70-"),
    "down": ("registered-", "after-", "SubscribeJobSummarySignal"),
}
"""Beginnings of the cases of the scenarios above. Those of nginx are in tests/integration/clusterd/test_proxy_replay.py."""


def test_every_recording_has_a_scenario() -> None:
    areas = {name.split("/")[1] for name in rows()}
    assert areas == {*COMPARED, IN_NGINX_TEST}
    assert [f"{area}/{case}" for area, starts in COMPARED.items() for case in cases(area) if not case.startswith(starts)] == []
    streams = [row for row in rows().values() if row["rpc"] in TRAINER_STREAMS and row["by"] == "trainer"]
    assert {row["id"].split("/")[3].rstrip("0123456789-") for row in streams} == {"trainer-notify", "trainer-signals"}
