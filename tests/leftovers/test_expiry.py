"""Expiry: a stack lasts as long as the latest of its marks says."""

from __future__ import annotations

from datetime import datetime

from playrunner.leftovers import Leftover, expired

NOON = datetime.fromisoformat("2026-01-02T12:00:00+00:00").timestamp()
BEFORE, AFTER = "2026-01-02T11:00:00Z", "2026-01-02T13:00:00Z"


def thing(id: str, expires: str = "", stack: str = "demo", owned: bool = True) -> Leftover:
    return Leftover("ec2", "volume", id, "", "us-west-2", stack, expires=expires, owned=owned)


def names(things: list[Leftover]) -> list[str]:
    return [one.id for one in expired(things, NOON)]


def test_a_stack_expires_with_the_latest_of_its_marks() -> None:
    assert names([thing("a", BEFORE), thing("b", BEFORE)]) == ["a", "b"]
    assert names([thing("a", BEFORE), thing("b", AFTER)]) == []


def test_stacks_expire_each_by_itself() -> None:
    assert names([thing("a", BEFORE, "one"), thing("b", AFTER, "two")]) == ["a"]


def test_what_carries_no_mark_of_its_own_goes_with_its_stack() -> None:
    assert names([thing("a", BEFORE), thing("b", owned=False)]) == ["a", "b"]


def test_what_was_made_to_last_stays_and_keeps_what_may_be_its_own() -> None:
    assert names([thing("a", BEFORE), thing("b"), thing("c", owned=False)]) == ["a"]
    assert names([thing("a"), thing("b", owned=False)]) == []


def test_a_mark_that_cannot_be_read_is_no_expiry() -> None:
    assert names([thing("a", "tomorrow")]) == []
