from __future__ import annotations

import json

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import results

OPTIONS = {"size_bytes": 65536, "duration_s": 5}


def entry(number, target="b", status="ok", device=0, target_device=None, code="retry_exceeded", round_=1, rate=None, **fields):
    context = {"round": round_, **({} if rate is None else {"line_rate_gbit_s": rate})}
    made = {"schema": "hccn.cluster/measurement/1", "id": "r1/p%04d/forward/1" % number, "kind": "rdma", "status": status, "tool": {"name": "ib_write_bw"},
            "operation": "write", "measure": "bandwidth", "options": OPTIONS, "context": context, "started_at": "2026-01-04T10:00:00.%03dZ" % (number % 1000),
            "source": {"host": "a", "device": device, "address": "10.0.0.1"}, "samples": [],
            "target": {"host": target, "device": device if target_device is None else target_device, "address": "10.0.0.2"}}
    if status == "ok":
        made["samples"] = [{"size_bytes": 65536, "iterations": 5, "bandwidth_gbit_s": 190.04 + number % 10}]
    else:
        made["error"] = {"code": code, "message": "it broke"}
    return {**made, **fields}


def test_few_records_are_returned_in_the_order_of_the_plan():
    records = [entry(3, round_=2), entry(10000), entry(2), entry(1)]
    found = results.returned(records, "r1")
    assert [one["id"] for one in found.measurements] == ["r1/p0001/forward/1", "r1/p0002/forward/1", "r1/p10000/forward/1", "r1/p0003/forward/1"]
    assert found.left == {}


def test_many_pairs_become_rows_and_failed_ones_stay_in_full():
    records = [entry(number, "h%d" % number, rate=200) for number in range(1, 199)]
    records += [entry(199, "h199", "failed", rate=200), entry(200, "h200", "not_run", code="peer_suspended"), entry(201, "h1", device=1, target_device=3)]
    found, left = results.returned(records, "r9")
    assert [(one["kind"], one["id"], one["status"]) for one in found] == [
        ("rdma", "r1/p0199/forward/1", "failed"), ("rdma", "r1/p0200/forward/1", "not_run"),
        ("matrix", "r9/a/0/200/matrix", "ok"), ("matrix", "r9/a/1-3/matrix", "ok")]
    row = found[2]
    assert (row["source"], row["target"], row["options"]) == ({"host": "a", "device": 0, "address": "10.0.0.1"}, {"device": 0}, OPTIONS)
    assert (row["hosts"][0], row["hosts"][-1], len(row["hosts"]), row["context"]) == ("h1", "h198", 198, {"line_rate_gbit_s": 200})
    (sample,) = row["samples"]
    assert (sample["size_bytes"], sample["bandwidth_gbit_s"][:3], len(sample["bandwidth_gbit_s"])) == (65536, [191.0, 192.0, 193.0], 198)
    assert "failed" not in row and "not_run" not in row
    assert row["started_at"] == "2026-01-04T10:00:00.001Z"
    assert found[3]["target"] == {"device": 3}
    assert left == {}


def test_more_than_a_hundred_failed_pairs_are_named_in_the_row():
    records = [entry(number, "h%d" % number) for number in range(150)]
    records += [entry(200 + number, "f%d" % number, "failed", code="peer_lost") for number in range(98)]
    records += [entry(400 + number, "x%d" % number, "not_run", code="peer_suspended") for number in range(5)]
    found, left = results.returned(records, "r1")
    assert len([one for one in found if one["kind"] == "rdma"]) == 100
    row = found[-1]
    assert (row["hosts"][-3:], row["not_run"], "failed" in row) == (["x2", "x3", "x4"], {"peer_suspended": [150, 151, 152]}, False)
    assert row["samples"][0]["bandwidth_gbit_s"][149:] == [199.0, None, None, None]
    assert left == {}


def test_pairs_with_other_options_have_their_own_record():
    records = [entry(number, "h%d" % number) for number in range(201)] + [entry(300, "h7", options={**OPTIONS, "qps": 4})]
    found, _left = results.returned(records, "r1")
    assert [(one["kind"], one["options"]) for one in found] == [("rdma", {**OPTIONS, "qps": 4}), ("matrix", OPTIONS)]
    assert found[1]["samples"][0]["bandwidth_gbit_s"][7] == 197.0


def test_rows_of_latencies_begin_with_the_classified_size():
    def times(number):
        return [{"size_bytes": size, "latency_us": {"min": 1.0, "typical": size + number / 1000.0, "max": 9.0}} for size in (8, 2, 4)]

    records = [entry(number, "h%d" % number, measure="latency", samples=times(number)) for number in range(201)]
    (row,), _left = results.returned(records, "r1")
    assert [sample["size_bytes"] for sample in row["samples"]] == [2, 8, 4]
    assert row["samples"][0]["latency_us"]["typical"][:2] + row["samples"][1]["latency_us"]["typical"][200:] == [2.0, 2.0, 8.2]


def test_a_result_stays_below_the_size_limit():
    sizes = [2 ** power for power in range(1, 24)]
    records = [entry(number, "a-host-with-a-long-name-%04d" % number, device=number % 16, target_device=number // 16 % 8, samples=[
        {"size_bytes": size, "bandwidth_gbit_s": 195.123} for size in sizes]) for number in range(2000)]
    records += [entry(9000 + number, "h", "failed", error={"code": "x", "message": "y" * 4000}) for number in range(200)]
    found, left = results.returned(records, "r1")
    assert len(json.dumps(found)) <= 256 * 1000
    assert left == {}
    assert [len(one["samples"]) for one in found if one["kind"] == "matrix"][0] == 1, "only the size that is judged"
    many = [entry(number, "a-host-with-a-long-name-%05d" % number, device=number % 8) for number in range(20000)]
    found, left = results.returned(many, "r1")
    assert len(json.dumps(found)) <= 256 * 1000
    kept = sum(len(one["hosts"]) for one in found)
    assert left == {"ok": 20000 - kept}
    assert kept >= 2500


def test_few_large_records_become_rows():
    sizes = [2 ** power for power in range(1, 24)]
    records = [entry(number, "h%d" % number, samples=[{"size_bytes": size, "bandwidth_gbit_s": 1.0, "iterations": 5000, "latency_us": {"avg": 1.5}}
                                                      for size in sizes], command=["x"] * 20) for number in range(180)]
    found, left = results.returned(records, "r1")
    assert ({one["kind"] for one in found}, left) == ({"matrix"}, {})


def test_the_value_of_a_record():
    assert results.worth([{"size_bytes": 2, "bandwidth_gbit_s": 1.0}, {"size_bytes": 8, "bandwidth_gbit_s": 5.0}]) == (5.0, "Gbit/s", 8)
    assert results.worth([{"size_bytes": 2, "latency_us": {"avg": 3.5}}, {"size_bytes": 8, "latency_us": {"typical": 5.0}}]) == (3.5, "us", 2)
    assert results.worth([{"bandwidth_gbit_s": 0.0}]) is None


def test_the_output_of_the_tool_is_returned_for_the_first_failures_only():
    failed = [{"id": str(number), "status": "failed", "context": {"round": number}, "error": {"code": "x", "message": "y", "output": "z"}}
              for number in range(10)]
    found = results.returned(failed, "r").measurements
    assert ["output" in entry["error"] for entry in found] == [True] * 8 + [False] * 2
    assert ["output" in entry["error"] for entry in failed] == [True] * 10
