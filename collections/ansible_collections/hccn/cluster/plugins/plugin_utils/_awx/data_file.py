# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The objects as a file of variables for the collection infra.aap_configuration."""

from __future__ import annotations

import json
from typing import Any

import yaml

from ...module_utils._core.errors import InputError
from .objects import Objects, Settings

SECRETS = ("credential_inputs", "notification_configuration")
HEADER = "---\n# Written by hccn.cluster.awx, for infra.aap_configuration.dispatch.\n"


class _Dumper(yaml.SafeDumper):
    """Without aliases, which are harder to read than a repetition."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """Templates are for AWX, so Ansible must not evaluate them when it loads the file."""
    return dumper.represent_scalar("!unsafe" if "{{" in text else "tag:yaml.org,2002:str", text)


_Dumper.add_representer(str, _text)


def text(made: Objects, settings: Settings) -> str:
    """Return the content of the file. Raise InputError if it would contain a secret."""
    secret = [f"awx_{name}" for name in SECRETS if name in settings]
    if secret:
        raise InputError(f"{' and '.join(secret)} would be written to the file with the secrets in them: create the objects in AWX, and name them in "
                         "awx_credentials and awx_notifications")
    types = [{**one, "injectors": _spaced(one["injectors"])} for one in made.get("controller_credential_types", [])]
    data = {**made, **({"controller_credential_types": types} if types else {})}
    untagged = json.loads(json.dumps(data))  # Ansible's own types of texts and lists have no representation in YAML
    return HEADER + yaml.dump(untagged, Dumper=_Dumper, sort_keys=False, width=160, allow_unicode=True)


def _spaced(value: Any) -> Any:
    """Return the injectors in the notation of infra.aap_configuration, which removes the spaces between the braces of a template."""
    if isinstance(value, dict):
        return {key: _spaced(inner) for key, inner in value.items()}
    return value.replace("{{", "{  {") if isinstance(value, str) else value
