"""Filters on text. Expected values were taken from ansible-core 2.19."""

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
    "s": "text",
    "l": [1, 2, 3],
    "d": {"a": 1, "b": {"c": 2}, "keys": "k", "items": 9},
    "url": "https://u:p@h.example:8080/p/a?q=1#f",
}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('"it\'s" | quote', "'it'\"'\"'s'"),
        ("5 | quote", "5"),
        ("none_ | quote", "''"),
        ("'' | quote", "''"),
        ("['a b', 'c'] | map('quote') | join(' ')", "'a b' c"),
        ("'a,b' | split(',')", ["a", "b"]),
        ("'a b  c' | split", ["a", "b", "c"]),
        ("'a,b,c' | split(',', 1)", ["a", "b,c"]),
        ("'a\nb' | comment", "#\n# a\n# b\n#"),
        ("'a\n\nb' | comment", "#\n# a\n#\n# b\n#"),
        ("'' | comment", "#\n# \n#"),
        ("'a' | comment('c')", "//\n// a\n//"),
        ("'a' | comment('cblock')", "/*\n *\n * a\n *\n */"),
        ("'a' | comment('xml')", "<!--\n -\n - a\n -\n-->"),
        ("'a' | comment('erlang')", "%\n% a\n%"),
        ("'a' | comment(decoration='! ')", "!\n! a\n!"),
        ("'a' | comment('plain', prefix='###', postfix='###')", "###\n# a\n###"),
        ("'a' | comment('plain', prefix_count=2, postfix_count=0)", "#\n#\n# a"),
        ("'a' | comment('cblock', decoration='  ')", "/*\n  a\n\n */"),
        ("'a' | comment(beginning='<<', end='>>')", "<<\n#\n# a\n#\n>>"),
        (
            "url | urlsplit",
            {
                "fragment": "f",
                "hostname": "h.example",
                "netloc": "u:p@h.example:8080",
                "password": "p",
                "path": "/p/a",
                "port": 8080,
                "query": "q=1",
                "scheme": "https",
                "username": "u",
            },
        ),
        ("url | urlsplit('hostname')", "h.example"),
        ("url | urlsplit('port')", 8080),
        ("'a b&c' | urlencode", "a%20b%26c"),
        ("{'a': 'b c', 'd': 1} | urlencode", "a=b+c&d=1"),
        ("'a%20b+c' | urldecode", "a b c"),
        ("s | type_debug", "str"),
        ("l | type_debug", "list"),
        ("d | type_debug", "dict"),
        ("none_ | type_debug", "NoneType"),
        ("yes_ | type_debug", "bool"),
        ("l | map('string') | type_debug", "list"),
        ("(1, 2) | type_debug", "tuple"),
    ],
)
def test_text_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "'x' | comment('nope')",
            "filter 'comment': there is no style 'nope'; there are plain, erlang, c, ",
        ),
        ("5 | comment", "filter 'comment': 'int' object has no attribute 'split'"),
        (
            "url | urlsplit('nope')",
            "filter 'urlsplit': unknown URL component 'nope'; the parts are fragm",
        ),
    ],
)
def test_text_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
