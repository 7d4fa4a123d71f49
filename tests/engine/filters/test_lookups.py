"""Lookups, and the lists behind with_<name>. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import BadInput, StepFailed, UndefinedVariable
from playrunner.text.written import written
from playrunner.variables.lookups.lookups import run_lookup
from playrunner.variables.templating import Templar
from tests.support.templating import World

USERS = [{"name": "ann", "groups": ["x", "y"]}, {"name": "bob", "groups": ["z"]}]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("COLOUR", "blue")
    monkeypatch.delenv("NOT_SET", raising=False)
    for folder in ("files/many", "templates"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "files/note.txt").write_text("  one\ntwo {{ word }}\n\n")
    (tmp_path / "files/many/2.txt").touch()
    (tmp_path / "files/many/1.txt").touch()
    (tmp_path / "files/set.ini").write_text("[s]\nk=v\n[global]\ng=1\n")
    (tmp_path / "templates/t.j2").write_text("hello {{ word }} {{ extra | default(0) }}\n")
    (tmp_path / "templates/number.j2").write_text("{{ one }}")
    return World(Templar(), tmp_path, people=USERS, two=[3, 4])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("lookup('env', 'COLOUR')", "blue"),
        ("lookup('ansible.builtin.env', 'COLOUR')", "blue"),
        ("lookup('env', 'NOT_SET')", ""),
        ("lookup('env', 'NOT_SET', default='q')", "q"),
        ("lookup('env', 'NOT_SET', default=undef()) is defined", False),
        ("lookup('env', 'COLOUR', 'NOT_SET')", "blue,"),
        ("query('env', 'COLOUR')", ["blue"]),
        ("q('env', 'COLOUR')", ["blue"]),
        ("lookup('env', 'COLOUR', wantlist=True)", ["blue"]),
        ("lookup('file', 'note.txt')", "  one\ntwo {{ word }}"),
        ("lookup('file', 'note.txt', rstrip=false)", "  one\ntwo {{ word }}\n\n"),
        ("lookup('file', 'note.txt', lstrip=true)", "one\ntwo {{ word }}"),
        ("lookup('file', 'nowhere', errors='ignore')", None),
        ("query('file', 'nowhere', errors='warn')", []),
        ("query('fileglob', 'many/*.txt') | map('basename')", ["1.txt", "2.txt"]),
        ("query('fileglob', 'many/*.nope')", []),
        ("query('fileglob', 'nowhere/*')", []),
        ("lookup('template', 't.j2')", "hello text 0\n"),
        ("lookup('template', 't.j2', template_vars={'extra': 7})", "hello text 7\n"),
        ("lookup('template', 'number.j2')", 1),
        ("lookup('pipe', 'echo hi; echo there')", "hi\nthere"),
        ("lookup('pipe', 'echo a', 'echo b')", "a,b"),
        ("query('lines', 'echo a; echo b')", ["a", "b"]),
        ("lookup('lines', 'true')", []),
        ("lookup('vars', 'word')", "text"),
        ("lookup('vars', 'numbers')", [1, 2, 3]),
        ("lookup('vars', 'nowhere', default='z')", "z"),
        ("lookup('vars', 'word', 'one')", ["text", 1]),
        ("query('varnames', '^user', '^one$')", ["users", "one"]),
        ("lookup('items', numbers)", [1, 2, 3]),
        ("lookup('items', 'a', 'b')", "a,b"),
        ("query('items', numbers, two)", [1, 2, 3, 3, 4]),
        ("query('items', [[1], [2]])", [[1], [2]]),
        ("lookup('items', [])", []),
        ("lookup('dict', {'a': 1})", {"key": "a", "value": 1}),
        ("query('dict', {'a': 1, 'b': 2}) | map(attribute='key')", ["a", "b"]),
        ("lookup('list', numbers)", [1, 2, 3]),
        ("query('list', numbers, two)", [[1, 2, 3], [3, 4]]),
        ("query('indexed_items', ['a', 'b'])", [[0, "a"], [1, "b"]]),
        ("query('together', [1, 2], [3])", [[1, 3], [2, None]]),
        ("query('nested', [1, 2], ['a', 'b'])", [[1, "a"], [1, "b"], [2, "a"], [2, "b"]]),
        ("query('nested', [[1, 2]], [3])", [[1, 2, 3]]),
        (
            "query('subelements', people, 'groups')",
            [[{"name": "ann"}, "x"], [{"name": "ann"}, "y"], [{"name": "bob"}, "z"]],
        ),
        ("query('subelements', people, 'nope', {'skip_missing': true})", []),
        ("query('random_choice', 7)", [7]),
        ("query('sequence', 'start=1 end=3')", ["1", "2", "3"]),
        ("query('sequence', '3')", ["1", "2", "3"]),
        ("query('sequence', '0-10/5:x%02d')", ["x00", "x05", "x10"]),
        ("query('sequence', start=1, end=6, stride=2)", ["1", "3", "5"]),
        ("query('sequence', 'count=3 format=a%02x')", ["a01", "a02", "a03"]),
        ("query('sequence', 'start=3 end=1 stride=-1')", ["3", "2", "1"]),
        ("query('sequence', 'start=0 count=4 stride=2')", ["0", "2", "4", "6"]),
        ("query('sequence', 'count=0')", []),
        ("lookup('first_found', ['nowhere', 'note.txt']) | basename", "note.txt"),
        ("lookup('first_found', 'nowhere', 'note.txt') | basename", "note.txt"),
        (
            (
                "lookup('first_found', {'files': ['n', '1.txt'], 'paths': ['nowhere', 'many']}) |"
                " basename"
            ),
            "1.txt",
        ),
        ("lookup('first_found', files=['n', '1.txt'], paths=['many']) | basename", "1.txt"),
        ("query('first_found', ['nowhere'], skip=true)", []),
        ("lookup('first_found', ['nowhere'], errors='ignore')", None),
        ("lookup('ini', 'k section=s file=set.ini')", "v"),
        ("lookup('ini', 'k', section='s', file='set.ini')", "v"),
        ("lookup('ini', 'z', section='s', file='set.ini', default='d')", "d"),
        ("query('ini', '.*', section='s', file='set.ini', re=true)", ["v"]),
    ],
)
def test_lookups_give_what_ansible_gives(world: World, expression: str, value: Any) -> None:
    assert world.templar.render(written("{{ " + expression + " }}"), world) == value


@pytest.mark.parametrize(
    ("expression", "kind", "message"),
    [
        ("lookup('file', 'nowhere')", BadInput, "no file 'nowhere'"),
        ("lookup('pipe', 'echo oh >&2; exit 3')", StepFailed, "ended with code 3: oh"),
        (
            "lookup('vars', 'wrod')",
            UndefinedVariable,
            "No variable named 'wrod' was found; did you mean",
        ),
        (
            "lookup('dict', [1])",
            StepFailed,
            "lookup 'dict': the 'dict' lookup plugin expects a dictionary, not [1]",
        ),
        (
            "query('together')",
            StepFailed,
            "lookup 'together': with_together requires at least one element in each list",
        ),
        ("query('subelements', people, 'nope')", StepFailed, "skip_missing"),
        ("query('sequence', 'start=3 end=1')", StepFailed, "make stride negative"),
        (
            "query('sequence', 'start=1 end=2 count=3')",
            StepFailed,
            "can't specify both count and end",
        ),
        ("query('sequence', 'x=1')", StepFailed, "unrecognized arguments to with_sequence: ['x']"),
        ("query('sequence', 'x')", StepFailed, "'end' has an invalid value"),
        (
            "lookup('csvfile', 'k', file='note.txt', delimiter=',', col='2,')",
            StepFailed,
            "the option col has an invalid value: '2,' is not a whole number",
        ),
        ("lookup('first_found', ['nowhere'])", StepFailed, "none of the files is there"),
        ("lookup('file', nowhere)", UndefinedVariable, "'nowhere' is undefined"),
        ("lookup('f' ~ 'iel', 'x')", StepFailed, "did you mean 'file'?"),
        ("lookup('env', 'A', bogus=1)", StepFailed, "lookup 'env': "),
    ],
)
def test_a_lookup_that_fails_says_why(
    world: World, expression: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        world.templar.render(written("{{ " + expression + " }}"), world)
    assert message in str(caught.value)


def test_lookups_that_look_outside_wait_for_earlier_steps(world: World) -> None:
    run_lookup("file", ["note.txt"], world)
    run_lookup("pipe", ["true"], world)
    assert world.waits == 2


def test_lookups_that_only_arrange_values_wait_for_nothing(world: World) -> None:
    for name, terms in {
        "env": ["HOME"],
        "vars": ["word"],
        "items": [1],
        "sequence": ["3"],
        "nested": [[1]],
    }.items():
        run_lookup(name, terms, world)
    assert world.waits == 0


@pytest.mark.parametrize(
    ("name", "terms", "value"),
    [
        ("items", [[1], [2], 3], [1, 2, 3]),
        ("dict", {"a": 1}, [{"key": "a", "value": 1}]),
        ("sequence", "start=1 end=2", ["1", "2"]),
        ("nested", [[1, 2], ["a"]], [[1, "a"], [2, "a"]]),
        ("together", [["a", "b"], [1, 2]], [["a", 1], ["b", 2]]),
        (
            "subelements",
            [USERS, "groups"],
            [[{"name": "ann"}, "x"], [{"name": "ann"}, "y"], [{"name": "bob"}, "z"]],
        ),
        ("indexed_items", ["a", "b"], [[0, "a"], [1, "b"]]),
        ("ansible.builtin.list", [[1], 2], [[1], 2]),
    ],
)
def test_a_loop_runs_over_a_lookup(world: World, name: str, terms: Any, value: Any) -> None:
    assert run_lookup(name, terms, world) == value


def test_a_loop_over_an_unknown_lookup_is_bad_input(world: World) -> None:
    with pytest.raises(BadInput, match="did you mean 'items'"):
        run_lookup("itmes", [1], world)
