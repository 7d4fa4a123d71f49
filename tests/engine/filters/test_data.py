"""JSON and YAML filters. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {
    "yes_": True,
    "none_": None,
    "num_s": "42",
    "l": [1, 2, 3],
    "d": {"a": 1, "b": {"c": 2}, "keys": "k", "items": 9},
    "el": [],
    "users": [
        {"name": "ann", "uid": 1, "groups": ["x", "y"], "on": True},
        {"name": "bob", "uid": 2, "groups": ["z"], "on": False},
    ],
    "js": '{"a": [1, 2]}',
    "ym": "a: [1, 2]\nb: yes\n",
    "multi": "a\nb\n",
    "uni": "é√",
    "bad": "{{ nope_x }}",
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("d | to_json", '{"a": 1, "b": {"c": 2}, "keys": "k", "items": 9}'),
        (
            "d | to_nice_json",
            (
                '{\n    "a": 1,\n    "b": {\n        "c": 2\n    },\n    "items": 9,\n    "keys":'
                ' "k"\n}'
            ),
        ),
        (
            "d | to_nice_json(indent=2, sort_keys=false)",
            '{\n  "a": 1,\n  "b": {\n    "c": 2\n  },\n  "keys": "k",\n  "items": 9\n}',
        ),
        ("uni | to_json", '"\\u00e9\\u221a"'),
        ("{'a': uni} | to_nice_json(ensure_ascii=false)", '{\n    "a": "é√"\n}'),
        ("{1: 'a', none_: 2} | to_json", '{"1": "a", "null": 2}'),
        ("{'b': 1} | to_json(separators=[',', ':'])", '{"b":1}'),
        ("(1, 2) | to_json", "[1, 2]"),
        ("l | map('int') | to_json", "[1, 2, 3]"),
        ("d | to_yaml", "a: 1\nb: {c: 2}\nitems: 9\nkeys: k\n"),
        ("d | to_nice_yaml", "a: 1\nb:\n    c: 2\nitems: 9\nkeys: k\n"),
        (
            "users | to_yaml",
            (
                "- groups: [x, y]\n"
                "  name: ann\n"
                "  'on': true\n"
                "  uid: 1\n"
                "- groups: [z]\n"
                "  name: bob\n"
                "  'on': false\n"
                "  uid: 2\n"
            ),
        ),
        (
            "users | to_nice_yaml",
            (
                "-   groups:\n"
                "    - x\n"
                "    - y\n"
                "    name: ann\n"
                "    'on': true\n"
                "    uid: 1\n"
                "-   groups:\n"
                "    - z\n"
                "    name: bob\n"
                "    'on': false\n"
                "    uid: 2\n"
            ),
        ),
        (
            "users | to_nice_yaml(indent=2)",
            (
                "- groups:\n"
                "  - x\n"
                "  - y\n"
                "  name: ann\n"
                "  'on': true\n"
                "  uid: 1\n"
                "- groups:\n"
                "  - z\n"
                "  name: bob\n"
                "  'on': false\n"
                "  uid: 2\n"
            ),
        ),
        ("multi | to_yaml", "'a\n\n  b\n\n  '\n"),
        (
            "{'m': multi, 'n': none_, 't': yes_, 'e': [], 'q': '1'} | to_nice_yaml",
            "e: []\nm: 'a\n\n    b\n\n    '\nn: null\nq: '1'\nt: true\n",
        ),
        ("{'b': 1, 'a': 2} | to_nice_yaml(sort_keys=false)", "b: 1\na: 2\n"),
        ("uni | to_nice_yaml", "é√\n"),
        ("el | to_nice_yaml", "[]\n"),
        ("num_s | to_yaml", "'42'\n"),
        ("[d, d] | to_yaml", "- &id001\n  a: 1\n  b: {c: 2}\n  items: 9\n  keys: k\n- *id001\n"),
        ("js | from_json", {"a": [1, 2]}),
        ("ym | from_yaml", {"a": [1, 2], "b": True}),
        ("'---\na: 1\n---\nb: 2\n' | from_yaml_all", [{"a": 1}, {"b": 2}]),
        ("none_ | from_yaml", None),
        ("l | from_yaml", [1, 2, 3]),
        ("'0644' | from_yaml", 420),
    ],
)
def test_data_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "'{bad' | from_json",
            "filter 'from_json': not valid JSON: Expecting property name enclosed in double q",
        ),
        (
            "'a: [' | from_yaml",
            "filter 'from_yaml': not valid YAML: did not find expected node content",
        ),
        ("l | from_json", "filter 'from_json': takes JSON text, not a value of type list"),
        (
            "d | to_nice_yaml(nope=1)",
            "filter 'to_nice_yaml': dump_all() got an unexpected keyword argument 'no",
        ),
    ],
)
def test_data_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
