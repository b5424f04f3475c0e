"""Mutations, each of which breaks one rule of a valid table. They fit tables of any size from 2 servers with 2 devices up."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, NamedTuple, Optional

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.super_pod import sdid_of, vnic_of

from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables


class Mutation(NamedTuple):
    """``table`` is the function of tables.py whose tables the mutation breaks."""

    reader: str
    format: str
    rule: str
    name: str
    table: Callable[..., Dict[str, Any]]
    mutate: Callable[[Dict[str, Any]], None]
    product: Optional[str] = None

    def apply(self, table):
        """Return a broken copy of a table."""
        broken = copy.deepcopy(table)
        self.mutate(broken)
        return broken


def put(*path_and_value):
    """Return a mutation that sets the value at a path. A function as value is called with the table."""
    path, value = path_and_value[:-1], path_and_value[-1]

    def mutate(table):
        target = table
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value(table) if callable(value) else value
    return mutate


def drop(*path):
    def mutate(table):
        target = table
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]
    return mutate


def at(*path):
    """Return a function that returns the value at a path."""
    def value(table):
        for step in path:
            table = table[step]
        return table
    return value


def S(place, *rest):
    return ("server_list", place) + rest


def D(place, number, *rest):
    return S(place, "device", number) + rest


def G(*rest):
    """Within the first instance group of a global table."""
    return ("server_group_list", 2) + rest


def R(place, *rest):
    return ("rank_list", place) + rest


def L(*rest):
    """Within the first group of a group_list."""
    return ("group_list", 0) + rest


def swap_ranks(table):
    """The last rank of the first server and the first of the next."""
    last, first = table["server_list"][0]["device"][-1], table["server_list"][1]["device"][0]
    last["rank_id"], first["rank_id"] = first["rank_id"], last["rank_id"]


def swap_servers_of_pods(table):
    """All ranks of the last server of a super pod and of the first of the next."""
    edge = len(table["super_pod_list"][0]["server_list"])
    for one, other in zip(table["server_list"][edge - 1]["device"], table["server_list"][edge]["device"]):
        one["rank_id"], other["rank_id"] = other["rank_id"], one["rank_id"]


def sort_as_text(table):
    devices = table["server_list"][0]["device"]
    ids = [10, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 0, 1][:len(devices)]
    for device, number in zip(devices, sorted(map(str, ids))):
        device["device_id"] = number


def virtual_nics(table):
    for device in table["server_list"][0]["device"]:
        device["device_ip"] = vnic_of(5, int(device["device_id"]))


def placeholders(table):
    for number, device in enumerate(device for server in table["server_list"] for device in server["device"]):
        device["super_device_id"] = str(number)


def old_name(table):
    level = table["rank_list"][0]["level_list"][0]
    level["level"] = level.pop("net_layer")


def many_groups(table):
    table["server_group_list"] += [copy.deepcopy(table["server_group_list"][2]) for _copy in range(97)]


def _of(reader, name, table, *mutations):
    return [Mutation(reader, name, rule, title, table, mutate, *rest) for rule, title, mutate, *rest in mutations]


HCCL = _of(
    "hccl", "hccl", tables.hccl,
    ("status", "unfinished", put("status", "initializing")),
    ("version", "unknown", put("version", "1.5")),
    ("version", "of other NPUs", lambda table: None, "950"),
    ("string_values", "a rank as a number", put(*D(1, 0, "rank_id"), 2)),
    ("string_values", "a count as a number", put("server_count", 2)),
    ("required_keys", "no status", drop("status")),
    ("required_keys", "no rank", drop(*D(1, 1, "rank_id"))),
    ("server_list", "a server that is text", put(*S(1), "node-2")),
    ("server_count", "wrong", put("server_count", "99999")),
    ("server_id", "twice", put(*S(1, "server_id"), at(*S(0, "server_id")))),
    ("server_id", "too long", put(*S(1, "server_id"), "n" * 65)),
    ("device_list", "empty", put(*S(1, "device"), [])),
    ("device_id", "twice", put(*D(0, 1, "device_id"), "0")),
    ("device_id", "too large", put(*D(0, 1, "device_id"), "32")),
    ("device_id", "too large for 910A", put(*D(0, 1, "device_id"), "8"), "910A"),
    ("rank_ids", "a gap", put(*D(1, 1, "rank_id"), "70000")),
    ("rank_ids", "twice", put(*D(1, 1, "rank_id"), "0")),
    ("rank_ids", "in words", put(*D(1, 1, "rank_id"), "one")),
    ("device_ip", "no address on the NPU", put(*D(0, 1, "device_ip"), "-.-.-.-")),
    ("device_ip", "the device plugin's error value", put(*D(0, 1, "device_ip"), "-1")),
    ("device_ip", "IPv6 cut at a colon", put(*D(0, 1, "device_ip"), "fd00")),
    ("device_ip", "missing", drop(*D(0, 1, "device_ip"))),
    ("device_ip_unique", "twice", put(*D(1, 1, "device_ip"), at(*D(0, 0, "device_ip")))),
    ("device_ip_count", "two in one device", put(*D(1, 1, "device_ip"), "172.40.0.1,172.40.0.2")),
    ("vnic_address", "of virtual NICs", virtual_nics),
    ("ip_family", "mixed", put(*D(1, 1, "device_ip"), "fd00::1")),
    ("host_ip", "a name", put(*S(0, "host_ip"), "node-1")),
    ("ports", "0", put(*D(0, 0, "device_port"), "0")),
    ("ports", "reserved", put(*D(0, 0, "host_port"), "22")),
    ("super_pod_list", "with version 1.0", put("super_pod_list", [])),
    ("device_count", "one less", lambda table: table["server_list"][1]["device"].pop()),
    ("rank_order", "interleaved", swap_ranks),
    ("device_order", "sorted as text", sort_as_text),
) + _of(
    "hccl", "hccl", tables.super_pods,
    ("version", "of no super pod", lambda table: None, "A2"),
    ("super_pod_list", "missing", drop("super_pod_list")),
    ("super_pod_id", "twice", put("super_pod_list", 1, "super_pod_id", at("super_pod_list", 0, "super_pod_id"))),
    ("super_pod_id", "empty", put("super_pod_list", 0, "super_pod_id", "")),
    ("super_pod_servers", "unknown", put("super_pod_list", 0, "server_list", 0, "server_id", "node-9")),
    ("super_pod_id", "missing", drop("super_pod_list", 0, "super_pod_id")),
    ("super_pod_servers", "left out", drop("super_pod_list", 0, "server_list", 0)),
    ("super_pod_servers", "no list of pods", put("super_pod_list", {})),
    ("super_pod_servers", "no servers", drop("super_pod_list", 0, "server_list")),
    ("super_pod_servers", "in two pods", put("super_pod_list", 1, "server_list", 0, "server_id", at("super_pod_list", 0, "server_list", 0, "server_id"))),
    ("super_device_id", "twice", put(*D(0, 1, "super_device_id"), at(*D(0, 0, "super_device_id")))),
    ("super_device_id", "missing", drop(*D(0, 1, "super_device_id"))),
    ("super_device_id", "the device plugin's error value", put(*D(0, 1, "super_device_id"), "-2")),
    ("sdid", "of another device", put(*D(0, 1, "super_device_id"), str(sdid_of(900, 15)))),
    ("sdid", "of another server", put(*D(0, 1, "super_device_id"), str(sdid_of(900, 1)))),
    ("sdid", "of no device", put(*D(0, 1, "super_device_id"), str(sdid_of(900, 1) ^ 1 << 18))),
    ("sdid", "placeholders", placeholders),
    ("super_pod_order", "interleaved", swap_servers_of_pods),
    ("backup_device", "its own", put(*D(0, 0, "backup_device_ip"), at(*D(0, 0, "device_ip")))),
    ("backup_device", "of another server", put(*D(0, 0, "backup_device_ip"), at(*D(1, 0, "device_ip")))),
    ("backup_device", "twice", put(*D(1, 0, "backup_device_ip"), at(*D(0, 0, "backup_device_ip")))),
    ("backup_device", "of no device", put(*D(0, 0, "backup_device_ip"), "172.50.0.1")),
    ("backup_device", "no address", put(*D(0, 0, "backup_device_ip"), "none")),
    ("backup_device", "the port of the other die", put(*D(0, 0, "backup_device_port"), "16666")),
)

OTHERS = _of(
    "mindie_llm", "hccl", tables.hccl,
    ("server_count", "as a number", put("server_count", 2)),
    ("server_count", "missing", drop("server_count")),
    ("string_values", "a rank as a number", put(*D(1, 0, "rank_id"), 2)),
    ("server_id", "missing", drop(*S(0, "server_id"))),
    ("device_count", "one less", lambda table: table["server_list"][1]["device"].pop()),
    ("container_ip", "missing", drop(*S(0, "container_ip"))),
    ("device_values", "rank 512", put(*D(0, 1, "rank_id"), "512")),
    ("device_values", "device 64", put(*D(0, 1, "device_id"), "64")),
    ("device_values", "no address", put(*D(0, 1, "device_ip"), "-.-.-.-")),
    ("master", "no rank 0", put(*D(0, 0, "rank_id"), "1")),
) + _of(
    "clusterd", "hccl", tables.hccl,
    ("status", "unfinished", put("status", "initializing")),
    ("pod_addresses", "no container_ip", drop(*S(0, "container_ip"))),
) + _of("clusterd", "hccl_2.0", tables.rank_list, ("status", "unfinished", put("status", "initializing")))

MOTOR = _of(
    "mindie_motor", "global", tables.global_table,
    ("status", "unfinished", put("status", "initializing")),
    ("group_list", "missing", drop("server_group_list")),
    ("group_count", "99 groups", many_groups),
    ("group_id", "in words", put(*G("group_id"), "first")),
    ("group_id", "as a number", put(*G("group_id"), 2)),
    ("group_id", "missing", drop(*G("group_id"))),
    ("group_id", "twice", put("server_group_list", 1, "group_id", "0")),
    ("coordinator_group", "no coordinator", put("server_group_list", 0, "group_id", "1")),
    ("instances", "no instance", lambda table: table["server_group_list"].__delitem__(slice(2, None))),
    ("coordinators", "three", lambda table: table["server_group_list"][0]["server_list"].extend(table["server_group_list"][0]["server_list"] * 2)),
    ("coordinators", "without address", put("server_group_list", 0, "server_list", 0, "server_ip", "coordinator")),
    ("server_list", "missing", drop(*G("server_list"))),
    ("server_count", "wrong", put(*G("server_count"), "99")),
    ("server_count", "as a number", put(*G("server_count"), 2)),
    ("server_addresses", "a name", put(*G(*S(0, "server_id")), "node-1")),
    ("server_addresses", "missing", drop(*G(*S(0, "server_ip")))),
    ("server_unique", "one address twice", put(*G(*S(1, "server_ip")), at(*G(*S(0, "server_ip"))))),
    ("server_unique", "one server twice", put(*G(*S(1, "server_id")), at(*G(*S(0, "server_id"))))),
    ("ports", "below 1024", put(*G(*S(0, "mgmt_port")), "80")),
    ("device_count", "none", put(*G(*S(0, "device")), [])),
    ("device_values", "rank 2049", put(*G(*D(0, 0, "rank_id")), "2049")),
    ("device_values", "no logical id", drop(*G(*D(0, 0, "device_logical_id")))),
    ("device_values", "SDID beyond 2^30", put(*G(*D(0, 0, "super_device_id")), "1073741825")),
    ("device_ip", "no address", put(*G(*D(0, 0, "device_ip")), "-.-.-.-")),
    ("device_ip", "missing", drop(*G(*D(0, 0, "device_ip")))),
    ("device_ip_unique", "twice", put(*G(*D(0, 1, "device_ip")), at(*G(*D(0, 0, "device_ip"))))),
    ("super_pods", "with version 1.0", put("version", "1.0")),
    ("super_pods", "a server left out", drop(*G("super_pod_list", 0, "server_list", 0))),
    ("super_pods", "no id", drop(*G("super_pod_list", 0, "super_pod_id"))),
    ("deploy_server", "in words", put(*G("deploy_server"), "yes")),
    ("sdid", "of another device", put(*G(*D(0, 1, "super_device_id")), str(sdid_of(23, 15)))),
)

P0, P1, DECODE = ("prefill_device_list", 0), ("prefill_device_list", 1), ("decode_device_list", 0)
VLLM = _of(
    "vllm", "vllm_pd", tables.prefill_decode,
    ("device_lists", "no decode", drop("decode_device_list")),
    ("device_lists", "empty", put("prefill_device_list", [])),
    ("required_keys", "no cluster_id", drop(*P0, "cluster_id")),
    ("string_values", "a device as a number", put(*P0, "device_id", 0)),
    ("server_id", "a name", put(*P0, "server_id", "node-1")),
    ("device_id", "in words", put(*P0, "device_id", "davinci0")),
    ("device_unique", "one device twice", put(*P1, "device_id", at(*P0, "device_id"))),
    ("cluster_id", "twice", put(*P1, "cluster_id", at(*P0, "cluster_id"))),
    ("cluster_id", "in words", put(*P1, "cluster_id", "one")),
    ("device_ip", "empty", put(*P0, "device_ip", "")),
    ("device_ip", "no address", put(*P0, "device_ip", "-.-.-.-")),
    ("device_ip_unique", "twice", put(*P1, "device_ip", at(*P0, "device_ip"))),
    ("super_device_id", "twice", put(*P1, "super_device_id", at(*P0, "super_device_id"))),
    ("super_device_id", "no number", put(*P1, "super_device_id", "SDID")),
    ("sdid", "of another device", put(*P1, "super_device_id", str(sdid_of(90, 15)))),
    ("sdid", "of another virtual NIC", put(*P1, "device_ip", vnic_of(47, 1))),
    ("server_count", "the number of processes", put("server_count", "99999")),
    ("status", "unfinished", put("status", "initializing")),
)

HIXL = _of(
    "hixl", "local_comm_res", tables.endpoints,
    ("version", "of a table", put("version", "1.2")),
    ("endpoint_list", "not a list", put("endpoint_list", {})),
    ("string_values", "a number", put("endpoint_list", 0, "comm_id", 7)),
    ("required_keys", "no protocol", drop("endpoint_list", 0, "protocol")),
    ("required_keys", "no net instance", drop("net_instance_id")),
    ("choices", "protocol", put("endpoint_list", 0, "protocol", "tcp")),
    ("choices", "placement", put("endpoint_list", 0, "placement", "rack")),
    ("addresses", "no address", put("endpoint_list", 0, "comm_id", "-.-.-.-")),
    ("addresses", "no EID", put("endpoint_list", -1, "comm_id", "10.0.0.1")),
    ("addresses", "no target EID", put("endpoint_list", -1, "dst_eid", "10.0.0.1")),
) + _of(
    "hixl", "hccl", tables.one_device,
    ("status", "unfinished", put("status", "initializing")),
    ("one_device", "two", lambda table: table["server_list"].append(table["server_list"][0])),
    ("no_ranks", "a rank", put(*D(0, 0, "rank_id"), "0")),
    ("no_ranks", "a count", put("server_count", "1")),
    ("required_keys", "no server_id", drop(*S(0, "server_id"))),
    ("required_keys", "no device_id", drop(*D(0, 0, "device_id"))),
    ("device_ip", "no address", put(*D(0, 0, "device_ip"), "x.x.x.x")),
)

A0 = ("level_list", 0, "rank_addr_list", 0)
HCCL_V2 = _of(
    "hccl", "hccl_2.0", tables.rank_list,
    ("status", "unfinished", put("status", "initializing")),
    ("version", "of other NPUs", lambda table: None, "A2"),
    ("version", "2.1", put("version", "2.1")),
    ("required_keys", "no count", drop("rank_count")),
    ("required_keys", "an older name", old_name),
    ("value_types", "a count as text", put("rank_count", "4")),
    ("value_types", "a rank as text", put(*R(0, "rank_id"), "0")),
    ("value_types", "an instance as a number", put(*R(0, "level_list", 0, "net_instance_id"), 0)),
    ("rank_list", "empty", put("rank_list", [])),
    ("rank_list", "a rank that is text", put(*R(0), "rank 0")),
    ("rank_count", "wrong", put("rank_count", 99999)),
    ("rank_ids", "twice", put(*R(1, "rank_id"), 0)),
    ("rank_ids", "a gap", put(*R(1, "rank_id"), 70000)),
    ("id_limits", "local_id 65", put(*R(1, "local_id"), 65)),
    ("id_limits", "device_id -1", put(*R(1, "device_id"), -1)),
    ("replaced_local_id", "missing", put(*R(1, "local_id"), 64)),
    ("replaced_local_id", "two backups", lambda table: [rank.update(local_id=64, replaced_local_id=9) for rank in table["rank_list"][:2]]),
    ("levels", "none", put(*R(1, "level_list"), [])),
    ("levels", "layer 8", put(*R(1, "level_list", 1, "net_layer"), 8)),
    ("levels", "descending", put(*R(1, "level_list", 1, "net_layer"), 0)),
    ("levels", "no name", put(*R(1, "level_list", 1, "net_instance_id"), "")),
    ("net_type", "unknown", put(*R(1, "level_list", 1, "net_type"), "STAR")),
    ("rank_addresses", "IPv6 in an IPv4 entry", put(*R(1, *A0, "addr"), "fd00::1")),
    ("rank_addresses", "no EID", put(*R(1, "level_list", 1, "rank_addr_list", 0, "addr"), "10.0.0.1")),
    ("rank_addresses", "unknown type", put(*R(1, *A0, "addr_type"), "MAC")),
    ("rank_addresses", "no ports", put(*R(1, *A0, "ports"), [])),
    ("rank_addresses", "25 addresses", lambda table: table["rank_list"][1]["level_list"][0].update(rank_addr_list=at(*R(1, *A0[:-1]))(table) * 25)),
    ("address_unique", "twice", put(*R(1, *A0, "addr"), at(*R(0, *A0, "addr")))),
    ("instance_sizes", "one more", put(*R(1, "level_list", 1, "rank_addr_list"), [])),
    ("local_id_unique", "twice", put(*R(1, "local_id"), at(*R(0, "local_id")))),
    ("ports", "65536", put(*R(1, "device_port"), 65536)),
)

GROUP_LIST = _of(
    "hccl", "group_list", tables.group_list,
    ("status", "unfinished", put("status", "initializing")),
    ("version", "of other NPUs", lambda table: None, "A2"),
    ("string_values", "a device as a number", put(*L("instance_list", 0, "devices", 0, "device_id"), 0)),
    ("required_keys", "no pod_name", drop(*L("instance_list", 0, "pod_name"))),
    ("required_keys", "no device_ip", drop(*L("instance_list", 0, "devices", 0, "device_ip"))),
    ("group_list", "empty", put("group_list", [])),
    ("group_list", "an instance that is text", put(*L("instance_list", 0), "pod")),
    ("counts", "of devices", put(*L("device_count"), "99")),
    ("counts", "of groups", put("group_count", "2")),
    ("device_id", "too large", put(*L("instance_list", 0, "devices", 1, "device_id"), "8")),
    ("device_id", "twice", put(*L("instance_list", 0, "devices", 1, "device_id"), "0")),
    ("device_ip", "no address", put(*L("instance_list", 0, "devices", 0, "device_ip"), "-1")),
    ("device_ip", "twice", put(*L("instance_list", 0, "devices", 1, "device_ip"), at(*L("instance_list", 0, "devices", 0, "device_ip")))),
    ("ip_family", "mixed", put(*L("instance_list", 0, "devices", 1, "device_ip"), "fd00::1")),
) + _of(
    "hccl", "group_list", tables.laboratory,
    ("rank_ids", "twice", put(*L("instance_list", 1, "rank_id"), "0")),
    ("rank_ids", "a gap", put(*L("instance_list", 1, "rank_id"), "9")),
)

MUTATIONS = HCCL + OTHERS + MOTOR + VLLM + HIXL + HCCL_V2 + GROUP_LIST
