"""What came from a host is shown on the terminal, never obeyed by it; and JSON is JSON whatever it
holds."""

from __future__ import annotations

import ast
import io
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from playrunner.output.terminal import Painted, Terminal
from playrunner.text.streams import as_json, in_one_line, visible
from tests.support.runner import REPOSITORY, Stage, invoke

OURS = re.compile(
    r"\x1b\[(?:\d+(?:;\d+)*)?m"
)  # colours are all that we add where there is no screen
# Clears the screen, names the window, writes a status line over another, reorders a line, hides in
# C1.
EVIL = r"\033[2J\033]0;owned\007\rok  node2\033[1A \342\200\256txt.exe \302\2332K"
PLAYBOOK = """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: output, shell: "printf 'EVIL'; printf 'EVIL' >&2", register: told}
    - {name: item, debug: {msg: "{{ item }}"}, loop: ["{{ told.stdout }}"]}
    - {name: "title {{ told.stdout }}", command: "true"}
    - {name: diff, copy: {content: "one\\n{{ told.stdout }}\\n", dest: "{{ home }}/file"}}
    - {name: streamed, shell: "sleep 1.2; printf 'EVIL\\\\n'; sleep 0.3"}
    - {name: failed, shell: "printf 'EVIL'; printf 'EVIL' >&2; exit 3", ignore_errors: true}
    - {name: message, fail: {msg: "{{ told.stdout }}"}}
""".replace("EVIL", EVIL.replace("\\", "\\\\"))


def controls(text: str) -> set[str]:
    """What a terminal would obey, except what we write ourselves."""
    bad = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {
        char
        for char in OURS.sub("", text)
        if unicodedata.category(char) in bad and char not in "\t\n"
    }


def test_nothing_that_a_host_says_is_obeyed(stage: Stage) -> None:
    ended = stage.play(PLAYBOOK, "--verbose", "--diff", as_json=False, NO_COLOR="", FORCE_COLOR="1")
    assert ended.code == 2 and ended.out.count("\x1b[") > 10, "our own colours stay"
    assert controls(ended.text) == set()
    assert (
        r"\x1b[2J\x1b]0;owned\x07" in ended.out
        and r"\u202etxt.exe" in ended.out
        and r"\x9b2K" in ended.out
    )
    assert not re.search(r"^ok\s+node2", ended.out, re.MULTILINE), (
        "a host cannot write a status line of another"
    )


def test_the_record_of_a_run_is_shown_the_same_way(stage: Stage) -> None:
    stage.play(PLAYBOOK)
    shown = stage.invoke("runs.show", "--events")
    assert r"\x1b[2J" in shown.out and controls(shown.text) == set()


def test_json_carries_every_character_as_json_does(stage: Stage) -> None:
    ended = stage.play(PLAYBOOK)
    assert controls(ended.text) == set()
    assert ended.result("node1", "output")["values"]["stdout"].startswith("\x1b[2J\x1b]0;owned\x07")


@pytest.mark.parametrize(
    "words",
    [
        ("inventory.show", "--host", "web"),
        ("inventory.show", "--graph"),
        ("play", "web\x1b[2J.yaml"),
        ("inventory.show", "--why", "evil", "--host", "web"),
    ],
)
def test_no_verb_prints_what_a_terminal_would_obey(tmp_path: Path, words: tuple[str, ...]) -> None:
    inventory = tmp_path / "hosts.yaml"
    inventory.write_text(
        'all: {hosts: {web: {evil: "\\e[2J\\u202e\\u009b"}}, children: {"g\\u202e": {hosts: {web:'
        " }}}}\n"
    )
    shown = invoke(*words, "--inventory", inventory, state=tmp_path)
    assert "\\x1b" in shown.text or "\\u202e" in shown.text or "\\u001b" in shown.text, shown.text
    assert controls(shown.text) == set()


def test_a_terminal_that_knows_few_characters_gets_the_others_as_escapes(stage: Stage) -> None:
    told = stage.play(
        "- {hosts: node1, gather_facts: false, tasks: [{debug: {msg: größer}}]}",
        as_json=False,
        PYTHONIOENCODING="ascii",
        PYTHONUTF8="0",
    )
    assert told.code == 0 and r"gr\xf6\xdfer" in told.out


@given(some.text())
def test_visible_text_holds_nothing_that_is_obeyed_and_keeps_the_rest(text: str) -> None:
    shown = visible(text)
    assert controls(shown) <= {"\u200c", "\u200d"} | {
        char for char in text if ord(char) > 0xFFFF or char in _HARMLESS
    }
    assert visible(shown) == shown
    assert "\n" not in in_one_line(text)
    if text.isprintable():
        assert shown == text


_HARMLESS = {
    chr(code) for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x180E)
}  # signs that are seen


def test_a_host_cannot_colour_what_we_colour() -> None:
    stream = io.StringIO()
    Terminal(stream, colour=True).line(Painted("a\x1b[0mb", "ok"), " c\x1b[31m")
    assert stream.getvalue() == "\x1b[32ma\\x1b[0mb\x1b[0m c\\x1b[31m\n"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_no_word_for_is_null(number: float) -> None:
    written = as_json({"loss": number, number: [1.5, {"deep": (number, Path("x"))}]})
    assert json.loads(written, parse_constant=_refuse) == {
        "loss": None,
        str(number): [1.5, {"deep": [None, "x"]}],
    }


def test_a_result_with_nan_is_valid_json(stage: Stage) -> None:
    ended = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: made, set_fact: {loss: "{{ '[NaN, Infinity, 1]' | from_json }}"}}
    - {name: shown, debug: {var: loss}}
""")
    found = json.loads(ended.out, parse_constant=_refuse)
    assert ended.code == 0 and found["results"][1]["values"]["loss"] == [None, None, 1]


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def test_nothing_is_written_past_the_guarded_streams() -> None:
    """Only streams.py may know the unguarded ones; whoever prints does it through sys.stdout,
    sys.stderr or print."""
    found = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno}"
        for path in _sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and (node.attr in ("__stdout__", "__stderr__") or _is_buffer(node))
    ]
    assert found == []


def _sources() -> list[Path]:
    runs_on_hosts = ("agent.py", "wire.py")
    return [
        path
        for folder in ("playrunner", "roles")
        for path in (REPOSITORY / folder).rglob("*.py")
        if path.name != "streams.py"
        and path.name not in runs_on_hosts
        and "modules" not in path.parts
    ]


def _is_buffer(node: ast.Attribute) -> bool:
    return (
        node.attr == "buffer"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in ("stdout", "stderr")
    )
