"""Hostile text: read within limits, or refused in one line with its place; it never ends the
process."""

from __future__ import annotations

import datetime
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.errors import BadInput
from playrunner.inventory.inventory import read_inventory
from playrunner.text.documents import (
    MOST_NESTED,
    json_object,
    parse_json,
    parse_yaml,
    parse_yaml_all,
    read_json_object,
    read_text,
    read_yaml,
)
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import Templar

ALIAS_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 13)
)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x: 1\na: !!bool maybe", 2, '"maybe" cannot be read as !!bool'),
        ("x: 1\na: !!timestamp x", 2, '"x" cannot be read as !!timestamp'),
        ("x: 1\na: 2001-99-99", 2, "quote it if it is text"),
        ("x: 1\na: !!int x", 2, '"x" cannot be read as !!int'),
        ("x: 1\na: !!int ''", 2, "cannot be read as !!int"),
        ("x: 1\na: !!float x", 2, '"x" cannot be read as !!float'),
        ("x: 1\na: !!binary '%%%é'", 2, "cannot be read as !!binary"),
        ("x: 1\na: " + "9" * 5000, 2, "5,000 digits"),
        ("x: 1\na: 0x" + "f" * 5000, 2, "5,002 digits"),
        ("x: 1\na: \x07", 2, "control characters are not allowed"),
        ("x: 1\na: \x00", 2, "control characters are not allowed"),
        ("x: 1\na: \ud800", 2, "surrogate"),
        ('x: 1\na: "\\ud800"', 2, "not valid YAML"),
        ("x: 1\na: *b", 2, "no anchor &b"),
        ("x: &b 1\na: &b 2", 2, "given twice"),
        ("x: &b\n  - *b", 2, "recursive"),
        ("x: &b {<<: *b}", 1, "recursive"),
        ("x: 1\n<<: 5", 2, "<< takes a mapping"),
        ("x: 1\na: !mine 5", 2, "!mine"),
        ("x: 1\na: !!str {b: c}", 2, "!!str"),
        ("x: 1\na: !!omap [1]", 2, "!!omap"),
        ("x: 1\n---\ny: 2", 2, "second one"),
        ("[" * 200_000, 1, "nested more than"),
        ("{a: " * 200_000, 1, "nested more than"),
        ("? " * 200_000, 1, "nested more than"),
        ("-\t" * 200_000, 1, ""),
        ("\n".join(" " * n + "a:" for n in range(500)), MOST_NESTED + 1, "nested more than"),
    ],
)
def test_text_that_is_not_a_value_is_refused_with_its_line(
    text: str, line: int, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parse_yaml(text, "file.yaml")
    assert words in caught.value.message and "\n" not in str(caught.value)
    assert caught.value.place is not None and str(caught.value.place) == f"file.yaml:{line}"


@pytest.mark.parametrize(
    "text",
    [
        ALIAS_BOMB,
        "a: &a " + "x" * 1_000_000 + "\nb: [" + "*a, " * 1000 + "]",
        "a0: &a0 {x0: 1, y0: 2}\n"
        + "".join(
            f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], x{n}: *a{n - 1}}}\n"
            for n in range(1, 12)
        ),
    ],
)
def test_aliases_that_stand_for_too_much_are_refused_within_a_second(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(BadInput, match="aliases repeat more than 100,000 values"):
        parse_yaml(text, "bomb.yaml")
    assert time.monotonic() - start < 1


def test_a_long_text_may_repeat_a_few_settings_in_every_entry() -> None:
    text = "common: &common {a: 1, b: 2, c: 3}\nhosts:\n" + "".join(
        f"  h{n}: {{<<: *common, name: h{n}, port: {n}}}\n" for n in range(30_000)
    )
    assert parse_yaml(text, "f")["hosts"]["h29999"] == {
        "a": 1,
        "b": 2,
        "c": 3,
        "name": "h29999",
        "port": 29999,
    }


SAMPLES = [
    (
        "a: 1\nb: [1, 2.5, yes, no, ~, null, '', \"x\", 0x1F, 0o7, 017, 1_000, 1:30, .inf, -.inf,"
        " 1e3, 1.0e+3]"
    ),
    (
        "d: 2020-01-02\nt: 2020-01-02T03:04:05Z\nb: !!binary aGVsbG8=\ns: !!str 5\ni: !!int '5'\nn:"
        " !!null x\nf: !!float 3"
    ),
    (
        "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {y: 3, <<: [{x: 5}, *b]}\nthree: {<<: *b,"
        " <<: {x: 9}}"
    ),
    "s: !!set {a, b}\no: !!omap [a: 1, b: 2]\np: !!pairs [a: 1, a: 2]",
    (
        "text: |\n  one\n  two\nfolded: >-\n  one\n  two\n? complex\n: value\n1: int key\ntrue:"
        " bool key\n~: null key"
    ),
    "- - 1\n  - 2\n- {a: {b: [c]}}\n- &x y\n- *x\n- ! 5\n- 'it''s'\n- \"\\u00e9\\n\\0\"",
    "",
    "---\n",
    "# only a comment\n",
    "--- text\n...\n",
    "\ufeffa: 1",
    "a: 'b: c'",
    "on: 1\noff: 2\ny: 3\nn: 4\nNO: 5",
    "a: 190:20:30\nb: 685.230_15e+03\nc: +12\nd: -0b101\ne: 0.",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_what_is_valid_reads_as_the_yaml_library_reads_it(text: str) -> None:
    assert parse_yaml(text, "f") == parse_yaml(text, "f", plain=True) == yaml.safe_load(text)


def test_merged_keys_keep_the_line_they_were_written_on() -> None:
    found = parse_yaml("a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2\n", "f")["b"]
    assert (found.place("x").line, found.place("y").line) == (2, 5)


def test_plain_values_are_ordinary_mappings() -> None:
    assert type(parse_yaml("a: {b: 1}", "f", plain=True)["a"]) is dict


def test_every_document_of_a_text_is_read() -> None:
    assert parse_yaml_all("a: &x 1\n---\n[2]\n---\n", "f", plain=True) == [{"a": 1}, [2], None]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "not valid JSON"),
        ("{\n'a': 1}", 2, "not valid JSON"),
        ('{\n"a": "\x01"}', 2, "control character"),
        ("[" * 200_000, 1, "nested more than"),
        ('{"a":' * 200_000, 1, "nested more than"),
        ("[" * 300 + "]" * 300, 1, "nested more than"),
        ("9" * 5000, 1, "too many digits"),
        ('[1,\n"\\ud800"]', 2, "surrogate"),
        (b"\xff\xfe{\x00", 0, "not UTF-8"),
    ],
)
def test_json_that_cannot_be_read_is_refused_with_its_line(
    text: str | bytes, line: int, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parse_json(text, "file.json")
    assert words in caught.value.message and "\n" not in str(caught.value)
    assert caught.value.place is not None and caught.value.place.line == line


def test_valid_json_is_read() -> None:
    assert parse_json('\ufeff{"a": ["\\ud83d\\ude00", 1.5, null, "\\u0000"]}', "f") == {
        "a": ["😀", 1.5, None, "\0"]
    }
    assert parse_json(b'{"a": "\xc3\xa9"}', "f") == {"a": "é"}
    assert parse_json("[" * MOST_NESTED + "]" * MOST_NESTED, "f")


def test_depth_is_refused_on_the_small_stack_of_a_thread() -> None:
    caught: list[Any] = []

    def read() -> None:
        for parse, text in ((parse_yaml, "[" * 200_000), (parse_json, "[" * 200_000)):
            try:
                parse(text, "f")
            except BadInput as error:
                caught.append(error)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(caught) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: é".encode("utf-16"), "save it as UTF-8"),
        (b"a: \xff", "save it as UTF-8"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_the_remedy(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "f.yaml").write_bytes(content)
    with pytest.raises(BadInput, match=words):
        read_yaml(tmp_path / "f.yaml")


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(BadInput, match="more than 50,000,000 characters"):
        read_text(Path("/dev/zero"))


def test_a_name_that_cannot_be_a_file_is_refused() -> None:
    with pytest.raises(BadInput):
        read_text(Path("a\0b"))


def test_dates_are_dates() -> None:
    assert parse_yaml("2020-01-02", "f") == datetime.date(2020, 1, 2)


def test_text_that_is_refused_is_shown_in_one_line_that_a_terminal_does_not_obey() -> None:
    assert (
        str(BadInput('there is no role "a\nb\x1b[31m\ud800"'))
        == 'there is no role "a\\nb\\x1b[31m\\ud800"'
    )


@pytest.mark.parametrize(
    "said", ["", "5", "[]", "null", "{", '{"a": \x01}', "[" * 200_000, b"\xff", '{"a": "\\ud800"}']
)
def test_what_a_program_printed_is_an_object_or_nothing(said: str | bytes) -> None:
    assert json_object(said) is None
    assert json_object('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("content", ["", "5", "{", "[" * 200_000])
def test_a_record_that_was_cut_short_is_refused_with_its_file(tmp_path: Path, content: str) -> None:
    file = tmp_path / "record.json"
    file.write_text(content)
    with pytest.raises(BadInput) as caught:
        read_json_object(file)
    assert caught.value.place is not None and caught.value.place.file == str(file)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("i.yaml", "all:\n  hosts:\n    n1:\n      x: 1\n      a: '{{ x | nofilter }}'\n", 5),
        ("i.ini", "n1\n[all:vars]\na={{ x\n", 3),
    ],
)
def test_a_bad_template_of_an_inventory_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        Scope(RunVariables(read_inventory([file]), Templar(), {}, {}), "n1").lookup("a")
    assert str(caught.value.place) == f"{file}:{line}"
