"""Filters on lists. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "l": [1, 2, 3],
    "l2": [3, 4, 5],
    "ls": ["b", "a", "b", "C"],
    "d": {"a": 1, "b": {"c": 2}, "keys": "k", "items": 9},
    "users": [
        {"name": "ann", "uid": 1, "groups": ["x", "y"], "on": True},
        {"name": "bob", "uid": 2, "groups": ["z"], "on": False},
    ],
    "nested": [1, [2, [3, [4, None]]]],
    "mixed": [1, "a", None, True],
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("nested | flatten", [1, 2, 3, 4]),
        ("nested | flatten(levels=1)", [1, 2, [3, [4, None]]]),
        ("nested | flatten(skip_nulls=false)", [1, 2, 3, 4, None]),
        ("[1, none, 'None', 'null', [none]] | flatten", [1]),
        ("'x' | flatten", ["x"]),
        ("users | subelements('groups') | map('last')", ["x", "y", "z"]),
        ("users | subelements('nope', skip_missing=true)", []),
        ("[{'a': {'b': [1]}}] | subelements('a.b')", [[{"a": {"b": [1]}}, 1]]),
        (
            "{'u1': {'k': [1]}, 'u2': {'k': [2]}} | subelements('k')",
            [[{"k": [1]}, 1], [{"k": [2]}, 2]],
        ),
        ("l | zip(l2)", [[1, 3], [2, 4], [3, 5]]),
        ("l | zip(['a', 'b'], ['c', 'd', 'e'])", [[1, "a", "c"], [2, "b", "d"]]),
        ("l | zip_longest([1], fillvalue=0)", [[1, 1], [2, 0], [3, 0]]),
        ("l | product(['a'])", [[1, "a"], [2, "a"], [3, "a"]]),
        ("['a'] | product([1, 2]) | map('join', '-')", ["a-1", "a-2"]),
        ("[1, 2] | permutations(2)", [[1, 2], [2, 1]]),
        ("l | combinations(2)", [[1, 2], [1, 3], [2, 3]]),
        ("100 | random(seed='a')", 34),
        ("l | random(seed='a')", 2),
        ("10 | random(start=5, step=2, seed='x')", 9),
        ("l | shuffle(seed='a')", [3, 1, 2]),
        ("[1, 2, 3, 4, 5] | shuffle(seed=4)", [4, 5, 1, 3, 2]),
        ("l | max", 3),
        ("ls | min", "a"),
        ("users | max(attribute='uid') | dict2items | first", {"key": "name", "value": "bob"}),
        ("users | sum(attribute='uid')", 3),
    ],
)
def test_sequences_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "users | subelements('nope')",
            "filter 'subelements': no key 'nope' in {'name': 'ann', 'uid': 1, 'groups",
        ),
        ("users | subelements('name')", "filter 'subelements': 'name' is not a list but 'ann'"),
        ("[] | random", "filter 'random': there is nothing to choose from"),
        ("ls | random(1)", "filter 'random': start and step go with a number, not with a list"),
        ("5 | zip([1])", "filter 'zip': 'int' object is not iterable"),
        ("mixed | sort", "filter 'sort': '<' not supported between instances of 'str' and 'int'"),
    ],
)
def test_sequences_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
