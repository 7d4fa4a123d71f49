"""Filters on dates. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "d": {"a": 1, "b": {"c": 2}, "keys": "k", "items": 9},
    "dt": "2024-03-01 12:00:00",
    "bad": "{{ nope_x }}",
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(dt | to_datetime).year", 2024),
        (
            (
                "(('2024-01-02' | to_datetime('%Y-%m-%d')) - ('2024-01-01' |"
                " to_datetime('%Y-%m-%d'))).days"
            ),
            1,
        ),
        ("'at ' ~ (dt | to_datetime)", "at 2024-03-01 12:00:00"),
        ("'%Y-%m-%d' | strftime(0, utc=true)", "1970-01-01"),
        ("'%Y-%m-%d %H:%M:%S' | strftime('1700000000.5', utc=true)", "2023-11-14 22:13:20"),
        ("now().year > 2000", True),
        ("now(utc=true, fmt='%Y') | int > 2000", True),
    ],
)
def test_dates_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "'bad' | to_datetime",
            "filter 'to_datetime': time data 'bad' does not match format '%Y-%m-%d %H",
        ),
        ("'%Y' | strftime('zz')", "filter 'strftime': 'zz' is not a number of seconds since 1970"),
    ],
)
def test_dates_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
