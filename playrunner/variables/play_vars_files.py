"""vars_files: files of variables that a play names, read for each host, since their names may
depend on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playrunner.errors import BadInput
from playrunner.text.documents import read_yaml
from playrunner.variables.scope import Scope


def read_vars_files(
    entries: Sequence[Any], scope_with: Callable[[Mapping[str, Any]], Scope]
) -> dict[str, Any]:
    """What the files say; of a list of names the first that exists is taken. A later file sees what
    earlier ones say."""
    found: dict[str, Any] = {}
    for entry in entries:
        names = entry if isinstance(entry, list) else [entry]
        scope = scope_with(found)
        for last, name in zip([False] * (len(names) - 1) + [True], names, strict=True):
            try:
                path = scope.find(str(scope.world.templar.render(name, scope)), "vars")
            except BadInput:
                if last:
                    raise
                continue
            values = read_yaml(path) or {}
            if not isinstance(values, dict):
                raise BadInput(f"{path}: a file of variables holds a mapping of names to values")
            found.update(values)
            break
    return found
