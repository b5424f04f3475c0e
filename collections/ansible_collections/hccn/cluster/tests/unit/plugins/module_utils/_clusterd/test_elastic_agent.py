"""Leftovers of Elastic-Agent in artificial folders of packages."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import elastic_agent
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError

RUN = "import os\n# import mindx_elastic.api\n    import mindx_elastic.api\nfrom mindx_elasticity import x\n"


def put(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def look(*folders, **more):
    return elastic_agent.inspect(dict({"paths": [str(folder) for folder in folders], "fail_on": "never"}, **more))


def test_no_leftovers(tmp_path):
    put(tmp_path, "torch/distributed/run.py", "import os\n")
    put(tmp_path, "mindx_elastic_other-1.dist-info/METADATA", "Version: 1\n")
    assert look(tmp_path) == {"packages": [], "imports": [], "problems": []}


@pytest.mark.parametrize("path, version", [
    ("mindx_elastic-7.1.dist-info/METADATA", "7.1"), ("mindx-elastic-0.0.1-py3.10.egg-info/PKG-INFO", "0.0.1"), ("mindx_elastic-2.egg-info", "2"),
    ("mindx_elastic/__init__.py", None)])
def test_version_is_read_without_an_import(tmp_path, path, version):
    put(tmp_path, path, "Metadata-Version: 2.1\nName: x\nVersion: %s\nraise SystemExit\n" % version)
    found = look(tmp_path)
    assert [(one["version"], one["retired"]) for one in found["packages"]] == [(version, True)]
    assert [(problem["rule"], problem["severity"]) for problem in found["problems"]] == [("elastic_agent_retired", "warning")]
    assert "mindx_elastic" not in sys.modules


@pytest.mark.parametrize("file, line, version", [
    ("__init__.py", "__version__ = '7.0.RC1'", "7.0.RC1"), ("__init__.py", '__version__: str = "0.0.1+b.2"  # x', "0.0.1+b.2"),
    ("version.py", "__version__ = '5.0'", "5.0"), ("_version.py", "__version__='5.1'", "5.1"), ("__init__.py", "from .api import __version__", None),
    ("__init__.py", "__version__ = version('mindx_elastic')", None), ("__init__.py", "x = 1  # __version__ = '1'", None),
    ("__init__.py", "__version__ = '%s'" % ("9" * 65), None), ("__init__.py", "__version__ = '{{ 7 }}'", None), ("api.py", "__version__ = '1'", None)])
def test_version_is_read_from_the_source_without_metadata(tmp_path, file, line, version):
    put(tmp_path, "mindx_elastic/__init__.py", "raise SystemExit\n")
    put(tmp_path, "mindx_elastic/" + file, "import os\n%s\nraise SystemExit\n" % line)
    found = look(tmp_path)
    assert found["packages"] == [{"path": str(tmp_path / "mindx_elastic"), "version": version, "retired": True}]
    assert found["problems"][0]["message"].startswith("Elastic-Agent %s is installed" % (version or "of an unknown version"))
    put(tmp_path, "mindx_elastic-7.1.dist-info/RECORD", "x")
    assert look(tmp_path)["packages"] == [{"path": str(tmp_path / "mindx_elastic-7.1.dist-info"), "version": version, "retired": True}]
    put(tmp_path, "mindx_elastic-7.1.dist-info/METADATA", "Version: 7.1\n")
    assert look(tmp_path)["packages"][0]["version"] == "7.1"
    assert "mindx_elastic" not in sys.modules


def test_import_without_the_package_is_an_error(tmp_path):
    put(tmp_path, "torch/distributed/run.py", RUN)
    found = look(tmp_path, fail_on="error")
    where = str(tmp_path / "torch/distributed/run.py")
    assert found["imports"] == [{"path": where, "line": 3, "text": "import mindx_elastic.api"}]
    assert (found["failed"], found["msg"]) == (True, "torch imports Elastic-Agent: import mindx_elastic.api, which is not installed, so torchrun fails "
                                               "(remove this line, or reinstall torch)")
    put(tmp_path, "mindx_elastic-7.1.dist-info/METADATA", "Version: 7.1\n")
    found = look(tmp_path, tmp_path, fail_on="error")
    assert "failed" not in found
    assert [(problem["rule"], problem["severity"], problem["where"]) for problem in found["problems"]] == [
        ("elastic_agent_retired", "warning", str(tmp_path / "mindx_elastic-7.1.dist-info")), ("elastic_agent_import", "warning", where + " line 3")]


def test_paths(tmp_path):
    with pytest.raises(InputError, match="absent is not a folder"):
        look(tmp_path / "absent")
    assert elastic_agent.inspect({"paths": None, "fail_on": "never"})["problems"] == []
