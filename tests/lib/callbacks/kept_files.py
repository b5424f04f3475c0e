"""Keep what ansible-core builds anew in each run, for later runs of ansible-playbook in this checkout: payloads of modules and the bytecode of plugins.

Without it, every run builds the payload of each of its modules again, which takes a sixth of its time in the tests, and compiles the plugins of the collection,
which takes another. Payloads of modules that a test brings, and of a collection that it has installed elsewhere, are not kept.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import sitecustomize
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__
from ansible.utils.collection_loader import _collection_finder

DOCUMENTATION = """
name: kept_files
type: aggregate
short_description: Keep payloads of modules and bytecode of plugins for later runs
description: Loaded by tests.lib.playbook.
"""
ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / ".cache/payloads"
COLLECTION = ROOT / "collections/ansible_collections/hccn/cluster"
AWX = ROOT / ".cache/awx/.fetched"
"""Made anew when another release of awx.awx is fetched."""
NAMES = ("ansible_collections.hccn.cluster.plugins.modules.*-ZIP_DEFLATED*", "ansible.modules.*-ZIP_DEFLATED*",
         "ansible_collections.awx.awx.plugins.modules.*-ZIP_DEFLATED*")
PARTIAL = (".lock", "-part")


def folder() -> Path:
    """Return the folder of the payloads of these very sources and this ansible-core, without the payloads of any others."""
    # Runs at the same time may have other releases of ansible-core.
    mine = KEPT / __version__
    files = [path for kind in ("modules", "module_utils") for path in sorted((COLLECTION / "plugins" / kind).rglob("*.py"))] + [AWX]
    state = hashlib.sha256(repr([(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files if path.exists()]).encode()).hexdigest()
    here = mine / state
    if not here.is_dir():
        shutil.rmtree(mine, ignore_errors=True)
        here.mkdir(parents=True, exist_ok=True)
    return here


def compiled(source: bytes, filename: str, **settings: Any) -> Any:
    """Take the place of compile() in the loader of collections, which has no cache of bytecode."""
    return sitecustomize.kept(source, lambda: compile(source, filename, **settings))


if hasattr(sitecustomize, "kept"):
    _collection_finder.compile = compiled


class CallbackModule(CallbackBase):  # type: ignore[misc] # ansible-core has no types
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kept_files"

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._own = Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache")
        self._kept = folder() if str(COLLECTION) in import_module("ansible_collections.hccn.cluster").__path__ else None
        if self._kept is not None:
            link_all(self._kept, self._own)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if self._kept is not None:
            link_all(self._own, self._kept)


def link_all(source: Path, target: Path) -> None:
    """Link the payloads of one folder into another. Runs at the same time do so too, and one with other sources may remove the folder."""
    with suppress(OSError):
        target.mkdir(exist_ok=True)
        for payload in itertools.chain.from_iterable(map(source.glob, NAMES)):
            if not payload.name.endswith(PARTIAL):
                with suppress(FileExistsError):
                    os.link(payload, target / payload.name)
