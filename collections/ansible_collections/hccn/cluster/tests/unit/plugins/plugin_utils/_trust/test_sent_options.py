from __future__ import annotations

import pytest

from ansible.errors import AnsibleActionFail
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import sent_options


def test_facts_of_ansible_are_not_options():
    facts = {"hostname": "n1", "distribution": "Debian", "discovered_interpreter_python": "/usr/bin/python3", "env": {"report_path": "/x"}, "facter_os": {}}
    assert sent_options.names_of(facts) == []
    assert sent_options.names_of(None) == []
    sent_options.refuse({"ansible_facts": facts, "inventory_hostname": "n1", "report_path": "/srv/page.html"})
    sent_options.refuse({})


def test_options_are_refused_by_name():
    facts = {"report_path": "/etc/cron.d/x", "quarantine_command": ["sh"], "inventory_dir": "/", "npu_smi": "/x", "__restore_path": "/x", "hostname": "n1"}
    with pytest.raises(AnsibleActionFail) as caught:
        sent_options.refuse({"ansible_facts": facts, "inventory_hostname": "n1"})
    assert caught.value.message == (
        "n1 sent __restore_path, inventory_dir, npu_smi ... as facts (ansible_facts), which would override options of hccn.cluster; these are read only from "
        "the inventory. Exclude n1 with hccn_hosts and find out what set the facts. If a fact cache is enabled, clear it with --flush-cache.")
