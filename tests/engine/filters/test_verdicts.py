"""Tests of templates. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "s": "text",
    "l": [1, 2, 3],
    "el": [],
    "res": {"changed": True, "failed": False, "rc": 0, "stdout": "hi", "stdout_lines": ["hi"]},
    "res_skip": {"changed": False, "skipped": True},
    "res_fail": {"failed": True, "changed": False, "msg": "x"},
    "res_rc": {"rc": 1},
    "unr": {"unreachable": True},
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("res is changed", True),
        ("res is change", True),
        ("res is failed", False),
        ("res is succeeded", True),
        ("res is success", True),
        ("res is successful", True),
        ("res is skipped", False),
        ("res_skip is skip", True),
        ("res_skip is changed", False),
        ("res_fail is failed", True),
        ("res_fail is failure", True),
        ("res_rc is failed", False),
        ("unr is unreachable", True),
        ("unr is reachable", False),
        ("unr is failed", False),
        ("res is started", True),
        ("res is finished", True),
        ("{'ansible_job_id': '1', 'finished': 0} is finished", False),
        ("{'results': [{'changed': true}]} is changed", True),
        ("{'timedout': {'period': 1}} is timedout", True),
        ("{'timedout': false} is timedout", False),
        ("'abc' is match('b')", False),
        ("'abc' is match('a')", True),
        ("'abc' is search('b')", True),
        ("'abc' is search('B', ignorecase=true)", True),
        ("'abc' is regex('c$')", True),
        ("'abc' is regex('b', match_type='match')", False),
        ("5 is match('5')", True),
        ("'a\nb' is search('^b', multiline=true)", True),
        ("l is subset([1, 2, 3, 4])", True),
        ("l is superset([1])", True),
        ("[1] is issubset(l)", True),
        ("l is contains(9)", False),
        ("1 is in l", True),
        ("[true, false] is any", True),
        ("[true, 0] is all", False),
        ("el is all", True),
        ("el is any", False),
        ("'a' is truthy", True),
        ("'no' is truthy", True),
        ("'no' is truthy(convert_bool=true)", False),
        ("'' is falsy", True),
        ("'no' is falsy(convert_bool=true)", True),
        ("'/etc' is directory", True),
        ("'/etc/passwd' is file", True),
        ("'/etc/nope' is exists", False),
        ("'/a' is abs", True),
        ("'nan' | float is nan", True),
        ("'/' is mount", True),
        ("'/etc' is same_file('/etc/../etc')", True),
        ("'/nope' is link_exists", False),
        ("1 is ansible.builtin.version('1', '==')", True),
    ],
)
def test_verdicts_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "s is changed",
            "test 'changed': 'changed' asks about the result of a step; give the regi",
        ),
        (
            "l is match('[')",
            "not a valid regular expression: '[': unterminated character set at posit",
        ),
        (
            "'abc' is regex('b', match_type='x')",
            "test 'regex': match_type is search, match or fullmatch, not 'x'",
        ),
        ("5 is subset([1])", "test 'subset': 'int' object is not iterable"),
    ],
)
def test_verdicts_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
