"""`@frozen` values: what dataclasses of values promise, at less cost."""

from __future__ import annotations

import dataclasses

from playrunner.frozen import frozen


@frozen
class Key:
    name: str
    secret: str = dataclasses.field(default="", repr=False, compare=False)


@frozen
class OtherKey:
    name: str
    secret: str = ""


@frozen
class Odd:
    name: str

    def __repr__(self) -> str:
        return "odd"


def test_values_are_equal_and_hash_alike_by_the_fields_that_are_compared() -> None:
    assert Key("a", "x") == Key("a", "y")
    assert hash(Key("a", "x")) == hash(Key("a", "y"))
    assert Key("a") != Key("b")
    assert Key("a") != OtherKey("a")
    assert len({Key("a"), Key("a", "x"), Key("b")}) == 2


def test_a_secret_field_is_not_shown() -> None:
    assert repr(Key("a", "s3cret")) == "Key(name='a')"


def test_a_method_of_the_classs_own_stays() -> None:
    assert repr(Odd("a")) == "odd"


def test_they_are_dataclasses() -> None:
    assert dataclasses.replace(Key("a", "x"), name="b") == Key("b")
    assert dataclasses.asdict(Key("a", "x")) == {"name": "a", "secret": "x"}
