"""What was decrypted is masked in texts and values, and nothing else is."""

from __future__ import annotations

import pytest

from playrunner.vault.masking import MASK, Masking


def masking(*secrets: str) -> Masking:
    made = Masking()
    for secret in secrets:
        made.add(secret)
    return made


def test_without_secrets_a_value_is_the_same_object() -> None:
    value = {"a": ["b"]}
    assert masking().value(value) is value


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["hunter2"], "a hunter2 b hunter2", f"a {MASK} b {MASK}"),
        (["hunter", "hunter2"], "hunter2 hunter", f"{MASK} {MASK}"),
        (["a.c(d"], "a.c(d abcd", f"{MASK} abcd"),
        (["no"], "no", MASK),
        (["no"], "not now", "not now"),
        (["first line here\nsecond line here\n"], "x second line here", f"x {MASK}"),
        (["token\n"], "the token", f"the {MASK}"),
        ([""], "anything", "anything"),
    ],
)
def test_a_secret_is_masked_wherever_it_stands(secrets: list[str], text: str, shown: str) -> None:
    assert masking(*secrets).text(text) == shown


def test_values_are_masked_at_every_depth_but_for_the_keys_that_stay() -> None:
    value = {"cmd": ["echo", "hunter2"], "results": [{"stdout": "hunter2", "n": 1}]}
    assert masking("hunter2").value(value, ("stdout",)) == {
        "cmd": ["echo", MASK],
        "results": [{"stdout": "hunter2", "n": 1}],
    }


def test_every_text_of_a_file_is_a_secret() -> None:
    made = Masking()
    made.add_leaves({"a": [{"b": "inner-secret"}], "port": 22})
    assert made.text("x=inner-secret port=22") == f"x={MASK} port=22"


def test_a_number_of_a_file_is_a_secret_unless_it_is_as_short_as_a_count() -> None:
    made = Masking()
    made.add_leaves({"pin": 483920, "share": 0.7251, "replicas": 3, "on": True})
    shown = {"a": 483920, "b": "pin 483920", "c": [0.7251], "d": 3, "e": True, "f": 4}
    assert made.value(shown) == {
        "a": MASK,
        "b": f"pin {MASK}",
        "c": [MASK],
        "d": 3,
        "e": True,
        "f": 4,
    }
