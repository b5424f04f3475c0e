#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action awx_objects, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: awx_objects
short_description: Create, change or remove the objects of the role awx
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Has no options. It takes the variables of the role P(hccn.cluster.awx#role), which calls it, and calls a module of C(awx.awx) or C(ansible.controller) for
    each object. The address of the server and the login are read from E(CONTROLLER_HOST), E(CONTROLLER_USERNAME) and E(CONTROLLER_PASSWORD), or
    E(CONTROLLER_OAUTH_TOKEN).
  - The surveys are made from the argument specs of the roles, and checked against the rules of AWX before anything is sent.
  - It ends with the first object that the server refuses. The objects before it stay, and the next call goes on.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - All of it does.
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - Only for the file of data.
  idempotent:
    support: full
seealso:
  - name: infra.aap_configuration
    description: The collection whose variables have the form of the data.
    link: https://github.com/redhat-cop/infra.aap_configuration
"""

EXAMPLES = r"""
- name: Create the jobs of this collection in AWX
  ansible.builtin.include_role:
    name: hccn.cluster.awx
  vars:
    awx_project_url: https://git.example/npu/hccn.git
    awx_credentials: [npu hosts]
"""

RETURN = r"""
objects:
  description: The objects that were created, changed or removed, each with the name of its module.
  returned: always
  type: list
  elements: str
  sample: [project hccn project, job_template hccn check_fabric]
"""
