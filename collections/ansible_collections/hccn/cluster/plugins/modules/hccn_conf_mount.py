#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of hccn_conf_mount; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_conf_mount
short_description: Check whether containers see the hccn.conf of their host, and write a CDI spec that mounts it
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - In a container, LLM-DataDist without C(OPTION_LOCAL_COMM_RES) reads C(/etc/hccn.conf), which must be that of the host.
    C(ascend-docker-runtime) mounts neither C(hccn.conf) nor C(hccn_tool), so the file must be mounted when the container is created.
  - This module inspects every running container that has NPUs and reports which file it sees at that path. A container has NPUs if one of its processes
    holds C(/dev/davinci<N>) open or if such device files are in its C(/dev). They must be the same character devices as those of the host.
  - The module only reads C(/proc). It uses no container engine, enters no namespace and changes no container.
  - With O(state) the module also writes or removes a spec of the Container Device Interface (CDI) that mounts the file. The arguments for C(docker) and
    the volume for Kubernetes are returned in any case.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  path:
    description:
      - Path of the file on the host.
    type: path
    default: /etc/hccn.conf
  container_path:
    description:
      - Path of the file in the containers. Programs of CANN only read the default path.
    type: path
    default: /etc/hccn.conf
  state:
    description:
      - V(present) writes the CDI spec, V(absent) removes it. Without this option the module only inspects containers and writes nothing.
      - The spec is C(hccn-cluster-hccn-conf.json) in O(cdi_dir). It applies to containers that are created with its device, see RV(cdi_device).
      - V(present) fails and writes nothing if O(path) is not a file on the host, since a container with the device could not start.
    type: str
    choices: [present, absent]
  cdi_dir:
    description:
      - Folder that the container runtimes search for CDI specs. If it does not exist, it is created with mode 0755.
      - By default the runtimes search C(/etc/cdi) and C(/var/run/cdi). The latter does not survive a reboot.
    type: path
    default: /etc/cdi
  fail_on:
    description:
      - With V(error) the module fails if there is a problem of severity error, with V(warning) if there is any problem. With V(never) problems never fail
        the module.
      - The spec is written and all results are returned even if the module fails because of O(fail_on).
    type: str
    choices: [error, warning, never]
    default: never
notes:
  - Root is required to inspect processes of other users. The problem C(processes_unseen) counts and names processes that could not be inspected.
  - A container keeps the file that was mounted when it started. If the file of the host is replaced by rename, as M(ansible.builtin.copy),
    M(ansible.builtin.template) and M(ansible.builtin.lineinfile) do, all running containers keep the old file. C(hccn_tool) and M(hccn.cluster.hccn_conf)
    edit the file in place, so containers see their changes at once.
  - C(docker -v) creates a folder on the host if the file does not exist there. The problems C(host_conf_no_file) and C(conf_unreadable) report this.
  - "CDI: podman reads specs without further settings (from 4.1), CRI-O and containerd 2.0 too, containerd 1.7 with C(enable_cdi), docker from 28.2, and from
    25 with C(features.cdi) in C(daemon.json)."
  - In Kubernetes, CDI devices are requested by device plugins and by drivers for dynamic resource allocation, not in manifests. Use RV(pod_volume) there.
  - Containers that run in virtual machines, as with Kata, are not visible in C(/proc) of the host and are not in the result.
  - Whether a process may read the file is determined by mode, owner and capabilities. Access control lists and SELinux are not considered.
  - Some containers renumber the NPUs, so that for example the NPU of the key C(address_4) is device 0 in the container. The file uses the ids of the host,
    and so does RV(containers[].devices), as far as the numbers of the device files show them.
  - Tested with real mount namespaces. Not tested with a container engine or on NPUs yet.
seealso:
  - module: hccn.cluster.hccn_conf
  - name: Specification of the Container Device Interface
    description: Contents of a spec, and where runtimes search for it.
    link: https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

EXAMPLES = r"""
- name: Find containers that do not see the hccn.conf of the host
  hccn.cluster.hccn_conf_mount:
  register: mounts

- name: Show how to solve the problems
  ansible.builtin.debug:
    msg: "{{ mounts.problems | map(attribute='hint') | unique }}"

- name: Fail unless all running containers see the file
  hccn.cluster.hccn_conf_mount:
    fail_on: error

- name: Let containers mount the file with --device hccn.cluster/conf=hccn-conf
  hccn.cluster.hccn_conf_mount:
    state: present

- name: Start a container with NPUs and the file
  ansible.builtin.command:
    argv: "{{ ['docker', 'run', '-d', '--name', 'prefill', '--device', '/dev/davinci0'] + mounts.docker_args + ['mindie'] }}"

- name: Add the file to the containers of a pod's manifest
  ansible.builtin.set_fact:
    pod_spec: "{{ pod_spec | combine({'volumes': mounts.pod_volume.volumes}, list_merge='append') }}"
    container: "{{ container | combine({'volumeMounts': mounts.pod_volume.volumeMounts}, list_merge='append') }}"
"""

RETURN = r"""
containers:
  description:
    - Running containers that have NPUs. A container with processes in several mount namespaces has one entry for each namespace.
  returned: always
  type: list
  elements: dict
  contains:
    container:
      description: Id of the container in its container engine, or its mount namespace, such as V(mnt:[4026532345]), if no engine is found.
      type: str
      sample: 5f0e2c1a7b9d4e3f8a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f
    runtime:
      description:
        - V(docker), V(containerd), V(crio), V(podman), V(isulad) or V(lxc), derived from the names of the control groups.
        - V(kubernetes) for a pod whose control groups only show the kubelet, V(unknown) for anything else with a separate mount namespace.
      type: str
      sample: containerd
    pod_uid:
      description: The C(metadata.uid) of the pod, V(null) outside Kubernetes.
      type: str
      sample: 0d3c2b1a-1111-4222-8333-444455556666
    pid:
      description: Process that was inspected, preferably one that holds an NPU open.
      type: int
      sample: 4711
    command:
      description: Name of this process.
      type: str
      sample: python3
    pids:
      description: Pids on the host of the processes in the container, those that hold an NPU open first. At most 100.
      type: list
      elements: int
      sample: [4711, 4690]
    processes:
      description: Number of processes in the container.
      type: int
      sample: 2
    devices:
      description: Physical ids of the NPUs that the container holds open or has in its C(/dev).
      type: list
      elements: int
      sample: [0, 1]
    state:
      description:
        - V(mapped) if the path is the file of the host, V(missing) if it does not exist.
        - V(copy) if it is another file with the same content, V(stale) if it is another file with different content, in most cases the file of the host
          before it was replaced.
        - V(unreadable) if it is not a regular file, if the user of the process may not read it, or if it could not be inspected.
      type: str
      sample: stale
    read_only:
      description: Whether the file is mounted read-only. V(null) if the path does not exist or could not be inspected.
      type: bool
      sample: true
    remedy:
      description: How to solve the problem, V(null) for V(mapped).
      type: str
      sample: recreate the container with -v /etc/hccn.conf:/etc/hccn.conf:ro
  sample: []
problems:
  description:
    - Problems, with C(rule), C(severity), C(where), C(message) and C(hint).
    - Rules of severity error are C(conf_not_mapped), C(conf_stale), C(conf_unreadable), C(host_conf_missing) and C(host_conf_no_file), of severity warning
      C(conf_copied) and C(processes_unseen).
  returned: always
  type: list
  elements: dict
  sample:
    - rule: conf_not_mapped
      severity: error
      where: container 5f0e2c1a7b9d pid 4711 (python3)
      message: "/etc/hccn.conf does not exist: ascend-docker-runtime mounts neither hccn.conf nor hccn_tool"
      hint: recreate the container with -v /etc/hccn.conf:/etc/hccn.conf:ro
docker_args:
  description: Arguments of C(docker run), C(podman run) and the like.
  returned: always
  type: list
  elements: str
  sample: ["-v", "/etc/hccn.conf:/etc/hccn.conf:ro"]
pod_volume:
  description:
    - Entries for C(volumes) of a pod and for C(volumeMounts) of each container in it.
    - They need no C(subPath), since the volume is the file itself. A volume of the folder C(/etc) with C(subPath=hccn.conf) mounts the same file
      and becomes stale in the same way if the file is replaced by rename.
  returned: always
  type: dict
  contains:
    volumes:
      description: One C(hostPath) volume of C(type=File), so that a pod does not start if the file does not exist on the host.
      type: list
      elements: dict
    volumeMounts:
      description: One read-only mount.
      type: list
      elements: dict
  sample:
    volumes:
      - name: hccn-conf
        hostPath: {path: /etc/hccn.conf, type: File}
    volumeMounts:
      - name: hccn-conf
        mountPath: /etc/hccn.conf
        readOnly: true
cdi_spec:
  description: Path of the CDI spec, even if the spec does not exist.
  returned: always
  type: str
  sample: /etc/cdi/hccn-cluster-hccn-conf.json
cdi_state:
  description: The CDI spec before this call, V(current) if it is the spec that O(state=present) writes, V(different) if it is another one, or V(absent).
  returned: always
  type: str
  sample: current
cdi_device:
  description: Value of C(--device) for containers that use the CDI spec.
  returned: always
  type: str
  sample: hccn.cluster/conf=hccn-conf
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device import mounts


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/hccn.conf"},
            "container_path": {"type": "path", "default": "/etc/hccn.conf"},
            "state": {"type": "str", "choices": ["present", "absent"]},
            "cdi_dir": {"type": "path", "default": "/etc/cdi"},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "never"},
        },
        supports_check_mode=True,
    )
    try:
        result = mounts.manage(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    if not module._diff:
        result.pop("diff")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
