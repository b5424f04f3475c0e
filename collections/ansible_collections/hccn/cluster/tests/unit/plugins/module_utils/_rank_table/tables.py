"""Valid rank tables of every format and size, which pass all rules and which mutations break."""

from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.super_pod import sdid_of, vnic_of

VNIC_SERVERS = 48
"""Servers of a super pod whose virtual NICs have unique addresses."""


def address(server, device):
    return "172.%d.%d.%d" % (16 + device, server // 250, server % 250 + 1)


def server_id(server):
    return "10.0.%d.%d" % (server // 250, server % 250 + 1)


def pod_ip(server):
    return "10.244.%d.%d" % (server // 250, server % 250 + 1)


def hccl(servers=2, devices=2):
    """Version 1.0, with all keys that MindIE-LLM and ClusterD read."""
    return {
        "status": "completed", "version": "1.0", "server_count": str(servers), "server_list": [
            {"server_id": server_id(server), "host_ip": server_id(server), "container_ip": pod_ip(server), "device": [
                {"device_id": str(device), "device_ip": address(server, device), "device_port": "16666", "rank_id": str(server * devices + device)}
                for device in range(devices)]}
            for server in range(servers)]}


def super_pods(servers=4, devices=2, pods=2):
    """Version 1.2 with real SDIDs; each die has the other of its NPU as backup. ``pods`` divides ``servers``, ``devices`` is even."""
    table = dict(hccl(servers, devices), version="1.2")
    size = servers // pods
    for index, server in enumerate(table["server_list"]):
        for number, device in enumerate(server["device"]):
            device.update(super_device_id=str(sdid_of(index % size, number)), backup_device_ip=address(index, number ^ 1), backup_device_port="16667")
    table["super_pod_list"] = [
        {"super_pod_id": str(pod), "server_list": [{"server_id": server_id(server)} for server in range(pod * size, (pod + 1) * size)]} for pod in range(pods)]
    return table


def rank_list(servers=2, devices=2):
    """Version 2.0: IPv4 addresses within a server, EIDs between servers."""
    def level(layer, instance, net_type, kind, where):
        return {"net_layer": layer, "net_instance_id": instance, "net_type": net_type, "net_attr": "",
                "rank_addr_list": [{"addr_type": kind, "addr": where, "ports": ["0/%d" % layer], "plane_id": "plane0"}]}

    return {"status": "completed", "version": "2.0", "rank_count": servers * devices, "rank_list": [
        {"rank_id": server * devices + device, "local_id": device, "device_id": device, "device_port": 16666, "level_list": [
            level(0, "rack-%d" % server, "TOPO_FILE_DESC", "IPV4", address(server, device)),
            level(1, "all", "CLOS", "EID", "%032x" % (server * 64 + device + 1))]}
        for server in range(servers) for device in range(devices)]}


def group_list(servers=2, devices=2):
    """The cloud form of 910A; at most 8 devices."""
    return {"status": "completed", "group_count": "1", "group_list": [
        {"group_name": "hccl_world_group", "instance_count": str(servers), "device_count": str(servers * devices), "instance_list": [
            {"pod_name": "job-%d" % server, "server_id": server_id(server), "devices": [
                {"device_id": str(device), "device_ip": address(server, device)} for device in range(devices)]}
            for server in range(servers)]}]}


def laboratory(servers=2, devices=1):
    """The laboratory form: each instance is a rank."""
    table = group_list(servers, devices)
    group = table["group_list"][0]
    group.update(device_num=group.pop("device_count"), server_num=str(servers))
    for rank, instance in enumerate(group["instance_list"]):
        del instance["pod_name"]
        instance["rank_id"] = str(rank)
    return dict(table, deploy_mode="lab", para_plane_nic_location="device")


def global_table(servers=2, devices=2, instances=2):
    """Coordinator, controller, and instances of ``servers`` hosts each, in a super pod."""
    def server(number, place):
        return {"server_id": server_id(number), "server_ip": pod_ip(number), "device": [
            {"device_id": str(device), "device_ip": address(number, device), "super_device_id": str(sdid_of(place, device)),
             "device_logical_id": str(device), "rank_id": str(place * devices + device)} for device in range(devices)]}

    def group(instance):
        members = [server(instance * servers + place, place) for place in range(servers)]
        return {"group_id": str(2 + instance), "deploy_server": "0", "server_count": str(servers), "server_list": members,
                "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": member["server_id"]} for member in members]}]}

    heads = [{"group_id": str(number), "server_count": "1", "server_list": [{"server_id": name, "server_ip": "10.245.0.%d" % (number + 1)}]}
             for number, name in enumerate(("coordinator", "controller"))]
    return {"version": "1.2", "status": "completed", "server_group_list": heads + [group(instance) for instance in range(instances)]}


def prefill_decode(servers=2, devices=2):
    """Of A3: SDIDs and the addresses of virtual NICs; the first half of the servers prefills."""
    entries = [
        {"server_id": server_id(server), "device_id": str(device), "device_ip": vnic_of(server % VNIC_SERVERS, device),
         "super_pod_id": str(server // VNIC_SERVERS), "super_device_id": str(sdid_of(server % VNIC_SERVERS, device)),
         "cluster_id": str(server * devices + device + 1)}
        for server in range(servers) for device in range(devices)]
    cut = servers // 2 * devices
    return {"version": "1.2", "server_count": str(servers), "prefill_device_list": entries[:cut], "decode_device_list": entries[cut:], "status": "completed"}


def endpoints(devices=2):
    """local_comm_res 1.3."""
    return {"version": "1.3", "net_instance_id": "superpod1_1", "endpoint_list": [
        {"protocol": "roce", "comm_id": address(0, device), "placement": "device"} for device in range(devices)] + [
        {"protocol": "ub_ctp", "comm_id": "%032x" % 7, "placement": "host", "dst_eid": "%032x" % 9}]}


def one_device():
    """local_comm_res 1.0."""
    return {"status": "completed", "version": "1.0", "server_list": [
        {"server_id": server_id(0), "device": [{"device_id": "0", "device_ip": address(0, 0)}]}]}


VALID = [
    ("hccl", "hccl", hccl()), ("hccl", "hccl", super_pods()), ("hccl", "hccl_2.0", rank_list()), ("hccl", "group_list", group_list()),
    ("hccl", "group_list", laboratory()), ("mindie_llm", "hccl", hccl()), ("mindie_llm", "hccl", super_pods()), ("clusterd", "hccl", hccl()),
    ("clusterd", "hccl_2.0", rank_list()), ("mindie_motor", "global", global_table()), ("vllm", "vllm_pd", prefill_decode()),
    ("hixl", "local_comm_res", endpoints()), ("hixl", "hccl", one_device()),
]
"""(reader, format, table)"""
