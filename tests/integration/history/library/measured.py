#!/usr/bin/python
"""A module for the tests of the callback. It returns its measurements through a connection."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule({"measurements": {"type": "list", "elements": "dict"}, "key": {"type": "str", "no_log": True}}, supports_check_mode=True)
    module.exit_json(measurements=[dict(record, tool={"name": module.params["key"] or "x"}) for record in module.params["measurements"]])


if __name__ == "__main__":
    main()
