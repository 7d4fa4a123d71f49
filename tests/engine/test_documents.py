"""YAML with lines: what is read, and how what cannot be read is told."""

from __future__ import annotations

import pytest
import yaml

from playrunner.errors import BadInput
from playrunner.text.documents import Located, parse_yaml
from playrunner.text.written import TemplateText, UnsafeText, Written


def test_every_mapping_and_key_knows_its_line() -> None:
    found = parse_yaml("a: 1\nb:\n  c: {x: 2}\n", "file.yaml")
    assert isinstance(found, Located)
    assert str(found.place("b")) == "file.yaml:2"
    assert str(found["b"]["c"].place("x")) == "file.yaml:3"


def test_unsafe_text_is_kept_from_templates() -> None:
    assert type(parse_yaml("a: !unsafe '{{ x }}'", "f")["a"]) is UnsafeText


def test_what_is_read_is_marked_as_its_author_s() -> None:
    found = parse_yaml("{a: [b, '{{ c }}', '{% d %}', '{# e #}', '{f', 1], '{{ g }}': h}", "f")
    assert [type(each) for each in found["a"]] == [
        Written,
        TemplateText,
        TemplateText,
        TemplateText,
        Written,
        int,
    ]
    assert [type(key) for key in found] == [str, TemplateText]


def test_what_its_author_wrote_can_be_dumped() -> None:
    found = parse_yaml("a: ['{{ c }}', d]", "f")["a"]
    assert yaml.safe_dump(found) == "- '{{ c }}'\n- d\n" and yaml.dump(
        found, Dumper=yaml.CSafeDumper
    ) == yaml.safe_dump(found)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: [", 1, "not valid YAML"),
        ("a: 1\n\tb: 2", 2, "tab"),
        ("x: 1\n? [1, 2]\n: 3", 2, "key must be a plain value"),
        ("a: &x [*x]", 1, "recursive"),
        ("\x00", 1, "not valid YAML"),
        ("[" * 100_000, 1, "nested more than"),
        ("- " * 100_000, 1, "nested more than"),
        ("a: !!python/object:os.system x", 1, "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_told_with_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_yaml(text, "file.yaml")
    assert words in caught.value.message
    assert caught.value.place is not None and caught.value.place.line in (line, line + 1)
