"""Template files: what they render to, what they include, and how fast."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from playrunner.errors import StepFailed
from playrunner.variables.templating import Templar
from tests.support.templating import (
    VARIABLES,
    World,
    templar,  # noqa: F401
    world,  # noqa: F401
)


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
