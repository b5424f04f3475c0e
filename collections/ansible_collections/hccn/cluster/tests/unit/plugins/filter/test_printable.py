from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.filter.printable import FilterModule


def test_control_characters_are_replaced_and_the_length_is_limited() -> None:
    printable = FilterModule().filters()["printable"]
    assert printable("leaf-\x1b[2J7\u202e\n") == "leaf-?[2J7??"
    assert len(printable("word " * 1000)) <= 2000
