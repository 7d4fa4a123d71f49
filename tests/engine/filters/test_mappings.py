"""Filters on mappings. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "none_": None,
    "l": [1, 2, 3],
    "d": {"a": 1, "b": {"c": 2}, "keys": "k", "items": 9},
    "d2": {"b": {"x": 3}, "z": [1]},
    "users": [
        {"name": "ann", "uid": 1, "groups": ["x", "y"], "on": True},
        {"name": "bob", "uid": 2, "groups": ["z"], "on": False},
    ],
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("d | combine(d2)", {"a": 1, "b": {"x": 3}, "keys": "k", "items": 9, "z": [1]}),
        (
            "d | combine(d2, recursive=true)",
            {"a": 1, "b": {"c": 2, "x": 3}, "keys": "k", "items": 9, "z": [1]},
        ),
        ("{'a': [1, 2]} | combine({'a': [2, 3]}, list_merge='append')", {"a": [1, 2, 2, 3]}),
        ("{'a': [1, 2]} | combine({'a': [2, 3]}, list_merge='append_rp')", {"a": [1, 2, 3]}),
        ("{'a': [1, 2]} | combine({'a': [2, 3]}, list_merge='prepend')", {"a": [2, 3, 1, 2]}),
        ("{'a': [1, 2]} | combine({'a': [2, 3]}, list_merge='prepend_rp')", {"a": [2, 3, 1]}),
        ("{'a': [1, 2]} | combine({'a': [2, 3]}, list_merge='keep')", {"a": [1, 2]}),
        (
            "{'a': {'x': [1]}} | combine({'a': {'x': [2]}}, list_merge='append', recursive=true)",
            {"a": {"x": [1, 2]}},
        ),
        ("{'a': {'x': [1]}} | combine({'a': {'x': [2]}}, list_merge='append')", {"a": {"x": [2]}}),
        ("d | combine({'a': 5}, {'a': 6})", {"a": 6, "b": {"c": 2}, "keys": "k", "items": 9}),
        ("[d, d2] | combine", {"a": 1, "b": {"x": 3}, "keys": "k", "items": 9, "z": [1]}),
        ("{} | combine([{'a': 1}, {'b': 2}])", {"a": 1, "b": 2}),
        ("none_ | combine({'a': 1})", {"a": 1}),
        ("{'a': {'b': 1}} | combine({'a': none_}, recursive=true)", {"a": None}),
        ("d2 | dict2items", [{"key": "b", "value": {"x": 3}}, {"key": "z", "value": [1]}]),
        (
            "d2 | dict2items(key_name='k', value_name='v')",
            [{"k": "b", "v": {"x": 3}}, {"k": "z", "v": [1]}],
        ),
        ("users | items2dict(key_name='name', value_name='uid')", {"ann": 1, "bob": 2}),
        ("d | dict2items | items2dict == d", True),
        ("'b' | extract(d, 'c')", 2),
        ("1 | extract(l)", 2),
        ("[0, 2] | map('extract', l)", [1, 3]),
        ("['b'] | map('extract', d, ['c'])", [2]),
        ("users | rekey_on_member('name') | list", ["ann", "bob"]),
    ],
)
def test_mappings_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("d | combine('x')", "filter 'combine': needs mappings, but got 'x'"),
        (
            "d | combine(d2, list_merge='zzz')",
            "filter 'combine': list_merge is one of replace, keep, append, prepend, a",
        ),
        (
            "d | combine(d2, bogus=1)",
            "filter 'combine': combine() got an unexpected keyword argument 'bogus'",
        ),
        ("l | dict2items", "filter 'dict2items': needs a mapping, not a list"),
        (
            "users | items2dict",
            "filter 'items2dict': each mapping needs the keys 'key' and 'value', whic",
        ),
        ("[1] | items2dict", "filter 'items2dict': needs a list of mappings, but it holds 1"),
        (
            "'nope' | extract(d)",
            "object of type 'dict' has no attribute 'nope'; it has a, b, keys, items",
        ),
        (
            "[{'a': 1}, {'a': 1}] | rekey_on_member('a')",
            "filter 'rekey_on_member': two mappings have 1 under 'a'",
        ),
    ],
)
def test_mappings_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
