"""YAML with lines: what is read, and how what cannot be read is told."""

from __future__ import annotations

import pytest

from playrunner.documents import Located, Unsafe, parse_yaml
from playrunner.errors import BadInput


def test_every_mapping_and_key_knows_its_line() -> None:
    found = parse_yaml("a: 1\nb:\n  c: {x: 2}\n", "file.yaml")
    assert isinstance(found, Located)
    assert str(found.place("b")) == "file.yaml:2"
    assert str(found["b"]["c"].place("x")) == "file.yaml:3"


def test_unsafe_text_is_kept_from_templates() -> None:
    assert isinstance(parse_yaml("a: !unsafe '{{ x }}'", "f")["a"], Unsafe)


@pytest.mark.parametrize(("text", "line", "words"), [
    ("a: [", 1, "not valid YAML"),
    ("a: 1\n\tb: 2", 2, "tab"),
    ("a: !vault |\n  x", 1, "lookup('env'"),
    ("x: 1\n? [1, 2]\n: 3", 2, "key must be a plain value"),
    ("a: &x [*x]", 1, "recursive"),
    ("\x00", 1, "not valid YAML"),
    ("[" * 100_000, 1, "nested more than"),
    ("- " * 100_000, 1, "nested more than"),
    ("a: !!python/object:os.system x", 1, "not valid YAML"),
])
def test_what_cannot_be_read_is_told_with_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_yaml(text, "file.yaml")
    assert words in caught.value.message
    assert caught.value.place is not None and caught.value.place.line in (line, line + 1)
