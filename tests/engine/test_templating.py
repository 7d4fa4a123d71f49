"""Templates: native types, undefined values, conditions, files. Expected values were taken from
ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.text.written import (
    Written,
    is_template,
    written,
)
from playrunner.variables.templating import Templar
from tests.support.templating import (
    OMIT,
    World,
    templar,  # noqa: F401
    world,  # noqa: F401
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ one }}", 1),
        ("{{ 1 }}", 1),
        ("{{ numbers }}", [1, 2, 3]),
        (" {{ one }}", " 1"),
        ("{{ one }} ", "1 "),
        ("{{ one }}\n", 1),
        ("{{ 1 }}\n", 1),
        ("{{ word }}\n\n", "text\n\n"),
        ("{{ word }}\nb\n", "text\nb\n"),
        ("{{ lines }}\n", "a\nb\n"),
        ("{{ one }}{{ zero }}", "10"),
        ("{{ nothing }}", None),
        ("a{{ nothing }}b", "ab"),
        ("{{ nothing }}{{ nothing }}", None),
        ("{{ one }}{{ nothing }}", 1),
        ("{{ one }}{{ empty }}", "1"),
        ("{{ 'a' ~ nothing }}", "aNone"),
        ("a{{ on }}", "aTrue"),
        ("{{ numbers }}x", "[1, 2, 3]x"),
        ("{% for i in numbers %}{{ i }}{% endfor %}", "123"),
        ("{% for i in [1] %}{{ i }}{% endfor %}", 1),
        ("{% if off %}x{% endif %}", None),
        ("{% if on %}{{ numbers }}{% endif %}", [1, 2, 3]),
        ("{% if on %}\n{{ one }}\n{% endif %}", "1\n"),
        ("{% set x = numbers %}{{ x }}", [1, 2, 3]),
        ("{# note #}", None),
        ("{# note #}{{ one }}", 1),
        ("{{ '[1,2]' }}", "[1,2]"),
        ("{{ 'True' }}", "True"),
        ("[{{ one }}, {{ one }}]", "[1, 1]"),
        ("{{ '{{ word }}' }}", "{{ word }}"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ 4 / 2 }}", 2.0),
        ("{{ (1, 2) }}", [1, 2]),
        ("{{ {'a': (1, 2)} }}", {"a": [1, 2]}),
        ("{{ numbers | map('string') }}", ["1", "2", "3"]),
        ("{{ mapping.values() }}", [1, {"c": 2}, "k"]),
        ("{{ mapping['keys'] }}", "k"),
        ("{{ mapping.b.c }}", 2),
        ("{{ numbers.0 }}", 1),
        ("{{ '<a>' | e }}", "&lt;a&gt;"),
        ("{% macro m() %}{{ 1 }}{% endmacro %}{{ m() }}", 1),
        ("{% set x %}{{ 1 }}{% endset %}{{ x }}", 1),
        ("x{{ 1 if off }}", "x"),
        ("{{ true }}", True),
        ("{{ none }}", None),
        ("{{ 'abc' | ansible.builtin.upper }}", "ABC"),
        ("{{ users | selectattr('on') | map(attribute='name') }}", ["ann"]),
        ("{{ users | groupby('on') | map('first') }}", [False, True]),
        ("{{ users | map(attribute='nope', default=7) }}", [7, 7]),
        ("{{ dict(['a'] | zip([1])) }}", {"a": 1}),
    ],
)
def test_a_lone_expression_keeps_its_type_and_several_parts_are_text(
    templar: Templar, world: World, text: str, value: Any
) -> None:
    rendered = templar.render(text, world)
    assert rendered == value
    assert type(rendered) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"{{ 'foo' | regex_replace('(o)', '[\1]') }}", "f[o][o]"),
        (r"{{ 'a\nb' }}", r"a\nb"),
        (r"{{ 'it\'s' }}", r"it\'s"),
        (r"{% set x = 'a\nb' %}{{ x }}", "a\nb"),
    ],
)
def test_a_backslash_is_itself_inside_double_braces(
    templar: Templar, world: World, text: str, value: str
) -> None:
    assert templar.render(text, world) == value


def test_containers_are_rendered_through_and_through(templar: Templar, world: World) -> None:
    raw = {"{{ word }}": ["{{ one }}", {"b": "x{{ one }}"}], "n": 3}
    assert templar.render(raw, world) == {"text": [1, {"b": "x1"}], "n": 3}
    assert templar.render(raw, world, keys=False) == {"{{ word }}": [1, {"b": "x1"}], "n": 3}


def test_a_rendered_container_is_never_the_one_that_was_given(
    templar: Templar, world: World
) -> None:
    raw = {"a": [1]}
    rendered = templar.render(raw, world)
    assert rendered == raw
    assert rendered is not raw and rendered["a"] is not raw["a"]


def test_only_text_that_is_marked_as_a_template_is_one(world: World) -> None:
    unsafe = Written("{{ one }}")
    assert not is_template(unsafe) and not is_template("{{ one }}") and not is_template(5)
    assert Templar().render(unsafe, world) is unsafe
    assert Templar().render("{{ one }}", world) == "{{ one }}"
    assert Templar().render({"{{ word }}": ["{{ one }}"]}, world) == {"{{ word }}": ["{{ one }}"]}
    assert all(map(is_template, map(written, ("{# x #}", "{% if x %}", "{{ x }}"))))
    assert not is_template(written("plain } {"))


def test_omit_survives_rendering(templar: Templar, world: World) -> None:
    assert templar.render("{{ omit }}", world) is OMIT
    assert templar.render("{{ nowhere | default(omit) }}", world) is OMIT
    assert templar.render(["{{ nowhere.deep | default(omit) }}"], world) == [OMIT]
