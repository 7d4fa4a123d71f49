"""Filters that treat lists as sets. Expected values were taken from ansible-core 2.19."""

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
        ("ls | unique", ["b", "a", "C"]),
        ("['B', 'b'] | unique", ["B"]),
        ("['B', 'b'] | unique(case_sensitive=true)", ["B", "b"]),
        ("[[1], [1], [2]] | unique", [[1], [2]]),
        ("[1, '1', true] | unique", [1, "1"]),
        ("users | unique(attribute='on') | map(attribute='name')", ["ann", "bob"]),
        ("[[2], [1]] | union([[3], [1]])", [[2], [1], [3]]),
        ("l | union(l2)", [1, 2, 3, 4, 5]),
        ("l | intersect(l2)", [3]),
        ("l | difference(l2)", [1, 2]),
        ("l | symmetric_difference(l2)", [1, 2, 4, 5]),
        ("[{'a': 1}] | difference([{'a': 1}])", []),
    ],
)
def test_sets_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("5 | unique", "filter 'unique': 'int' object is not iterable"),
        ("users | unique(case_sensitive=false)", "cannot fall back"),
        ("users | unique(attribute='groups')", "cannot fall back"),
        ("5 | union([1])", "filter 'union': Value after * must be an iterable, not int"),
    ],
)
def test_sets_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("['c', 'a', 'c', 'b'] | union(['z', 'a', 'y'])", ["c", "a", "b", "z", "y"]),
        ("['x', 'b', 'a', 'x'] | intersect(['a', 'x'])", ["x", "a"]),
        ("['n4', 'n2', 'n3'] | difference(['n2'])", ["n4", "n3"]),
        ("['x1', 'x3', 'x2'] | symmetric_difference(['x3', 'x9'])", ["x1", "x2", "x9"]),
    ],
)
def test_members_keep_their_order_where_ansible_shuffles_them(
    expression: str, value: list[str]
) -> None:
    assert render(expression) == value
