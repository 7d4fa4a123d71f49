"""Conditions and expressions: their values, and what is checked without running them."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import BadInput, StepFailed, UndefinedVariable
from playrunner.variables.templating import Templar
from tests.support.templating import (
    World,
    templar,  # noqa: F401
    world,  # noqa: F401
)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (None, True),
        ([], True),
        (True, True),
        (False, False),
        ([True, "one == 1"], True),
        ([True, "one == 2", "nowhere"], False),
        ("on", True),
        ("not off", True),
        ("one == 1 and result is changed", True),
        ("nowhere is not defined", True),
        ("nowhere is defined and nowhere.x == 1", False),
        ("nowhere | default(false)", False),
        ("numbers | length > 2", True),
        ("not numbers", False),
        ("'yes' | bool", True),
        ("{{ on }}", True),
        ("word == '{{ word }}'", True),
        ('word == "{{ word }}"', True),
        ("'x{{ word }}y{{ one }}' == 'xtexty1'", True),
        ("'{{ nothing }}' == ''", True),
        ("word == {{ word }}", True),
        ("{{ one }} == 1 and {{ on }}", True),
        ("not {{ off }}", True),
        ("{{ '5' }} > 3", True),
        ("{{ 'true' }}", True),
        ("{{ numbers }} | length == 3", True),
        ("{{ 'a}}b' }} == 'a' ~ '}}b'", True),
        (r"'it\'s {{ word }}' == 'it\'s text'", True),
        ("{{ condition }}", True),
        ("{{ indirect }}", True),
        ("{% if one == 1 %}true{% else %}false{% endif %}", True),
        ("'{{ hostile }}' == hostile", True),
        ("{{ hostile }} == hostile", True),
        (r"'a.b' is match('a\.b')", True),
        (r"'x\ny' | length == 3", True),
        ("result.stdout.find('h') != -1", True),
    ],
)
def test_a_condition_holds_or_not(
    templar: Templar, world: World, condition: Any, holds: bool
) -> None:
    assert templar.truth(condition, world) is holds


@pytest.mark.parametrize(
    "condition",
    ["one", "word", "numbers", "empty", "nothing", "'yes'", "on and one", "result", 1, {}, "", " "],
)
def test_a_condition_that_is_not_true_or_false_is_refused(
    templar: Templar, world: World, condition: Any
) -> None:
    with pytest.raises(StepFailed, match="condition"):
        templar.truth(condition, world)


@pytest.mark.parametrize(
    "condition", ["{{ hostile }}", "{{ tainted }}", "{% if on %}{{ hostile }}{% endif %}"]
)
def test_text_that_its_author_did_not_write_is_never_evaluated(
    templar: Templar, world: World, condition: str
) -> None:
    with pytest.raises(StepFailed, match="not written in the playbook"):
        templar.truth(condition, world)
    with pytest.raises(StepFailed, match="not written in the playbook"):
        Templar().truth("one == 1", world)


def test_expressions_give_values(templar: Templar, world: World) -> None:
    assert templar.evaluate("numbers | length", world) == 3
    assert templar.evaluate("{'a': one}", world) == {"a": 1}
    assert templar.evaluate(True, world) is True
    with pytest.raises(UndefinedVariable):
        templar.evaluate("nowhere", world)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{{ a b }}", "line 1: expected token 'end of print statement', got 'b'"),
        ("x\n{% if %}", "line 2"),
        ("{{", "line 1"),
        ("{% nope %}", "unknown tag 'nope'"),
        ("{{ a | to_jsn }}", "there is no filter 'to_jsn'; did you mean 'to_json'?"),
        ("{{ a is chnaged }}", "there is no test 'chnaged'; did you mean 'changed'?"),
        ("{{ a | map('to_jsn') }}", "did you mean 'to_json'?"),
        ("{{ a | selectattr('x', 'mtach', 'y') }}", "did you mean 'match'?"),
        (
            "{{ a | json_query('x') }}",
            "filter 'json_query' is not supported; install the collection community.general",
        ),
        ("{{ a | community.general.json_query('x') }}", "is not supported"),
        ("{{ lookup('fiel', 'x') }}", "there is no lookup 'fiel'; did you mean 'file'?"),
    ],
)
def test_syntax_errors_and_unknown_names_are_found_without_running(
    templar: Templar, text: str, part: str
) -> None:
    assert part in (templar.check_syntax(text) or "")


def test_good_syntax_passes(templar: Templar) -> None:
    assert (
        templar.check_syntax(
            "{{ a.b }} {{ a | default('x') | ansible.builtin.to_json }} {{ lookup('template', x) }}"
        )
        is None
    )
    assert templar.check_expression("a is defined and a.b == 1") is None
    assert "unexpected" in (templar.check_expression("one =") or "")
    assert "did you mean 'defined'" in (templar.check_expression("x is definde") or "")


def test_bad_syntax_met_while_running_is_bad_input(templar: Templar, world: World) -> None:
    with pytest.raises(BadInput):
        templar.render("{{ a b }}", world)
    with pytest.raises(BadInput):
        templar.truth("one =", world)
