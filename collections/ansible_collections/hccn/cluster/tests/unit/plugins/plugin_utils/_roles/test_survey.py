from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import survey

DEVICES = {"type": "list", "elements": "str", "default": ["all"]}
PAIRS = {"type": "list", "elements": "raw", "default": []}
SIZES = {"type": "dict", "default": {}}
GROUPS = {"type": "list", "elements": "str", "choices": ["all", "rails"]}


@pytest.mark.parametrize(("answer", "option", "value"), [
    ("0-3\n\n 6 \r\n", DEVICES, ["0-3", "6"]), ("", DEVICES, ["all"]), (" \n", DEVICES, ["all"]), (None, DEVICES, ["all"]), (["1"], DEVICES, ["1"]),
    ("- [n1, n2]\n- {source: {host: n1, device: 0}}", PAIRS, [["n1", "n2"], {"source": {"host": "n1", "device": 0}}]), ("", PAIRS, []),
    ("begin: 8K\nend: 1G", SIZES, {"begin": "8K", "end": "1G"}), ("", SIZES, {}), ("", {"type": "dict"}, {}), ("", {"type": "list", "elements": "dict"}, []),
])
def test_an_answer_has_the_type_of_its_option(answer, option, value):
    assert survey.value_of("x", answer, option) == value


@pytest.mark.parametrize(("answer", "option", "message"), [
    ("- [n1", PAIRS, "the answer for x is not valid YAML in line 1"),
    ("a: 1\nb: [", SIZES, "the answer for x is not valid YAML in line 2"),
    ("8K to 64M", SIZES, "the answer for x is '8K to 64M', but must be YAML of a dictionary"),
    ("{a: 1}", PAIRS, "the answer for x is '{a: 1}', but must be YAML of a list"),
    ("!!python/object/apply:os.system [id]", PAIRS, "the answer for x is not valid YAML in line 1"),
])
def test_a_wrong_answer_is_refused(answer, option, message):
    with pytest.raises(InputError) as error:
        survey.value_of("x", answer, option)
    assert error.value.message == message


def test_only_answers_of_lists_and_dictionaries_are_checked():
    variables = {"survey_sizes": "x", "survey_pairs": "- [n1, n2]", "survey_other": "[", "survey_groups": "?", "sizes": "x", 7: "y"}
    found = survey.problems(variables, {"sizes": SIZES, "pairs": PAIRS, "groups": GROUPS})
    assert [(one.cause, one.message, one.hosts) for one in found] == [
        ("invalid_variable", "the answer for sizes is 'x', but must be YAML of a dictionary", ())]
