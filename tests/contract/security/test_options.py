"""Pass hostile values to every text option of every module: none reaches a shell, becomes an option of a tool or adds a line to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.security import hostile
from tests.contract.security.hostile import LINE, MARK, Children
from tests.lib.hosts import node, tools

CHECK = "_check"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB"
END = {"host": "a", "device": 0, "address": "192.0.2.1"}
PLAN = {"rounds": [[{"id": "p1", "source": END, "target": {"host": "b", "device": 0, "address": "192.0.2.2"}}]],
        "hosts": {"a": {"control_address": "127.0.0.1", "control_port": 18515}, "b": {"control_address": "127.0.0.2", "control_port": 18515}}}
CLUSTERS = [{"cluster": 1, "role": "prefill", "host": "p", "device": 0, "ip_infos": [{"ip": "192.0.2.1", "port": 26000}], "local_comm_res": ""},
            {"cluster": 2, "role": "decode", "host": "d", "device": 0, "ip_infos": [{"ip": "192.0.2.2", "port": 26000}], "local_comm_res": ""}]
NOWHERE = {"server": "127.0.0.1:1", "timeout": 1}
NOT_MEANT = {("clusterd_fault_info", "server"), ("clusterd_job_info", "server"), ("clusterd_nic_switch", "server"), ("clusterd_rank_table_info", "server")}
"""An address that gRPC resolves. No program receives it, and a name server that does not answer would delay the test."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    node(folder / "n1", devices=2)
    for program in ("hccl_test/bin/all_reduce_test", "nccl/build/all_reduce_perf", "bin/mpirun", "bin/nvidia-smi", "path/apt-get"):
        (folder / program).parent.mkdir(parents=True, exist_ok=True)
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    for name in ("kube", "state", "cdi", "ssh", "work/deep", "root"):
        (folder / name).mkdir(parents=True)
    (folder / "table.json").write_text(json.dumps({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [
        {"server_id": "n", "device": [{"device_id": "0", "device_ip": "192.0.2.1", "rank_id": "0"}]}]}))
    return folder


def bases(site: Path) -> dict[str, list[dict[str, Any]]]:
    """Return valid calls that get as far as running tools."""
    device = {**tools(site / "n1"), "devices": ["0"], "timeout": 5}
    conf = {**device, "path": device["hccn_conf"], "create": True}
    del conf["hccn_conf"]
    collective = {"mpirun": str(site / "bin/mpirun"), "hosts": ["192.0.2.1", "192.0.2.2"], "host_names": ["a", "b"], "ranks_per_host": 2, "run_id": "r",
                  "sizes": {"begin": "8K", "end": "8K"}, "allow_busy": True, "timeout": 5, "ssh_known_hosts": [f"192.0.2.1 {KEY}"],
                  "ssh_identity": str(site / "ssh/id")}
    fabric = {"run_id": "r", "plan": PLAN, "host": "a", "key": "0123456789abcdef0123456789abcdef", "state_dir": str(site / "state"), CHECK: True, **device}
    shared = {**NOWHERE, "kubeconfig": str(site / "kube/none"), "job_id": "12345678"}
    return {
        "clusterd_fault_info": [{**NOWHERE, "job_id": "12345678"}],
        "clusterd_job_info": [{"kubeconfig": str(site / "kube/none")}, {**NOWHERE, "source": "grpc"}],
        "clusterd_nic_switch": [{**shared, "direction": "failover", "nics": [{"node": "n", "devices": ["0"]}], "nodes": {}, CHECK: True}],
        "clusterd_rank_table_info": [{"kubeconfig": str(site / "kube/none"), "job_id": "j"}, {**NOWHERE, "source": "grpc", "job_id": "j", "confirm": True}],
        "datadist_check": [{"clusters": CLUSTERS, "nodes": {"p": {"devices": []}}, "products": {"p": "A3"}}, {"probe": [{"ip": "127.0.0.1", "port": 26000}]}],
        "datadist_link": [{"cluster": 2, "state_dir": str(site / "state/links"), "remotes": [{"cluster": 1, "ip": "192.0.2.1", "port": 26000}],
                           "local": {"ip": "127.0.0.1", "port": 26000}, CHECK: True}],
        "device_info": [device],
        "device_network": [{**device, "config": [{"id": 0, "address": "10.9.0.5", "netmask": "255.255.255.0", "gateway": "10.9.0.1", "netdetect": "10.9.0.1",
                                                  "roce_port": "4791", "dscp_to_tc": {"24": 1}}]}],
        "device_ping": [{**device, "targets": [{"device": 0, "address": "10.9.0.6"}], "count": 1}],
        "device_state": [{**device, "settings": {"send_arp_status": "1"}, "config": [{"id": 0, "settings": {"mtu": "4200"}}], "tls_state": "enabled",
                          "network": [{"id": 0, "address": "10.9.0.5", "netmask": "255.255.255.0"}]}],
        "device_tls": [{**device, "state": "enabled"}, {**device, "state": "disabled"}],
        "elastic_agent_info": [{"paths": [str(site / "root")]}],
        "gpu_info": [{"nvidia_smi": str(site / "bin/nvidia-smi")}],
        "hccl_perf": [{**collective, "hccl_test_dir": str(site / "hccl_test"), "environment": {"HCCL_BUFFSIZE": "200"}, "npu_smi": device["npu_smi"]},
                      {**collective, "log": str(site / "table.json")}],
        "hccn_conf": [{**conf, "settings": {"send_arp_status": "1"}, "config": [{"id": 0, "settings": {"mtu": "4200"}}]},
                      {**conf, "settings": {"mtu": "4200"}, "recover": True, "backup": True}, {**conf, "state": "absent", "settings": {"mtu": ""}}],
        "hccn_conf_mount": [{"path": device["hccn_conf"], "cdi_dir": str(site / "cdi"), "state": "present"}],
        "nccl_perf": [{**collective, "nccl_tests_dir": str(site / "nccl"), "environment": {"NCCL_IB_TC": "128"}, "nvidia_smi": str(site / "bin/nvidia-smi")}],
        "perf_tools": [{"packages": {"iperf3": ["iperf3"], "mpich": ["mpich"]}, "tools": ["iperf3", "mpich"], "http_proxy": "http://op:pw@proxy.example:3128",
                        "https_proxy": "http://proxy.example:3128", "no_proxy": ["localhost"], CHECK: check} for check in (True, False)],
        "perf_tools_info": [{"root": str(site / "root"), "packages": {"iperf3": ["iperf3"], "mpich": ["mpich"]}, "tools": ["iperf3"],
                             "addresses": ["192.0.2.1"], "rdma_device": "mlx5_0"}],
        "rank_table_check": [{"path": str(site / "table.json")}, {"content": (site / "table.json").read_text(), "nodes": {"n": {"devices": []}},
                                                                 "server_ids": {"n": "n"}}],
        "rdma_info": [{"root": str(site / "root"), "rdma_device": "mlx5_0"}],
        "rdma_perf": [fabric, {**fabric, "tool": "perftest", "rdma_device": "mlx5_0", "context": {"product": "A3"}}, {**fabric, "tool": "iperf3"},
                      {**fabric, "state": "absent", CHECK: False}],
        "rdma_perf_info": [{"run_id": "r", "state_dir": str(site / "state")}],
        "ssh_trust": [{"run_id": "r", "state": state, "public_key": KEY, "owner": "me", "ended": ["q"], "key_dir": str(site / "ssh"),
                       "authorized_keys": str(site / "ssh/authorized_keys")} for state in ("key", "present", "absent")],
    }


def test_every_module_has_calls(site: Path) -> None:
    assert sorted(bases(site)) == hostile.modules()


@pytest.mark.parametrize("name", hostile.modules())
def test_hostile_texts_stay_values(name: str, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site / "work/deep")
    monkeypatch.setenv("HOME", str(site / "work/deep"))
    monkeypatch.setenv("TMPDIR", str(site / "work"))
    monkeypatch.setenv("PATH", str(site / "path"))
    monkeypatch.setattr("tempfile.tempdir", str(site / "work"))
    children, bad, calls = Children(site / "n1"), [], 0
    of_spec = list(hostile.string_options(hostile.spec_of(name)))
    for base in bases(site)[name]:
        params = {key: value for key, value in base.items() if key != CHECK}
        for where in dict.fromkeys([*of_spec, *hostile.texts_in({key: value for key, value in params.items() if isinstance(value, (dict, list))})]):
            if (name, where[0]) in NOT_MEANT or len(where) == 2 and where[1] == ":key":
                continue
            for value in hostile.VALUES:
                calls += 1
                children.argvs.clear()
                try:
                    result = hostile.call(name, hostile.with_value(params, where, value), children, base.get(CHECK, False))
                except Exception as error:  # the operator would see a traceback
                    if "\0" in value and "null" in str(error):
                        continue  # Python refuses it before the kernel sees it
                    bad.append(f"{where} = {value!r}: {type(error).__name__}: {error}")
                    continue
                planned = [tuple(argv) for argv in [*(result.get("commands") or []), result.get("command") or []] if argv and isinstance(argv, (list, tuple))]
                bad += [f"{where} = {value!r}: {reason}" for argv in [*children.argvs, *planned] for reason in hostile.judge(argv)]
    assert calls > 0
    assert bad == [], "\n".join(bad)
    assert [path for path in site.rglob("*") if path.is_file() and LINE in path.read_text(errors="replace").splitlines()] == []
    assert not [path for path in (site / "work").rglob(MARK) if path.is_file()]
