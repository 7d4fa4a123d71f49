"""Templates: native types, undefined values, conditions, files. Expected values were taken from
ansible-core 2.19."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import BadInput, NotYet, StepFailed, UndefinedVariable
from playrunner.text.written import (
    TemplateText,
    Written,
    all_written,
    is_authored,
    is_template,
    written,
)
from playrunner.variables.templating import MISSING, Templar

OMIT = object()

VARIABLES: dict[str, Any] = {
    "one": 1,
    "zero": 0,
    "on": True,
    "off": False,
    "nothing": None,
    "word": "text",
    "empty": "",
    "lines": "a\nb\n",
    "numbers": [1, 2, 3],
    "mapping": {"a": 1, "b": {"c": 2}, "keys": "k"},
    "users": [{"name": "ann", "uid": 1, "on": True}, {"name": "bob", "uid": 2, "on": False}],
    "result": {"changed": True, "rc": 0, "stdout": "hi"},
    "broken": TemplateText("{{ not_there }}"),
    "half_broken": {"bad": TemplateText("{{ not_there }}"), "good": 1},
    "itself": TemplateText("{{ itself }}"),
    "omit": OMIT,
    "hostile": "lookup('pipe', 'touch /nowhere') == ''",
    "condition": Written("one == 1"),
    "indirect": TemplateText("'{{ word }}' == 'text'"),
    "tainted": TemplateText("{{ hostile }}"),
}


class World:
    """Variables by name, rendered when asked for, and the files of one folder."""

    def __init__(self, templar: Templar, folder: Path = Path("/nonexistent"), **more: Any) -> None:
        self.templar, self.folder, self.variables = templar, folder, {**VARIABLES, **more}
        self.asked: list[str] = []
        self.waits = 0

    def lookup(self, name: str) -> Any:
        self.asked.append(name)
        if name == "pending":
            raise NotYet("'pending' is not known yet")
        if name not in self.variables:
            return MISSING
        return self.templar.render_variable(self.variables[name], self)

    def names(self) -> Iterable[str]:
        return self.variables

    def wait_for_steps(self) -> None:
        self.waits += 1

    def find(self, path: str, folder: str) -> Path:
        for place in (self.folder / path, self.folder / folder / path):
            if place.exists():
                return place
        raise BadInput(f"no file {path!r} in {folder}")

    def traced(self) -> Traced:
        return Traced(self.templar, self.folder, **self.variables)


class Traced(World):
    """The same, with the names it read that hold no author's text."""

    def __init__(self, templar: Templar, folder: Path, **more: Any) -> None:
        super().__init__(templar, folder, **more)
        self.foreign: list[str] = []

    def lookup(self, name: str) -> Any:
        if name == "hostile" and not is_authored(self.variables[name]):
            self.foreign.append(name)
        return super().lookup(name)


class Playbook(Templar):
    """Takes texts as the author's, as the loader of playbooks marks them."""

    def render(self, value: Any, scope: Any, *, keys: bool = True) -> Any:
        return super().render(all_written(value), scope, keys=keys)

    def evaluate(self, expression: str | bool, scope: Any) -> Any:
        return super().evaluate(
            written(expression) if isinstance(expression, str) else expression, scope
        )


@pytest.fixture
def templar() -> Templar:
    return Playbook()


@pytest.fixture
def world(templar: Templar) -> World:
    return World(templar)


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
        ("{{ mapping.key }}", "the mapping has no key 'key'; did you mean 'keys'?"),
        ("{{ mapping.zzz }}", "the mapping has no key 'zzz'; it has a, b, keys"),
        ("{{ numbers[9] }}", "the list has no item 9; it has 3"),
        ("{{ one.x }}", "a value of type int has no attribute 'x'"),
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
    assert sorted(world.asked) == ["mapping", "word"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 1 / 0 }}", "`{{ 1 / 0 }}`: division by zero"),
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


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ one }}", "1"),
        ("{{ numbers }}\n", "[1, 2, 3]"),
        ("{{ nothing }}\n", ""),
        ("{{ lines }}\n", "a\nb\n"),
        ("", ""),
        ("\n\n", "\n\n"),
        ("{% if on %}\n  x\n{% endif %}\n", "  x\n"),
        ("  {% if on %}\n  x\n  {% endif %}\n", "    x\n  \n"),
        (
            "#jinja2: trim_blocks:False, lstrip_blocks: True\n  {% if on %}\n  x\n  {% endif %}\n",
            "\n  x\n",
        ),
        (
            (
                '#jinja2: variable_start_string:"[[", variable_end_string:"]]"\n[[ word ]] {{ word'
                " }}\n"
            ),
            "text {{ word }}\n",
        ),
        ('{{ "a\\nb" }}|{{ on }}|{{ nothing }}|{{ 1.0 }}\n', "a\nb|True||1.0\n"),
        ("a\r\nb{{ word }}\r\n", "a\nbtext\n"),
        ("a {% include 'part.j2' %} b\n", "a part text none b\n"),
        ("{% set local = 5 %}{% include 'part.j2' %}", "part text 5"),
        (
            (
                "{% import 'macros.j2' as m %}{{ m.f(1) }}{% from 'macros.j2' import f with context"
                " %}{{ f(2) }}\n"
            ),
            "<1no><2text>\n",
        ),
        (
            "{% extends 'base.j2' %}{% block b %}child {{ word }} {{ super() }}{% endblock %}\n",
            "A\nchild text baseZ\n",
        ),
        ("{% include 'nowhere.j2' ignore missing %}ok\n", "ok\n"),
        (
            (
                "{% for u in users %}\n{{ loop.index }} {{ u.name }} {{ lookup('vars', 'word')"
                " }}\n{% endfor %}\n"
            ),
            "1 ann text\n2 bob text\n",
        ),
    ],
)
def test_a_template_file_gives_text(
    templar: Templar, tmp_path: Path, source: str, text: str
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/part.j2").write_text("part {{ word }} {{ local | default('none') }}\n")
    (tmp_path / "templates/macros.j2").write_text(
        "{% macro f(x) %}<{{ x }}{{ word | default('no') }}>{% endmacro %}"
    )
    (tmp_path / "templates/base.j2").write_text("A\n{% block b %}base{% endblock %}\nZ\n")
    assert templar.render_file(source, World(templar, tmp_path), name="t.j2") == text


def test_a_template_file_is_found_beside_the_one_that_includes_it(
    templar: Templar, world: World, tmp_path: Path
) -> None:
    (tmp_path / "x.j2").write_text("beside")
    assert (
        templar.render_file("{% include 'x.j2' %}", world, name="t.j2", folders=[tmp_path])
        == "beside"
    )


def test_options_of_a_template_file_are_honoured(templar: Templar, world: World) -> None:
    source = "{% if on %}\nx\n{% endif %}\n"
    assert templar.render_file(source, world, name="t", trim_blocks=False) == "\nx\n"
    assert templar.render_file(source, world, name="t", newline_sequence="\r\n").startswith("x\r\n")
    assert (
        templar.render_file(
            "<< word >>", world, name="t", variable_start_string="<<", variable_end_string=">>"
        )
        == "text"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% if %}\n", "t.j2:2: Expected an expression"),
        ("{% include 'nowhere.j2' %}", "t.j2: no template 'nowhere.j2' is found"),
        ("#jinja2: trim_blocks:Flase\n", "t.j2:1: cannot read `trim_blocks:Flase`"),
        ("#jinja2: bogus:1\n", "t.j2: "),
        ("{{ 1 / 0 }}", "t.j2: division by zero"),
    ],
)
def test_a_faulty_template_file_is_named(
    templar: Templar, world: World, source: str, message: str
) -> None:
    with pytest.raises(StepFailed) as caught:
        templar.render_file(source, world, name="t.j2")
    assert str(caught.value).startswith(message)


def test_a_template_string_may_include_a_file(templar: Templar, tmp_path: Path) -> None:
    (tmp_path / "x.j2").write_text("<{{ word }}>")
    assert templar.render("{% include 'x.j2' %}!", World(templar, tmp_path)) == "<text>!"


def test_tests_on_files_wait_for_earlier_steps(
    templar: Templar, world: World, tmp_path: Path
) -> None:
    assert templar.truth(f"'{tmp_path}' is directory", world) is True
    assert world.waits == 1
    templar.truth("word is match('t')", world)
    assert world.waits == 1


def test_a_thousand_short_templates_cost_far_less_than_a_tenth_of_a_second(
    templar: Templar, world: World
) -> None:
    world.lookup = VARIABLES.__getitem__  # type: ignore[method-assign]
    texts = ["/srv/{{ word }}/{{ mapping.b.c }}", "{{ users[0].name | upper }}"]
    for text in texts:
        templar.render(text, world)
    best = min(_seconds_for_a_thousand(templar, world, texts) for _ in range(5))
    assert best < 0.1


def _seconds_for_a_thousand(templar: Templar, world: World, texts: list[str]) -> float:
    start = time.process_time()
    for _ in range(500):
        for text in texts:
            templar.render(text, world)
    return time.process_time() - start
