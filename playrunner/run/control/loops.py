"""Loops: the items a step is repeated for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from playrunner.errors import Place, StepFailed, UndefinedVariable
from playrunner.model import Loop, Step
from playrunner.playbook import keyword_values
from playrunner.run.inflight import LoopItem
from playrunner.text.written import authored, is_template
from playrunner.variables.scope import Scope

_SKIPPING_UNDEFINED = ("first_found", "ansible.builtin.first_found")


def loop_items(
    loop: Loop, scope: Scope, step: Step, sleep: Callable[[float], None]
) -> Iterator[LoopItem]:
    items, place = items_of(loop, scope, step.module), step.place
    if is_template(loop.loop_var) or is_template(loop.index_var):
        loop = _with_rendered_names(loop, scope, place)
    pause = keyword_values.number("pause", loop.pause_seconds or 0, scope, place)
    return _loop_items(loop, scope, items, pause, sleep)


def _with_rendered_names(loop: Loop, scope: Scope, place: Place) -> Loop:
    def named(word: str, value: str | None) -> str:
        return keyword_values.name(word, value, scope, place)

    index = None if loop.index_var is None else named("index_var", loop.index_var)
    return replace(loop, loop_var=named("loop_var", loop.loop_var), index_var=index)


def items_of(loop: Loop, scope: Scope, module: str) -> list[Any]:
    traced = scope.traced()
    items = _items(loop, traced, module)
    return items if traced.foreign else authored(items)


def _items(loop: Loop, scope: Scope, module: str) -> list[Any]:
    options = {}
    if loop.lookup in _SKIPPING_UNDEFINED:
        # Files that are named after a fact which not every host has are passed over.
        sources = loop.source if isinstance(loop.source, list) else [loop.source]
        value: Any = scope.run_vars.templar.render_defined(sources, scope)
        options["_subdir"] = _folder_of(module)
    else:
        value = scope.run_vars.templar.render(loop.source, scope)
    if loop.lookup is None:
        if not isinstance(value, (list, tuple)):
            raise StepFailed(
                f'loop needs a list, not {value!r}; a mapping becomes one with "| dict2items"'
            )
        return list(value)
    from playrunner.variables.lookups.lookups import run_lookup

    terms = value if isinstance(value, list) else [value]
    return run_lookup(loop.lookup, terms, scope, **options)


def _folder_of(module: str) -> str:
    """The folder of a role that holds a module's files, which its name decides."""
    return next((f"{kind}s" for kind in ("template", "var") if kind in module), "files")


def _loop_items(
    loop: Loop, scope: Scope, items: list[Any], pause: float, sleep: Callable[[float], None]
) -> Iterator[LoopItem]:
    for number, item in enumerate(items):
        if number and pause:
            sleep(pause)
        local = {loop.loop_var: item, "ansible_loop_var": loop.loop_var}
        if loop.index_var:
            local[loop.index_var] = number
            local["ansible_index_var"] = loop.index_var
        if loop.extended:
            local["ansible_loop"] = _extended(loop, items, number)
        inner = scope.inner(local)
        label = _label(loop, item, inner)
        yield LoopItem(inner, local, str(item) if label is None else label, label is None)


def _extended(loop: Loop, items: list[Any], number: int) -> dict[str, Any]:
    count = len(items)
    variables: dict[str, Any] = {"allitems": items} if loop.all_items else {}
    variables |= {
        "index": number + 1,
        "index0": number,
        "revindex": count - number,
        "revindex0": count - number - 1,
        "first": number == 0,
        "last": number == count - 1,
        "length": count,
    }
    if number:
        variables["previtem"] = items[number - 1]
    if number < count - 1:
        variables["nextitem"] = items[number + 1]
    return variables


def _label(loop: Loop, item: Any, scope: Scope) -> str | None:
    """The label of an item; None where it may read the item's own result."""
    if loop.label is None:
        return str(item)
    try:
        return str(scope.run_vars.templar.render(loop.label, scope))
    except UndefinedVariable:
        return None
