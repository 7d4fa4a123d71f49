"""What a module imports when it starts, apart from Ansible's library and collections.

A host imports these before it forks for the module, so that the next ones find them imported.
Imports inside functions are left out: whether they are reached is known when the module runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

Import = tuple[str, tuple[str, ...]]  # a module, and the names taken from it

_OURS = ("ansible", "ansible_collections")


def imports_of(tree: ast.Module, name: str, package: bool) -> list[Import]:
    """The imports that run with the file itself."""
    return list(_of_statements(tree.body, name.split("."), package))


def foreign(files: Mapping[str, Sequence[Import]], main: str) -> list[Import]:
    """What is imported by `main` and by those of `files` that it imports, in their order."""
    imports: dict[Import, None] = {}
    _follow(main, files, imports, set())
    return list(imports)


def _follow(
    name: str, files: Mapping[str, Sequence[Import]], imports: dict[Import, None], seen: set[str]
) -> None:
    if name in seen:
        return
    seen.add(name)
    for base, names in files.get(name, ()):
        if base.partition(".")[0] in _OURS:
            for inner in (base, *(f"{base}.{leaf}" for leaf in names)):
                _follow(inner, files, imports, seen)
        else:
            imports[(base, names)] = None


def _of_statements(
    statements: Sequence[ast.AST], parts: list[str], package: bool
) -> Iterator[Import]:
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from ((alias.name, ()) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            kept = parts[: len(parts) - statement.level + package] if statement.level else []
            base = ".".join([*kept, *([statement.module] if statement.module else [])])
            yield base, tuple(alias.name for alias in statement.names if alias.name != "*")
        elif not _is_left_out(statement):
            yield from _of_statements(list(ast.iter_child_nodes(statement)), parts, package)


def _is_left_out(statement: ast.AST) -> bool:
    """A function, or `if TYPE_CHECKING:`, also as an attribute of `typing`."""
    if isinstance(statement, ast.If):
        test = statement.test
        return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
