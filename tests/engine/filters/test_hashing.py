"""Filters that encode and digest text. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {"uni": "é√", "bad": "{{ nope_x }}"}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'hi' | b64encode", "aGk="),
        ("'aGk=' | b64decode", "hi"),
        ("uni | b64encode", "w6niiJo="),
        ("uni | b64encode(encoding='utf-16-le')", "6QAaIg=="),
        ("5 | b64encode", "NQ=="),
        ("'hi' | hash", "c22b5f9178342609428d6f51b2c5af4c0bde6a42"),
        (
            "'hi' | hash('sha256')",
            "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
        ),
        ("'hi' | hash('md5')", "49f68a5c8493ec2c0bf489821c21fc3b"),
        ("5 | hash('md5')", "e4da3b7fbbce2345d7772b0674a318d5"),
        ("'hi' | checksum", "c22b5f9178342609428d6f51b2c5af4c0bde6a42"),
        ("'hi' | md5", "49f68a5c8493ec2c0bf489821c21fc3b"),
        ("'hi' | sha1", "c22b5f9178342609428d6f51b2c5af4c0bde6a42"),
        ("'a' | to_uuid", "9b6d1a0c-51b1-5093-93fc-cf09a700edff"),
        (
            "'a' | to_uuid(namespace='6ba7b810-9dad-11d1-80b4-00c04fd430c8')",
            "4f3f2898-69e3-5a0d-820a-c4e87987dbce",
        ),
    ],
)
def test_hashing_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "'hi' | hash('blah')",
            "filter 'hash': there is no hash named 'blah'; try sha1, sha256, sha512 o",
        ),
        ("'aGk' | b64decode", "filter 'b64decode': Incorrect padding"),
        (
            "'pw' | password_hash('nope')",
            "filter 'password_hash': there is no password hash named 'nope'; there ar",
        ),
        ("'a' | to_uuid('bad')", "filter 'to_uuid': badly formed hexadecimal UUID string"),
    ],
)
def test_hashing_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)


def test_a_password_hash_with_a_salt_is_always_the_same() -> None:
    pytest.importorskip("crypt")
    assert render("'pw' | password_hash('sha256', 'saltsalt')").startswith("$5$saltsalt$")
    assert render("'pw' | password_hash('sha512', 'saltsalt', rounds=6000)").startswith(
        "$6$rounds=6000$saltsalt$"
    )
    assert render("'pw' | password_hash(salt='saltsalt')") == render(
        "'pw' | password_hash('sha512', 'saltsalt')"
    )
    assert render("'pw' | password_hash") != render("'pw' | password_hash")
