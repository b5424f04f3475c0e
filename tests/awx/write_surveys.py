# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the committed surveys anew: ``make surveys``."""

from __future__ import annotations

import json

import yaml

from tests.awx.test_survey import ROLES, generator
from tests.support import COLLECTION, ROOT

for role in ROLES:
    specs = yaml.safe_load((COLLECTION / f"roles/{role}/meta/argument_specs.yml").read_text())
    target = ROOT / f"roles/awx/files/surveys/{role}.json"
    target.write_text(json.dumps(generator()(specs), indent=2) + "\n")
    print(target.relative_to(ROOT))
