"""The version test. Expected values were taken from ansible-core 2.19."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.errors import PlayrunnerError
from playrunner.text.written import written
from playrunner.variables.templating import Templar
from tests.support.templating import World

VARIABLES: dict[str, Any] = {"ver": "1.10.2"}


def render(expression: str) -> Any:
    templar = Templar()
    return templar.render(written("{{ " + expression + " }}"), World(templar, **VARIABLES))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("ver is version('1.9', '>')", True),
        ("ver is version('1.9', '>', strict=true)", True),
        ("ver is version('1.10.2')", True),
        ("ver is version_compare('2', 'lt')", True),
        ("'1.0' is version('1', '==')", False),
        ("'1.2' is version('1.2.0', '<')", True),
        ("'1.2.3' is version('1.2', '>=')", True),
        ("'5.15.0-91-generic' is version('5.10', '>')", True),
        ("22.04 is version('20.04', '>=')", True),
        ("'v1.2' is version('v1.10', '<')", True),
        ("'1-2' is version('1-10', '<')", True),
        ("'1.0' is version('1.0', '<>')", False),
        ("'1.0' is version('1.0', '=')", True),
        ("'2.0.0' is version('2.0', '==', version_type='strict')", True),
        ("'1.2b1' is version('1.2', 'lt', strict=true)", True),
        ("ver is version('1.10.2-rc1', 'gt', version_type='semver')", True),
        ("'1.0.0-rc1' is version('1.0.0', '<', version_type='semver')", True),
        ("'1.0.0+a' is version('1.0.0', '==', version_type='semver')", True),
        ("'1.0.0-alpha.1' is version('1.0.0-alpha.beta', '<', version_type='semver')", True),
        ("'1.0rc1' is version('1.0', '<', version_type='pep440')", True),
        ("'1!1.0' is version('2.0', '>', version_type='pep440')", True),
    ],
)
def test_versions_give_what_ansible_gives(expression: str, value: Any) -> None:
    found = render(expression)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "ver is version('2', '~')",
            "test 'version': there is no operator '~'; there are ==, =, eq, !=, <>, n",
        ),
        ("ver is version('', '>')", "test 'version': a version to compare is empty"),
        (
            "'1.a' is version('1.1', '<')",
            "test 'version': '1.a' and '1.1' differ in form, so they have no order",
        ),
        (
            "'1.2' is version('1.2.0', '==', version_type='semver')",
            "test 'version': '1.2' is not a semantic version such as 1.2.3 or 1.2.3-r",
        ),
        (
            "'1' is version('1', strict=true)",
            "test 'version': '1' is not a strict version such as 1.2 or 1.2.3b1",
        ),
        (
            "'x' is version('1', version_type='pep440')",
            "test 'version': 'x' is not a Python version such as 1.2 or 1.2rc1",
        ),
        (
            "'1' is version('2', version_type='odd')",
            "test 'version': there is no version_type 'odd'; there are loose, strict,",
        ),
        (
            "'1.0' is version('1.0', strict=true, version_type='loose')",
            "test 'version': give strict or version_type, not both",
        ),
    ],
)
def test_versions_say_what_they_cannot_do(expression: str, message: str) -> None:
    with pytest.raises(PlayrunnerError) as caught:
        render(expression)
    assert message in str(caught.value)
