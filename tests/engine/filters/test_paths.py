"""Filters on file paths. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {"none_": None, "path": "/etc/foo/bar.tar.gz"}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("path | basename", "bar.tar.gz"),
        ("path | dirname", "/etc/foo"),
        ("path | splitext", ["/etc/foo/bar.tar", ".gz"]),
        ("'/a/' | basename", ""),
        ("'/a/b/' | dirname", "/a/b"),
        ("'/etc/a' | relpath('/etc/b')", "../a"),
        ("['/a', 'b', '/c'] | path_join", "/c"),
        ("['a', 'b'] | path_join", "a/b"),
        ("'a' | path_join", "a"),
        ("['/a/b', '/a/c'] | commonpath", "/a"),
        ("'/a/../b' | normpath", "/b"),
        ("'/usr/..' | realpath", "/"),
        ("'/etc/host?' | fileglob", ["/etc/hosts"]),
    ],
)
def test_paths_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("5 | basename", "filter 'basename': expected str, bytes or os.PathLike object, not int"),
        (
            "none_ | dirname",
            "filter 'dirname': expected str, bytes or os.PathLike object, not NoneTyp",
        ),
    ],
)
def test_paths_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
