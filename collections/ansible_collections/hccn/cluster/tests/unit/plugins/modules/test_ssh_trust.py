"""The module's options are as documented."""

from __future__ import annotations

import yaml

from ansible_collections.hccn.cluster.plugins.module_utils._perf import ssh_trust_call
from ansible_collections.hccn.cluster.plugins.modules import ssh_trust


def test_argument_spec_is_the_documentation() -> None:
    documented = {
        name: {key: option[key] for key in ("type", "elements", "default", "choices", "required") if key in option}
        for name, option in yaml.safe_load(ssh_trust.DOCUMENTATION)["options"].items()
    }
    assert documented == {name: {key: value for key, value in option.items() if key != "no_log"} for name, option in ssh_trust_call.argument_spec().items()}


def test_examples_use_options_that_are_there() -> None:
    spec = ssh_trust_call.argument_spec()
    for task in yaml.safe_load(ssh_trust.EXAMPLES):
        assert set(task["hccn.cluster.ssh_trust"]) <= set(spec)
