# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The input of the filters that create manifests for Kubernetes. Both texts repeat the common options, since documentation must be a literal."""

from __future__ import annotations


class ModuleDocFragment:
    """``hccn.cluster._job`` for collectives, ``hccn.cluster._job.runners`` for a fabric check."""

    DOCUMENTATION = r"""
options:
  _input:
    description:
      - The job, a dictionary with the keys below. Unknown keys are an error.
    type: dict
    required: true
    suboptions:
      image:
        description:
          - Image of all pods. It must contain C(sshd) and C(ssh), a shell, the MPI of O(_input.mpi) and the programs of O(_input.tool).
          - Its C(sshd_config) must allow root to log in with a key.
        type: str
        required: true
      nodes:
        description:
          - Names of the nodes that take part, as in their label C(kubernetes.io/hostname). Each runs one worker pod.
        type: list
        elements: str
        default: []
      replicas:
        description:
          - Number of worker pods on nodes that the scheduler selects. Omit it if O(_input.nodes) is given.
        type: int
      name:
        description:
          - Name of the job and of the service for the host names of its pods. It must be unique in the namespace.
        type: str
        default: hccn-collective
      tool:
        description:
          - Tool that measures.
        type: str
        choices: [hccl_test, nccl_tests]
        default: hccl_test
      tool_dir:
        description:
          - Folder of the programs in the image, as O(hccn.cluster.hccl_perf#module:hccl_test_dir). With V(nccl_tests), they are in its subfolder C(build).
          - The default is C(/usr/local/Ascend/cann/tools/hccl_test) for V(hccl_test), and the C(PATH) of the image for V(nccl_tests).
        type: str
      operation:
        description:
          - The collective. This and the following keys are options of M(hccn.cluster.hccl_perf) or M(hccn.cluster.nccl_perf), with the same defaults.
        type: str
        default: all_reduce
      ranks_per_host:
        description:
          - Ranks on each worker pod.
        type: int
        default: 8
      gpus_per_process:
        description:
          - GPUs per process. For V(nccl_tests) only.
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
          - Reduction of the operations that reduce.
        type: str
        default: sum
      root:
        description:
          - Root rank.
        type: int
        default: 0
      check:
        description:
          - Whether the results are verified.
        type: bool
        default: true
      environment:
        description:
          - Variables for C(mpirun) and the ranks. The names are those that the module of the tool accepts.
          - C(HCCL_IF_IP) is an error, since all ranks would get the address of one host. With O(_input.host_network), it is set for every worker.
        type: dict
        default: {}
      timeout:
        description:
          - Time limit for the collective in seconds.
        type: int
        default: 600
      start_timeout:
        description:
          - Time limit in seconds from the start of the launcher until the workers accept logins.
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
          - Resource of the device plugin. The default is V(huawei.com/Ascend910) for V(hccl_test) and V(nvidia.com/gpu) for V(nccl_tests).
            Use V(huawei.com/npu) for the 950, and V(huawei.com/ascend-1980) on Huawei Cloud CCE.
        type: str
      devices_per_pod:
        description:
          - Quantity of O(_input.resource) that each worker requests. The default is O(_input.ranks_per_host).
        type: int
      queue:
        description:
          - Volcano queue. For an MPIJob, it is the queue of the pod group and has no effect if the operator runs without gang scheduling.
        type: str
        default: default
      scheduler:
        description:
          - Scheduler of the pods. The default is V(volcano) for a Volcano Job, and the setting of the operator for an MPIJob.
        type: str
      one_per_node:
        description:
          - Whether each worker must run on a different node.
        type: bool
        default: true
      host_network:
        description:
          - Whether workers use the network of their node. The launcher never does, since its port would conflict with that of a worker on the same node.
        type: bool
        default: false
      ssh_port:
        description:
          - Port of C(sshd) in the workers. The default is 22, or 2222 with O(_input.host_network).
        type: int
      sshd:
        description:
          - Path of C(sshd) in the image.
        type: str
        default: /usr/sbin/sshd
      security_context:
        description:
          - Security context of the worker containers. The default is the capability C(IPC_LOCK) for V(nccl_tests), and none for V(hccl_test).
        type: dict
      mounts:
        description:
          - Files and folders of the node to mount into the workers, each with C(name), C(host_path), C(mount_path) (default C(host_path)), C(type) and
            C(read_only) (default V(true)).
          - The default for V(hccl_test) is the driver C(/usr/local/Ascend/driver), the file C(/etc/hccn.conf), and C(hccn_tool) as C(/usr/bin/hccn_tool).
        type: list
        elements: dict
      shm_size:
        description:
          - Size limit of C(/dev/shm), which is in memory. If it is empty, no limit is set.
        type: str
      rank_table:
        description:
          - Whether to create and mount the ConfigMap C(rings-config-NAME), which Ascend Operator fills. C(hccl_test) itself does not need it.
        type: bool
        default: false
      keep_seconds:
        description:
          - Seconds after which the cluster deletes the ended job if it still exists.
        type: int
        default: 3600
      namespace:
        description:
          - Namespace of all objects.
        type: str
        default: default
      resources:
        description:
          - Additional resources of a pod with devices, by name, as requests and limits, for example C(cpu), C(memory) or C(rdma/hca).
        type: dict
        default: {}
      priority_class:
        description:
          - Priority class of the pods.
        type: str
      labels:
        description:
          - Labels of all objects, for example C(ring-controller.atlas), which the scheduler plugin of MindCluster requires.
        type: dict
        default: {}
      annotations:
        description:
          - Annotations of the pods, for example C(huawei.com/schedule_policy).
        type: dict
        default: {}
      node_selector:
        description:
          - Labels that a node must have to run the pods, for example C(accelerator-type).
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
          - Image pull policy.
        type: str
        default: IfNotPresent
      image_pull_secrets:
        description:
          - Names of the image pull secrets.
        type: list
        elements: str
        default: []
      service_account:
        description:
          - Service account of the pods.
        type: str

notes:
  - The manifests are validated against the published schemas of the resources. They were not tested on a cluster with NPUs or GPUs.
seealso:
  - module: hccn.cluster.hccl_perf
  - module: hccn.cluster.nccl_perf
"""

    RUNNERS = r"""
options:
  _input:
    description:
      - The pods, a dictionary with the keys below. Unknown keys are an error.
    type: dict
    required: true
    suboptions:
      image:
        description:
          - Image of all pods. It must contain a shell, Python 3.7 or newer, and the dependencies of the mounted tools.
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
          - Inventory names of the nodes, in the same order. The default is O(_input.nodes).
        type: list
        elements: str
      tool:
        description:
          - The measurement tool, which determines the defaults of O(_input.resource), O(_input.mounts) and O(_input.security_context). V(perftest) requires
            O(_input.resources) with the RDMA device, or a privileged container. P(hccn.cluster.check_fabric#role) sets it.
        type: str
        choices: [roce_test, perftest, iperf3]
        default: roce_test
      name:
        description:
          - Prefix of the pod names. It must be unique in the namespace.
        type: str
        default: hccn-fabric
      devices_per_pod:
        description:
          - Quantity of O(_input.resource) that each pod requests. It should be all devices of a node. The default is V(8) for V(roce_test), otherwise V(1).
        type: int
      resource:
        description:
          - Resource of the device plugin. Use V(huawei.com/npu) for the 950, and V(huawei.com/ascend-1980) on Huawei Cloud CCE. The
            default is V(huawei.com/Ascend910) for V(roce_test), otherwise none.
        type: str
      queue:
        description:
          - Volcano queue. If it is given, a C(PodGroup) is created and Volcano schedules the pods.
        type: str
      scheduler:
        description:
          - Scheduler of the pods. The default is V(volcano) with O(_input.queue), otherwise the default scheduler of the cluster.
        type: str
      host_network:
        description:
          - Whether the pods use the network of their node. Otherwise the cluster network must allow connections between the pods on one port.
        type: bool
        default: true
      security_context:
        description:
          - Security context of the container, for example C(privileged) if the container runtime does not give C(hccn_tool) access to the devices.
        type: dict
        default: {}
      mounts:
        description:
          - Files and folders of the node to mount, each with C(name), C(host_path), C(mount_path) (default C(host_path)), C(type) and C(read_only) (default
            V(true)). O(_input.state_dir) is always mounted.
          - The default is the driver C(/usr/local/Ascend/driver), the file C(/etc/hccn.conf), and C(hccn_tool) as C(/usr/bin/hccn_tool). Add C(npu-smi) if
            the container runtime does not provide it.
        type: list
        elements: dict
      state_dir:
        description:
          - Folder of the node for the journals, from which the next pod repairs the state that a killed pod left behind.
        type: str
        default: /var/lib/hccn.cluster
      lifetime:
        description:
          - Seconds after which the cluster terminates the pods if they still exist.
        type: int
        default: 7200
      namespace:
        description:
          - Namespace of all objects.
        type: str
        default: default
      resources:
        description:
          - Additional resources of a pod with devices, by name, as requests and limits, for example C(cpu), C(memory) or C(rdma/hca).
        type: dict
        default: {}
      priority_class:
        description:
          - Priority class of the pods.
        type: str
      labels:
        description:
          - Labels of all objects, for example C(ring-controller.atlas), which the scheduler plugin of MindCluster requires.
        type: dict
        default: {}
      annotations:
        description:
          - Annotations of the pods, for example C(huawei.com/schedule_policy).
        type: dict
        default: {}
      node_selector:
        description:
          - Labels that a node must have to run the pods, for example C(accelerator-type).
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
          - Image pull policy.
        type: str
        default: IfNotPresent
      image_pull_secrets:
        description:
          - Names of the image pull secrets.
        type: list
        elements: str
        default: []
      service_account:
        description:
          - Service account of the pods.
        type: str
"""
