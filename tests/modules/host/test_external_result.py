"""What a module of Ansible's kind printed, as the result of a step."""

from __future__ import annotations

import json

import pytest

from playrunner.hostside.external_result import result_of

AFTER = "Module invocation had junk after the JSON data: "


@pytest.mark.parametrize(
    ("out", "warnings"),
    [
        ('{"changed": true}', None),
        ('a login shell\n{"changed": true}\n\n', None),
        ('{"changed": true}\nleft over\n', [AFTER + "left over"]),
        ('{"changed": true, "warnings": ["own"]}\na\nb\n', ["own", AFTER + "a\nb"]),
    ],
)
def test_what_a_module_prints_after_its_result_is_a_warning(
    out: str, warnings: list[str] | None
) -> None:
    result = result_of(0, out, "")
    assert result["changed"] and result.get("warnings") == warnings


def test_internal_keys_within_values_are_left_out_and_those_of_the_result_stay() -> None:
    printed = {"args": {"_ansible_debug": False, "own": 1}, "_ansible_facts_cacheable": True}
    result = result_of(0, json.dumps(printed), "")
    assert result == {"args": {"own": 1}, "_ansible_facts_cacheable": True, "changed": False}
