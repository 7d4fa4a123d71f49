"""Values that are missing, or not known yet, in templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import NotYet, UndefinedVariable
from playrunner.inventory.inventory import read_inventory
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import Templar
from tests.support.templating import (
    World,
    templar,  # noqa: F401
    world,  # noqa: F401
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ nowhere | default('x') }}", "x"),
        ("{{ nowhere.b['c'].d | default('x') }}", "x"),
        ("{{ mapping.nowhere.c | default('x') }}", "x"),
        ("{{ nothing.x | default('x') }}", "x"),
        ("{{ numbers[9] | default('x') }}", "x"),
        ("{{ [] | first | default('x') }}", "x"),
        ("{{ nothing | default('x') }}", None),
        ("{{ nothing | default('x', true) }}", "x"),
        ("{{ empty | d('x', boolean=true) }}", "x"),
        ("{{ nowhere is defined }}", False),
        ("{{ nowhere.a.b is undefined }}", True),
        ("{{ [1, nowhere] | length }}", 2),
        ("{{ 1 or nowhere }}", 1),
        ("{{ off | ternary(nowhere, 'b') }}", "b"),
        ("{{ broken | default('x') }}", "x"),
        ("{{ broken is defined }}", False),
        ("{{ half_broken is defined }}", True),
        ("{{ half_broken.good }}", 1),
        ("{{ half_broken.bad | default('x') }}", "x"),
    ],
)
def test_what_is_missing_can_be_asked_about_and_replaced(
    templar: Templar, world: World, text: str, value: Any
) -> None:
    assert templar.render(text, world) == value


@pytest.mark.parametrize(
    "text",
    [
        "{{ nowhere }}",
        "{{ nowhere.x.y }}",
        "{{ nowhere() }}",
        "{{ nowhere ~ 'a' }}",
        "{{ nowhere == 1 }}",
        "{{ nowhere + 1 }}",
        "{{ nowhere or 1 }}",
        "{{ nowhere | length }}",
        "{{ nowhere | bool }}",
        "{{ nowhere | int }}",
        "{{ nowhere | to_json }}",
        "{{ nowhere | ternary(1, 2) }}",
        "{{ nowhere in numbers }}",
        "{{ mapping[nowhere] | default(1) }}",
        "{% if nowhere %}a{% endif %}",
        "{% for i in nowhere %}a{% endfor %}",
        "{{ [1, nowhere] }}",
        "{{ {'a': nowhere} }}",
        "{{ [1, nowhere] | join }}",
        "{{ [nowhere] | to_nice_yaml }}",
        "a {{ nowhere }}",
        "{{ on | ternary(nowhere, 'b') }}",
    ],
)
def test_using_what_is_missing_names_it(templar: Templar, world: World, text: str) -> None:
    with pytest.raises(UndefinedVariable, match="'nowhere' is undefined"):
        templar.render(text, world)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ wrod }}", "'wrod' is undefined; did you mean 'word'?"),
        ("{{ mapping.key }}", "object of type 'dict' has no attribute 'key'; did you mean 'keys'?"),
        ("{{ mapping.zzz }}", "object of type 'dict' has no attribute 'zzz'; it has a, b, keys"),
        ("{{ numbers[9] }}", "object of type 'list' has no attribute 9; it has 3 items"),
        ("{{ one.x }}", "object of type 'int' has no attribute 'x'"),
        ("{{ broken }}", "'not_there' is undefined"),
        ("{{ half_broken }}", "'not_there' is undefined"),
        ("{{ undef('give me') }}", "give me"),
    ],
)
def test_undefined_values_are_described(
    templar: Templar, world: World, text: str, message: str
) -> None:
    with pytest.raises(UndefinedVariable) as caught:
        templar.render(text, world)
    assert str(caught.value) == message


def test_a_pending_value_has_no_default(templar: Templar, world: World) -> None:
    for text in (
        "{{ pending }}",
        "{{ pending.x | default(1) }}",
        "{{ pending is defined }}",
        "{{ not pending }}",
    ):
        with pytest.raises(NotYet):
            templar.render(text, world)


def test_a_pending_value_in_a_branch_not_taken_does_not_matter(
    templar: Templar, world: World
) -> None:
    assert templar.render("{{ word if on else pending }}", world) == "text"


def test_only_names_that_a_template_uses_are_looked_up(templar: Templar, world: World) -> None:
    templar.render("{{ word }} {{ mapping.a | int }} {{ lookup('env', 'HOME') }}", world)
    assert sorted(world.asked) == ["lookup", "mapping", "word"]


def test_names_can_be_listed_while_a_step_registers_its_result(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text("all: {hosts: {node1: {}}}\n")
    variables = RunVariables(read_inventory([inventory]), Templar(), {}, {})
    memory = variables.memory("node1")
    memory.registered.update(first=1, second=2)
    names = Scope(variables, "node1").names()
    assert next(name for name in names if name == "first")
    memory.store("registered", {"third": 3}, (1,))
    assert "second" in list(names)
