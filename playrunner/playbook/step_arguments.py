"""A step's arguments as they are checked: with module_defaults, under their own names, and for a
module whose name is a template, once it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.hostside.module import Module
from playrunner.model import Step
from playrunner.playbook import action_groups, arguments, external_modules, module_index
from playrunner.playbook.task_module import WHOLE, module_named, raw_arguments
from playrunner.text.documents import Located
from playrunner.text.written import is_template

RESERVED = "_ansible_"  # what arguments of ansible-core's own begin with


class ReservedArgument(BadInput):
    """An argument that no task may have, whatever it does about failures."""


def checked_arguments(
    given: Mapping[str, Any],
    module: str,
    defaults: Sequence[Mapping[str, Any]],
    label: str,
    place: Place,
) -> tuple[Mapping[str, Any], tuple[Any, ...]]:
    """The arguments of a step, and the templates that give further ones."""
    cls, whole = module_index.module_class(module), given.get(WHOLE, ())
    if reserved := sorted(name for name in map(str, given) if name.startswith(RESERVED)):
        raise ReservedArgument(
            f"Invalid parameter specified beginning with keyword '{RESERVED}' for action"
            f" '{module.rpartition('.')[2]}': '{', '.join(reserved)}'. The prefix '{RESERVED}' is"
            " reserved for internal use only.",
            place,
        )
    values = {name: value for name, value in given.items() if name != WHOLE} if whole else given
    if not cls.takes_any and not whole:
        values = _checked(_with_defaults(values, module, defaults), values, cls, label, place)
    elif external_modules.is_external(module):
        external_modules.check_runnable(module, place)
        values = _with_place(dict(_with_defaults(values, module, defaults)), values)
    return values, whole


def unchosen_arguments(task: Located, word: str, in_collections: tuple[str, ...]) -> dict[str, Any]:
    """What is kept of a task whose module a template names, until the template is rendered."""
    return {"task": task, "word": word, "collections": in_collections}


def step_with_module(step: Step, name: str) -> Step:
    """A step whose module was named by a template, now that the name is known."""
    kept: Any = step.arguments
    module = module_named(name, kept["collections"], step.place)
    given = raw_arguments(kept["task"], kept["word"], module)
    values, whole = checked_arguments(
        given, module, step.keywords.module_defaults, module, step.place
    )
    return replace(step, module=module, arguments=values, whole=whole, action=name)


def _checked(
    given: Mapping[str, Any], original: Mapping[str, Any], cls: type[Module], label: str, at: Place
) -> Mapping[str, Any]:
    """The arguments under their own names; literal ones can be converted to their types."""
    values = _with_place(arguments.checked_names(cls, given, label, at), original)
    literals = {name: value for name, value in values.items() if is_literal(value)}
    arguments.converted(cls, literals, label, at)
    return values


def _with_defaults(
    own: Mapping[str, Any], module: str, layers: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    result: dict[str, Any] = {}
    for layer in layers:
        for name, values in layer.items():
            if isinstance(values, dict) and _names_module(str(name), module):
                result.update(values)
    return {**result, **own} if result else own


def _names_module(name: str, module: str) -> bool:
    if name.startswith("group/"):
        return action_groups.has_member(name, module)
    if module_index.canonical(name) == module:
        return True
    # What library/ replaces: defaults by the short name are those of ansible-core's module, too
    short = name.removeprefix("ansible.legacy.")
    return "." not in short and module_index.canonical(f"ansible.builtin.{short}") == module


def _with_place(named: dict[str, Any], original: Mapping[str, Any]) -> Mapping[str, Any]:
    return original.with_items(named) if isinstance(original, Located) else named


def is_literal(value: Any) -> bool:
    if isinstance(value, dict):
        return all(is_literal(inner) for inner in value.values())
    if isinstance(value, list):
        return all(is_literal(inner) for inner in value)
    return not is_template(value)
