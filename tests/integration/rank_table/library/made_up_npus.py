#!/usr/bin/python
"""Return the result or the failure of hccn.cluster.device_info that the test chooses."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    module = AnsibleModule(argument_spec={"devices": {"type": "list", "elements": "dict"}, "msg": {"type": "str"}}, supports_check_mode=True)
    if module.params["msg"]:
        module.fail_json(msg=module.params["msg"])
    module.exit_json(changed=False, product="A2", dialect="910", side_effects=[], devices=module.params["devices"])


if __name__ == "__main__":
    main()
