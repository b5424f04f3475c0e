#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of hccn_conf_mount; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_conf_mount
short_description: Tell whether containers see the hccn.conf of their host, and write the mapping
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - In a container, LLM-DataDist without C(OPTION_LOCAL_COMM_RES) reads C(/etc/hccn.conf), which must be that of the host.
    C(ascend-docker-runtime) mounts neither C(hccn.conf) nor C(hccn_tool), so the file is mapped by whoever starts the container.
  - This module looks at every running container that has NPUs and tells what it sees at that path. A container has NPUs when one of its processes holds
    C(/dev/davinci<N>) open or when such device files are in its C(/dev). They must be the same character devices as those of the host.
  - It reads C(/proc) only. No container engine is asked, no namespace is entered, no container is touched.
  - With O(state) it also writes or removes the mapping as a spec of the Container Device Interface (CDI). The arguments for C(docker) and the volume for
    Kubernetes are returned in any case.
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
      - The file on the host.
    type: path
    default: /etc/hccn.conf
  container_path:
    description:
      - Where the containers have it. Programs of CANN look at the default only.
    type: path
    default: /etc/hccn.conf
  state:
    description:
      - V(present) writes the CDI spec, V(absent) removes it. Without this option nothing is written, the module only looks.
      - The spec is C(hccn-cluster-hccn-conf.json) in O(cdi_dir). It takes effect for containers that are created with its device, see RV(cdi_device).
    type: str
    choices: [present, absent]
  cdi_dir:
    description:
      - The folder that the container runtimes search for CDI specs. It is made, with mode 0755, where it does not exist.
      - The runtimes look at C(/etc/cdi) and at C(/var/run/cdi) unless they were configured otherwise. The latter does not survive a boot.
    type: path
    default: /etc/cdi
  fail_on:
    description:
      - V(error) fails when there is a problem of severity error, V(warning) when there is any problem, V(never) never for a problem's sake.
      - The spec is written before that is judged, and everything is returned in any case.
    type: str
    choices: [error, warning, never]
    default: never
notes:
  - Needs root to look into the processes of others. What could not be looked at is counted and named in one problem, C(processes_unseen).
  - A file that is mounted into a container stays the one that it was when the container started. Whoever replaces the host's file by rename, as
    M(ansible.builtin.copy), M(ansible.builtin.template) and M(ansible.builtin.lineinfile) do, leaves all running containers with the old one.
    C(hccn_tool) and M(hccn.cluster.hccn_conf) edit the file in place, so containers see their changes at once.
  - C(docker -v) makes a folder on the host when the file does not exist there. The problems C(host_conf_no_file) and C(conf_unreadable) name that.
  - "CDI: podman reads specs without further settings (from 4.1), CRI-O and containerd 2.0 too, containerd 1.7 with C(enable_cdi), docker from 28.2, and from
    25 with C(features.cdi) in C(daemon.json)."
  - In Kubernetes it is device plugins and drivers for dynamic resource allocation that name CDI devices, not manifests. Use RV(pod_volume) there.
  - Containers in virtual machines of their own, as with Kata, do not show in C(/proc) of the host and are not in the result.
  - The right to read is judged by mode, owner and capabilities. Access control lists and SELinux are not asked.
  - In some containers the NPUs are numbered anew, so that the NPU with the key C(address_4) is device 0 there. The file keeps the ids of the host, and
    RV(containers[].devices) has them too as far as the numbers of the device files tell.
  - Proven with real mount namespaces. Not run with a container engine or on NPUs yet.
seealso:
  - module: hccn.cluster.hccn_conf
  - name: Specification of the Container Device Interface
    description: What a spec holds and where runtimes look for it.
    link: https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

EXAMPLES = r"""
- name: Which containers do not see the host's hccn.conf
  hccn.cluster.hccn_conf_mount:
  register: mounts

- name: Show what to do
  ansible.builtin.debug:
    msg: "{{ mounts.problems | map(attribute='hint') | unique }}"

- name: Stop here unless all running containers see the file
  hccn.cluster.hccn_conf_mount:
    fail_on: error

- name: Let containers ask for the file by --device hccn.cluster/conf=hccn-conf
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
    - The running containers that have NPUs. A container with processes in several mount namespaces stands there once for each.
  returned: always
  type: list
  elements: dict
  contains:
    container:
      description: The id that the container engine gave. The mount namespace, such as V(mnt:[4026532345]), where no engine shows.
      type: str
      sample: 5f0e2c1a7b9d4e3f8a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f
    runtime:
      description:
        - V(docker), V(containerd), V(crio), V(podman), V(isulad) or V(lxc), by the names of the control groups.
        - V(kubernetes) for a pod where only the kubelet shows, V(unknown) for anything else in a mount namespace of its own.
      type: str
      sample: containerd
    pod_uid:
      description: The pod's C(metadata.uid), V(null) outside Kubernetes.
      type: str
      sample: 0d3c2b1a-1111-4222-8333-444455556666
    pid:
      description: The process by which the rest was told, one that holds an NPU if there is any.
      type: int
      sample: 4711
    command:
      description: Its name.
      type: str
      sample: python3
    pids:
      description: Processes of the container, on the host, those that hold an NPU first. At most 100.
      type: list
      elements: int
      sample: [4711, 4690]
    processes:
      description: How many there are.
      type: int
      sample: 2
    devices:
      description: Physical ids of the NPUs that it holds or has in its C(/dev).
      type: list
      elements: int
      sample: [0, 1]
    state:
      description:
        - V(mapped) it is the host's file, V(missing) there is nothing.
        - V(copy) it is another file with the same content, V(stale) another one with other content, most often the host's file before it was replaced.
        - V(unreadable) it is no regular file, or the user of the process has no right to read it, or it could not be looked at.
      type: str
      sample: stale
    read_only:
      description: Whether it is mounted read-only there. V(null) where there is nothing to tell about.
      type: bool
      sample: true
    remedy:
      description: What to do, V(null) for V(mapped).
      type: str
      sample: create the container anew with -v /etc/hccn.conf:/etc/hccn.conf:ro
  sample: []
problems:
  description:
    - What is wrong, with C(rule), C(severity), C(where), C(message) and C(hint).
    - Rules of severity error are C(conf_not_mapped), C(conf_stale), C(conf_unreadable), C(host_conf_missing) and C(host_conf_no_file), of severity warning
      C(conf_copied) and C(processes_unseen).
  returned: always
  type: list
  elements: dict
  sample:
    - rule: conf_not_mapped
      severity: error
      where: container 5f0e2c1a7b9d pid 4711 (python3)
      message: "/etc/hccn.conf is not there: ascend-docker-runtime mounts neither hccn.conf nor hccn_tool"
      hint: create the container anew with -v /etc/hccn.conf:/etc/hccn.conf:ro
docker_args:
  description: Arguments of C(docker run), C(podman run) and the like.
  returned: always
  type: list
  elements: str
  sample: ["-v", "/etc/hccn.conf:/etc/hccn.conf:ro"]
pod_volume:
  description:
    - The entries for C(volumes) of a pod and for C(volumeMounts) of each container in it.
    - They need no C(subPath), since the volume is the file itself. A volume of the folder C(/etc) with C(subPath=hccn.conf) gives the same file
      and goes stale by a rename just as well.
  returned: always
  type: dict
  contains:
    volumes:
      description: One C(hostPath) volume of C(type=File), so that a pod does not start where the host has no file.
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
  description: Path of the CDI spec, whether it is there or not.
  returned: always
  type: str
  sample: /etc/cdi/hccn-cluster-hccn-conf.json
cdi_device:
  description: What a container asks for by C(--device) where the spec is there.
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
