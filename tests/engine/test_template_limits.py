"""What a template cannot reach, and how it fails."""

from __future__ import annotations

import pytest

from playrunner.errors import StepFailed, UndefinedVariable
from playrunner.variables.templating import Templar
from tests.support.templating import (
    World,
    templar,  # noqa: F401
    world,  # noqa: F401
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 1 / 0 }}", "`{{ 1 / 0 }}`: Error rendering template: division by zero"),
        ("{{ 'a' + 1 }}", 'can only concatenate str (not "int") to str'),
        ("{{ 5 | length }}", "filter 'length': object of type 'int' has no len()"),
        ("{{ numbers | map('from_json') }}", "filter 'from_json'"),
        ("{{ word is changed }}", "test 'changed': 'changed' asks about the result of a step"),
        (
            "{{ mapping.keys }}",
            "'keys' is a function here, not a value; a key of that name is read with ['keys']",
        ),
        ("{{ nowhere | mandatory }}", "mandatory variable 'nowhere' is not defined"),
        ("{{ nowhere | mandatory('give it') }}", "give it"),
        ("{{ itself }}", "refers to itself"),
    ],
)
def test_failures_inside_a_template_are_step_failures(
    templar: Templar, world: World, text: str, message: str
) -> None:
    with pytest.raises(StepFailed) as caught:
        templar.render(text, world)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "{{ word.__class__ }}",
        "{{ word['__class__'] }}",
        "{{ word['__class__' | e] }}",
        "{{ word | attr('__class__') }}",
        "{{ word | attr('__class__' | e) }}",
        "{{ range.__self__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ self['_TemplateReference__context' | e] }}",
        "{{ cycler['__init__' | e] }}",
        "{{ cycler.mro }}",
        "{{ lookup.__func__ }}",
        "{{ lookup['__self__' | e] }}",
        "{{ [word] | map(attribute='__class__') }}",
        "{{ [word] | map('attr', '__class__') }}",
        "{{ namespace(a=1)._Namespace__attrs }}",
        "{% macro m() %}{% endmacro %}{{ m._environment }}",
        "{% for i in numbers %}{{ loop._iterable }}{% endfor %}",
    ],
)
def test_python_internals_are_out_of_reach(templar: Templar, world: World, text: str) -> None:
    with pytest.raises(UndefinedVariable, match="has no attribute"):
        templar.render(text, world)
    with pytest.raises(UndefinedVariable, match="has no attribute"):
        templar.render_file(text, world, name="t.j2")


@pytest.mark.parametrize(
    "text", ["{0.__class__}", "{0.upper.__self__}", "{x[__class__]}", "{0._x}"]
)
def test_a_format_of_text_reaches_no_internals(templar: Templar, world: World, text: str) -> None:
    for method in ("format(word, x=word)", "format_map({'0': word, 'x': word})"):
        with pytest.raises(StepFailed):
            templar.render("{{ '" + text + "'." + method + " }}", world)


def test_text_is_formatted_as_ever(templar: Templar, world: World) -> None:
    assert (
        templar.render("{{ '{} {x:>4} {y[a]} {}'.format(one, word, x=2, y=mapping) }}", world)
        == "1    2 1 text"
    )
