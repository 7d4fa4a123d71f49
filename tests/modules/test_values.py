"""Modules are values: their arguments are set once, and what a method finds is kept elsewhere."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest

from playrunner.hostside.module import Module
from playrunner.playbook.module_index import module_class, names

NAMES = sorted(names())


def classes_of(name: str) -> list[type]:
    """The module's class and those of ours that it inherits from."""
    return [
        each
        for each in module_class(name).__mro__
        if issubclass(each, Module) and each is not Module
    ]


@cache
def assigned_by(cls: type) -> list[str]:
    """Once for each class: many modules share one, and finding its source parses the whole file."""
    return assignments(inspect.getsource(cls))


def assignments(source: str) -> list[str]:
    """What a class assigns to `self`, or to what `self` holds."""
    targets: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            targets.append(node.target)
        elif isinstance(node, ast.Delete):
            targets += node.targets
    flat = [part for target in targets for part in _parts(target)]
    return [ast.unparse(target) for target in flat if _is_of_self(target)]


def _parts(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [part for element in target.elts for part in _parts(element)]
    return [target.value] if isinstance(target, ast.Starred) else [target]


def _is_of_self(target: ast.expr) -> bool:
    inside = target
    while isinstance(inside, ast.Attribute | ast.Subscript):
        inside = inside.value
    return inside is not target and isinstance(inside, ast.Name) and inside.id == "self"


@pytest.mark.parametrize("name", NAMES)
def test_no_module_keeps_anything_on_itself(name: str) -> None:
    kept = {each.__name__: found for each in classes_of(name) if (found := assigned_by(each))}
    assert kept == {}, f"{Path(inspect.getfile(module_class(name))).name}: use ctx.memory"


@pytest.mark.parametrize("name", NAMES)
def test_a_module_refuses_to_be_changed(name: str) -> None:
    module = module_class(name)()
    with pytest.raises(AttributeError, match="never changes"):
        module.name = "another"  # type: ignore[attr-defined]


def test_an_assignment_is_found_wherever_it_hides() -> None:
    source = """class A:
    def b(self):
        self.a = 1
        self.b: int = 2
        self.c += 1
        x, (self.d, *self.e) = 1, (2, 3)
        self.f["x"] = 1
        x = self.g
        self.h(x)[1].i = 2
        del self.j
"""
    assert set(assignments(source)) == {
        "self.a",
        "self.b",
        "self.c",
        "self.d",
        "self.e",
        "self.f['x']",
        "self.j",
    }
