"""Filters with regular expressions. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "f": 1.5,
    "users": [
        {"name": "ann", "uid": 1, "groups": ["x", "y"], "on": True},
        {"name": "bob", "uid": 2, "groups": ["z"], "on": False},
    ],
    "bad": "{{ nope_x }}",
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'foobar' | regex_search('o+')", "oo"),
        ("'foobar' | regex_search('z')", None),
        (r"'foobar' | regex_search('(f)(o)', '\1', '\2')", ["f", "o"]),
        (r"'foobar' | regex_search('(?P<x>o+)', '\g<x>')", ["oo"]),
        (r"'foobar' | regex_search('(z)', '\1')", None),
        ("'FOO' | regex_search('foo', ignorecase=true)", "FOO"),
        (r"'foo bar' | regex_replace('o(.)', '[\1]')", "f[o] bar"),
        ("'foo' | regex_replace('O', 'x', ignorecase=true)", "fxx"),
        ("'a\nb' | regex_replace('^', '>', multiline=true)", ">a\n>b"),
        ("'aaa' | regex_replace('a', 'b', count=2)", "bba"),
        ("'abc' | regex_replace('b')", "ac"),
        ("5 | regex_replace('5', '6')", "6"),
        ("'a1b2' | regex_findall('[0-9]')", ["1", "2"]),
        ("'a1b2' | regex_findall('([a-z])([0-9])')", [["a", "1"], ["b", "2"]]),
        ("'a\nb' | regex_findall('^.', multiline=true)", ["a", "b"]),
        ("'a.b*' | regex_escape", r"a\.b\*"),
        ("'a.b*' | regex_escape('posix_basic')", r"a\.b\*"),
        (
            r"users | map(attribute='name') | map('regex_replace', '^(.*)$', 'u\1')",
            ["uann", "ubob"],
        ),
    ],
)
def test_regex_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "'x' | regex_replace('(')",
            "not a valid regular expression: '(': missing ), unterminated subpattern ",
        ),
        (
            r"'x' | regex_replace('x', '\7')",
            r"filter 'regex_replace': in the replacement '\\7': invalid group referenc",
        ),
        (
            "'aaa' | regex_replace('x', 'b', mandatory_count=1)",
            "filter 'regex_replace': 'x' should match 1 times, but matches 0 times in",
        ),
        (
            "'foobar' | regex_search('f(o)', 'bad')",
            r"filter 'regex_search': a group is written '\\1' or '\\g<name>', not 'bad",
        ),
        (
            "'x' | regex_escape('zz')",
            "filter 'regex_escape': re_type is 'python' or 'posix_basic', not 'zz'",
        ),
        (
            "'x' is match('(')",
            "not a valid regular expression: '(': missing ), unterminated subpattern ",
        ),
    ],
)
def test_regex_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
