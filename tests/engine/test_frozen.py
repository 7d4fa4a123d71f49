"""`@frozen` and `@mutable`: what dataclasses promise, at less cost."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from playrunner.frozen import frozen, mutable


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


@mutable
class Basket:
    owner: str
    fruit: list[str] = dataclasses.field(default_factory=list)
    weight: float = dataclasses.field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.weight = len(self.fruit) * 0.2


@mutable
class LabelledBasket(Basket):
    label: str = "none"


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
    assert pickle.loads(pickle.dumps(Key("a", "x"))).secret == "x"


def test_a_class_that_nobody_has_made_a_value_of_has_its_fields() -> None:
    @frozen
    class Unused:
        name: str
        tags: tuple[str, ...] = ()

    assert dataclasses.is_dataclass(Unused)
    assert [each.name for each in dataclasses.fields(Unused)] == ["name", "tags"]


def test_each_value_has_a_default_of_its_own_and_is_completed() -> None:
    one, other = Basket("a"), Basket("b", ["pear"])
    one.fruit.append("apple")
    assert (Basket("c").fruit, other.fruit, other.weight) == ([], ["pear"], 0.2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_class_inherits_the_fields_of_another() -> None:
    basket = LabelledBasket("a", ["apple"], "red")
    assert repr(basket) == "LabelledBasket(owner='a', fruit=['apple'], weight=0.2, label='red')"


def test_a_wrong_call_is_told_what_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"Key\.__init__\(\) missing 1 required .* 'name'"):
        Key()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        Key("a", colour="red")  # type: ignore[call-arg]


def test_threads_may_make_the_first_values_at_the_same_moment() -> None:
    for _ in range(50):

        @mutable
        class Fresh:
            number: int
            seen: list[int] = dataclasses.field(default_factory=list)

        ready = threading.Barrier(8)

        def make(number: int, ready: threading.Barrier = ready, cls: type[Fresh] = Fresh) -> Fresh:
            ready.wait()
            return cls(number)

        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(make, range(8)))
        assert [(each.number, each.seen) for each in made] == [(n, []) for n in range(8)]
