"""Print the skips and exceptions that are registered in tests/exceptions.yml, each with its reason."""

from __future__ import annotations

from pathlib import Path

import yaml

register = yaml.safe_load((Path(__file__).resolve().parents[1] / "exceptions.yml").read_text())
print(f"{len(register['skips'])} skips and {len(register['exceptions'])} exceptions are registered:")
for entry in [*register["skips"], *register["exceptions"]]:
    print(f"  {entry['name']} (issue {entry['issue']}): {entry['reason']}")
