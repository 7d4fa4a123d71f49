"""Filters on numbers and amounts. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {"none_": None}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("8 | log(2)", 3.0),
        ("100 | log(10)", 2.0),
        ("1 | log", 0.0),
        ("2 | pow(3)", 8.0),
        ("9 | root", 3.0),
        ("27 | root(3)", 3.0),
        ("1024 | human_readable", "1.00 KB"),
        ("1500000 | human_readable", "1.43 MB"),
        ("0 | human_readable", "0.00 Bytes"),
        ("10 | human_readable(isbits=true)", "10.00 bits"),
        ("10000000 | human_readable(isbits=true)", "9.54 Mb"),
        ("1048576 | human_readable(unit='K')", "1024.00 KB"),
        ("1024 | human_readable(unit='b')", "1024.00 Bytes"),
        ("'10M' | human_to_bytes", 10485760),
        ("'1.5 GB' | human_to_bytes", 1610612736),
        ("'10' | human_to_bytes('K')", 10240),
        ("10 | human_to_bytes", 10),
        ("'2 k' | human_to_bytes", 2048),
        ("'5b' | human_to_bytes(isbits=true)", 5),
        ("'1Mb' | human_to_bytes(isbits=true)", 1048576),
        ("'42' | int", 42),
        ("'x' | int", 0),
        ("'x' | int(7)", 7),
        ("none_ | int", 0),
        ("'3.7' | int", 3),
        ("'x' | float(1.5)", 1.5),
        ("3.7 | round | int", 4),
    ],
)
def test_numbers_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'x' | log", "filter 'log': must be real number, not str"),
        ("2 | log(0)", "filter 'log': math domain error"),
        ("'a' | pow(2)", "filter 'pow': must be real number, not str"),
        (
            "'100' | human_readable",
            "filter 'human_readable': needs a number, not '100'; `| int` makes one",
        ),
        ("'x' | human_to_bytes", "filter 'human_to_bytes': 'x' does not start with a number"),
        (
            "'10 MiB' | human_to_bytes",
            "filter 'human_to_bytes': '10 MiB' has no known unit; write one of B, K, ",
        ),
        (
            "'1Mb' | human_to_bytes",
            "filter 'human_to_bytes': '1Mb' has no known unit; write one of B, K, M, ",
        ),
        (
            "'10 Bytes' | human_to_bytes",
            "filter 'human_to_bytes': '10 Bytes' has no known unit; write one of B, K",
        ),
    ],
)
def test_numbers_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
