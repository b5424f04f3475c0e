# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find leftovers of Elastic-Agent (mindx_elastic), which TaskD replaces.

Only files are read, because the interfaces of Elastic-Agent are internal and importing it patches torch. A line in torch/distributed/run.py loads it.
Source: the document of Elastic-Agent; Ascend/mind-cluster component/taskd.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from .._core.errors import InputError
from .._core.problems import Problem, as_dicts, fails

PACKAGE = "mindx_elastic"
TORCH_RUN = os.path.join("torch", "distributed", "run.py")
_METADATA = re.compile(r"^mindx[-_.]elastic[-.].*\.(?:dist-info|egg-info)$", re.IGNORECASE)
_VERSION = re.compile(r"^Version:\s*(\S+)", re.MULTILINE)
_ASSIGNED = re.compile(r"""^__version__\s*(?::\s*str\s*)?=\s*["']([\w.!+-]{1,64})["']""", re.MULTILINE)
_SOURCES = ("__init__.py", "version.py", "_version.py", "__version__.py")
"""Files of the package that may assign ``__version__``, the documented interface for the version."""
_IMPORT = re.compile(r"^\s*(?:import|from)\s+mindx_elastic\b")
_LIMIT = 1024 * 1024


class InstalledPackage(NamedTuple):
    """``version`` is None if neither metadata nor a literal ``__version__`` has it."""

    path: str
    version: Optional[str]


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(_LIMIT)
    except OSError:
        return ""


def _version(metadata: str) -> Optional[str]:
    """Return the version from the metadata of a wheel (METADATA) or an egg (PKG-INFO, as a folder or a file)."""
    for path in (os.path.join(metadata, "METADATA"), os.path.join(metadata, "PKG-INFO"), metadata):
        found = _VERSION.search(_text(path))
        if found:
            return found.group(1)
    return None


def _assigned_version(package: str) -> Optional[str]:
    """Return the literal that the package assigns to ``__version__``, without importing it."""
    for name in _SOURCES:
        found = _ASSIGNED.search(_text(os.path.join(package, name)))
        if found:
            return found.group(1)
    return None


def installed(folder: str) -> Optional[InstalledPackage]:
    """Return the package in a folder of packages; None if it is not installed there."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    package = os.path.join(folder, PACKAGE)
    for name in names:
        if _METADATA.match(name):
            return InstalledPackage(os.path.join(folder, name), _version(os.path.join(folder, name)) or _assigned_version(package))
    return InstalledPackage(package, _assigned_version(package)) if PACKAGE in names else None


def imports(folder: str) -> Iterator[Dict[str, Any]]:
    """Yield ``path``, ``line`` and ``text`` of the lines of torch's run.py that import Elastic-Agent."""
    path = os.path.join(folder, TORCH_RUN)
    for number, line in enumerate(_text(path).splitlines(), 1):
        if _IMPORT.match(line):
            yield {"path": path, "line": number, "text": line.strip()}


def _problems(packages: Sequence[InstalledPackage], lines: Sequence[Dict[str, Any]]) -> Iterator[Problem]:
    for package in packages:
        yield Problem("elastic_agent_retired", "warning", "Elastic-Agent %s is installed, but it is retired and replaced by TaskD" % (
            package.version or "of an unknown version"), where=package.path, hint="migrate the training image to TaskD, then remove the package")
    for line in lines:
        installed_too = bool(packages)
        yield Problem("elastic_agent_import", "warning" if installed_too else "error", "torch imports Elastic-Agent: %s%s" % (
            line["text"], "" if installed_too else ", which is not installed, so torchrun fails"), where="%s line %d" % (line["path"], line["line"]),
            hint="remove this line, or reinstall torch")


def inspect(params: Dict[str, Any]) -> Dict[str, Any]:
    """Return the values of elastic_agent_info. Raises InputError."""
    folders: List[str] = params["paths"] or [path for path in sys.path if path and os.path.isdir(path)]
    absent = [path for path in params["paths"] or () if not os.path.isdir(path)]
    if absent:
        raise InputError("paths: %s is not a folder" % absent[0], "name folders such as /usr/lib/python3/dist-packages")
    folders = list(dict.fromkeys(os.path.realpath(path) for path in folders))
    packages = [found for found in map(installed, folders) if found]
    lines = [line for folder in folders for line in imports(folder)]
    problems = list(_problems(packages, lines))
    result: Dict[str, Any] = {"packages": [{"path": one.path, "version": one.version, "retired": True} for one in packages], "imports": lines,
                              "problems": as_dicts(problems)}
    if fails(problems, params["fail_on"]):
        result.update(failed=True, msg="%s (%s)" % (problems[0].message, problems[0].hint))
    return result
