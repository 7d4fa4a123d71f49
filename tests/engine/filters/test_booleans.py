"""Filters that decide. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "yes_": True,
    "none_": None,
    "s": "text",
    "empty": "",
    "l": [1, 2, 3],
    "ed": {},
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'yes' | bool", True),
        ("'on' | bool", True),
        ("'True' | bool", True),
        ("'1' | bool", True),
        ("1 | bool", True),
        ("1.0 | bool", True),
        ("'no' | bool", False),
        ("'maybe' | bool", False),
        ("'y' | bool", False),
        ("empty | bool", False),
        ("none_ | bool", False),
        ("2 | bool", False),
        ("l | bool", False),
        ("yes_ | ternary('a', 'b')", "a"),
        ("none_ | ternary('a', 'b', 'n')", "n"),
        ("none_ | ternary('a', 'b')", "b"),
        ("'no' | ternary(1, 2)", 1),
        ("ed | ternary(1, 2)", 2),
        ("s | mandatory", "text"),
    ],
)
def test_booleans_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("missing | mandatory", "mandatory variable 'missing' is not defined"),
        ("missing | mandatory(msg='give it')", "give it"),
    ],
)
def test_booleans_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
