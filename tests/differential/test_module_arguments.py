"""Every module of ansible.builtin is here, with every argument that ansible-doc lists for it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from playrunner.hostside.module import Module
from playrunner.playbook import arguments
from playrunner.playbook.module_index import canonical, module_class

from . import ansible
from .record_arguments import RECORDED

MODULES: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text())["modules"]
# What differs on purpose: module -> argument (or "module" for all of it) -> the reason.
REASONS: dict[str, dict[str, str]] = yaml.safe_load(
    RECORDED.with_name("argument-reasons.yaml").read_text()
)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_takes_what_it_takes_in_ansible(name: str) -> None:
    reasons, full = REASONS.get(name, {}), canonical(name)
    if full is None and "module" in reasons:
        return
    assert full, f"there is no module {name}"
    problems = dict(_problems(module_class(full), MODULES[name]))
    assert {argument: text for argument, text in problems.items() if argument not in reasons} == {}


def test_every_reason_is_about_a_module_and_an_argument_of_ansible() -> None:
    assert set(REASONS) <= set(MODULES)
    for name, reasons in REASONS.items():
        assert set(reasons) <= {"module", *MODULES[name]}
        assert all(reasons.values())


@pytest.mark.skipif(
    os.environ.get("PLAYRUNNER_DIFFERENTIAL") != "live", reason="compares with a live ansible-doc"
)
def test_the_recorded_version_is_the_one_that_is_installed() -> None:
    assert json.loads(RECORDED.read_text())["ansible_core"] == ansible.core_version()


def _problems(module: type[Module], expected: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if module.takes_any:
        return
    ours = arguments.fields(module)
    for name, option in expected.items():
        spellings = [name, *option.get("aliases", [])]
        unknown = [word for word in spellings if module.aliases.get(word, word) not in ours]
        if unknown:
            yield name, f"does not take {', '.join(unknown)}"
            continue
        field = ours[module.aliases.get(name, name)]
        refused = [choice for choice in option.get("choices", []) if not _takes(field, choice)]
        if refused:
            yield name, f"does not take the choices {refused}"
        elif field.required and not option.get("required"):
            yield name, "is required here"
        elif "default" in option and not _same(field, option["default"]):
            yield name, f"has the default {field.default!r}, not {option['default']!r}"


def _takes(field: arguments.Field, choice: Any) -> bool:
    try:
        arguments.convert(choice, field.kind)
    except ValueError:
        return False
    return True


def _same(field: arguments.Field, default: Any) -> bool:
    if field.default == default:
        return True
    if field.required:
        return False
    try:
        return bool(arguments.convert(default, field.kind) == field.default)
    except ValueError:
        return False
