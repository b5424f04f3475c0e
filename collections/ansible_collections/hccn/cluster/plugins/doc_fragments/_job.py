# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The input of the filters that make manifests for Kubernetes. What their pods have in common stands in both, since documentation must be plain text."""

from __future__ import annotations


class ModuleDocFragment:
    """``hccn.cluster._job`` for collectives, ``hccn.cluster._job.runners`` for the check of a fabric."""

    DOCUMENTATION = r"""
options:
  _input:
    description:
      - The job, a dictionary of the keys below. Keys that are not known are refused.
    type: dict
    required: true
    suboptions:
      image:
        description:
          - Image of all pods. It holds C(sshd) and C(ssh), a shell, the MPI of O(_input.mpi) and the programs of O(_input.tool).
          - Logins of root by key must be allowed in its C(sshd_config).
        type: str
        required: true
      nodes:
        description:
          - Names of the nodes that take part, as in their label C(kubernetes.io/hostname). One worker pod is put on each.
        type: list
        elements: str
        default: []
      replicas:
        description:
          - Number of worker pods, for any nodes. Left out with O(_input.nodes).
        type: int
      name:
        description:
          - Name of the job and, with its pods' host names, of its service. Unique in the namespace.
        type: str
        default: hccn-collective
      tool:
        description:
          - What measures.
        type: str
        choices: [hccl_test, nccl_tests]
        default: hccl_test
      tool_dir:
        description:
          - Folder of the programs in the image, as O(hccn.cluster.hccl_perf#module:hccl_test_dir). For V(nccl_tests) the programs lie in its folder C(build).
          - By default C(/usr/local/Ascend/cann/tools/hccl_test) for V(hccl_test), and the image's C(PATH) for V(nccl_tests).
        type: str
      operation:
        description:
          - The collective. This and the next keys are those of M(hccn.cluster.hccl_perf) or M(hccn.cluster.nccl_perf), with the same defaults.
        type: str
        default: all_reduce
      ranks_per_host:
        description:
          - Ranks on each worker pod.
        type: int
        default: 8
      gpus_per_process:
        description:
          - GPUs that one process works. For V(nccl_tests) only.
        type: int
        default: 1
      sizes:
        description:
          - Dictionary with C(begin), C(end) and C(factor).
        type: dict
      iterations:
        description:
          - Timed repetitions for each size.
        type: int
        default: 20
      warmup:
        description:
          - Repetitions before the timed ones. The default is that of the tool's module.
        type: int
      data_type:
        description:
          - Data type of the elements. The default is that of the tool's module.
        type: str
      reduction:
        description:
          - What the reducing operations do.
        type: str
        default: sum
      root:
        description:
          - The root rank.
        type: int
        default: 0
      check:
        description:
          - Whether the results are verified.
        type: bool
        default: true
      environment:
        description:
          - Variables for C(mpirun) and the ranks, with the names that the module of the tool takes.
          - C(HCCL_IF_IP) is refused, since all ranks would get the address of one host. With O(_input.host_network) every worker gets its own.
        type: dict
        default: {}
      timeout:
        description:
          - Seconds that the collective may take.
        type: int
        default: 600
      start_timeout:
        description:
          - Seconds that the workers may take from the launcher's start until they take logins.
        type: int
        default: 300
      mpi:
        description:
          - The MPI in the image.
        type: str
        choices: [mpich, openmpi]
        default: mpich
      mpirun:
        description:
          - Name or path of C(mpirun) in the image.
        type: str
        default: mpirun
      resource:
        description:
          - The device plugin's resource. By default V(huawei.com/Ascend910) for V(hccl_test) and V(nvidia.com/gpu) for V(nccl_tests).
            The 950 has V(huawei.com/npu), Huawei Cloud CCE V(huawei.com/ascend-1980).
        type: str
      devices_per_pod:
        description:
          - How many of O(_input.resource) a worker asks for. By default O(_input.ranks_per_host).
        type: int
      queue:
        description:
          - Volcano's queue. Of an MPIJob the queue of its pod group, without effect where the operator runs without gang scheduling.
        type: str
        default: default
      scheduler:
        description:
          - Scheduler of the pods. By default V(volcano) for a Volcano Job, and for an MPIJob what the operator sets.
        type: str
      one_per_node:
        description:
          - Whether no two workers may be on one node.
        type: bool
        default: true
      host_network:
        description:
          - Whether workers use the network of their node. The launcher never does, since its port would bar a worker from the node.
        type: bool
        default: false
      ssh_port:
        description:
          - Port of the workers' C(sshd). By default 22, with O(_input.host_network) 2222.
        type: int
      sshd:
        description:
          - Path of C(sshd) in the image.
        type: str
        default: /usr/sbin/sshd
      security_context:
        description:
          - Security context of the workers' container. By default the capability C(IPC_LOCK) for V(nccl_tests), nothing for V(hccl_test).
        type: dict
      mounts:
        description:
          - What of the node is mounted into the workers, each with C(name), C(host_path), C(mount_path) (by default the same), C(type) and
            C(read_only) (by default V(true)).
          - By default, for V(hccl_test), the driver C(/usr/local/Ascend/driver), the file C(/etc/hccn.conf), and C(hccn_tool) as C(/usr/bin/hccn_tool).
        type: list
        elements: dict
      shm_size:
        description:
          - Size of C(/dev/shm), which lies in memory. Empty sets no limit of its own.
        type: str
      rank_table:
        description:
          - Whether the ConfigMap C(rings-config-NAME), which Ascend Operator fills, is made and mounted. C(hccl_test) itself needs none.
        type: bool
        default: false
      keep_seconds:
        description:
          - Seconds after its end when the cluster deletes the job by itself, should nobody else.
        type: int
        default: 3600
      namespace:
        description:
          - Namespace of all objects.
        type: str
        default: default
      resources:
        description:
          - More resources of a pod with devices, by name, as requests and limits, for example C(cpu), C(memory) or C(rdma/hca).
        type: dict
        default: {}
      priority_class:
        description:
          - Priority class of the pods.
        type: str
      labels:
        description:
          - Labels of all objects, for example C(ring-controller.atlas), which MindCluster's scheduler plugin wants.
        type: dict
        default: {}
      annotations:
        description:
          - Annotations of the pods, for example C(huawei.com/schedule_policy).
        type: dict
        default: {}
      node_selector:
        description:
          - Labels of the nodes that the pods may run on, for example C(accelerator-type).
        type: dict
        default: {}
      tolerations:
        description:
          - Tolerations of the pods that hold devices.
        type: list
        elements: dict
        default: []
      image_pull_policy:
        description:
          - When the image is pulled.
        type: str
        default: IfNotPresent
      image_pull_secrets:
        description:
          - Names of secrets for the registry.
        type: list
        elements: str
        default: []
      service_account:
        description:
          - Service account of the pods.
        type: str

notes:
  - The manifests were checked against the published schemas of the resources. They were not run on a cluster with NPUs or GPUs.
seealso:
  - module: hccn.cluster.hccl_perf
  - module: hccn.cluster.nccl_perf
"""

    RUNNERS = r"""
options:
  _input:
    description:
      - The pods, a dictionary of the keys below. Keys that are not known are refused.
    type: dict
    required: true
    suboptions:
      image:
        description:
          - Image of all pods. It holds a shell and Python 3.7 or newer, and what the mounted tools need to run.
        type: str
        required: true
      nodes:
        description:
          - Names of the nodes, as in their label C(kubernetes.io/hostname).
        type: list
        elements: str
        required: true
      hosts:
        description:
          - What the inventory calls the nodes, in the same order. By default O(_input.nodes).
        type: list
        elements: str
      name:
        description:
          - The beginning of the pods' names. Unique in the namespace.
        type: str
        default: hccn-fabric
      devices_per_pod:
        description:
          - How many of O(_input.resource) a pod asks for, which is all that a node has.
        type: int
        default: 8
      resource:
        description:
          - The device plugin's resource. The 950 has V(huawei.com/npu), Huawei Cloud CCE V(huawei.com/ascend-1980).
        type: str
        default: huawei.com/Ascend910
      queue:
        description:
          - Volcano's queue. With it, a C(PodGroup) is made, and Volcano places the pods.
        type: str
      scheduler:
        description:
          - Scheduler of the pods. By default V(volcano) with O(_input.queue), and the cluster's own without.
        type: str
      host_network:
        description:
          - Whether the pods use the network of their node. Otherwise the cluster's network must let the pods reach each other at one port.
        type: bool
        default: true
      security_context:
        description:
          - Security context of the container, for example C(privileged), where the container runtime gives C(hccn_tool) no access to the devices.
        type: dict
        default: {}
      mounts:
        description:
          - What of the node is mounted, each with C(name), C(host_path), C(mount_path) (by default the same), C(type) and C(read_only) (by default V(true)).
            O(_input.state_dir) is mounted besides.
          - By default the driver C(/usr/local/Ascend/driver), the file C(/etc/hccn.conf), and C(hccn_tool) as C(/usr/bin/hccn_tool). Add C(npu-smi)
            where the container runtime does not.
        type: list
        elements: dict
      state_dir:
        description:
          - Folder of the node that keeps the journals, so that what a pod that was killed has left is put right from the next.
        type: str
        default: /var/lib/hccn.cluster
      lifetime:
        description:
          - Seconds after which the cluster ends the pods, should nobody have deleted them.
        type: int
        default: 7200
      namespace:
        description:
          - Namespace of all objects.
        type: str
        default: default
      resources:
        description:
          - More resources of a pod with devices, by name, as requests and limits, for example C(cpu), C(memory) or C(rdma/hca).
        type: dict
        default: {}
      priority_class:
        description:
          - Priority class of the pods.
        type: str
      labels:
        description:
          - Labels of all objects, for example C(ring-controller.atlas), which MindCluster's scheduler plugin wants.
        type: dict
        default: {}
      annotations:
        description:
          - Annotations of the pods, for example C(huawei.com/schedule_policy).
        type: dict
        default: {}
      node_selector:
        description:
          - Labels of the nodes that the pods may run on, for example C(accelerator-type).
        type: dict
        default: {}
      tolerations:
        description:
          - Tolerations of the pods that hold devices.
        type: list
        elements: dict
        default: []
      image_pull_policy:
        description:
          - When the image is pulled.
        type: str
        default: IfNotPresent
      image_pull_secrets:
        description:
          - Names of secrets for the registry.
        type: list
        elements: str
        default: []
      service_account:
        description:
          - Service account of the pods.
        type: str
"""
