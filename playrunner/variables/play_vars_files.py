"""vars_files: files of variables that a play names, read for each host, since their names may
depend on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playrunner.errors import BadInput
from playrunner.text.documents import read_variables
from playrunner.variables.scope import Scope


def read_vars_files(
    entries: Sequence[Any], scope_with: Callable[[Mapping[str, Any]], Scope]
) -> dict[str, Any]:
    """The variables of the files; of a list of names the first that exists is read. A later file
    sees the variables of earlier ones."""
    variables: dict[str, Any] = {}
    for entry in entries:
        names = entry if isinstance(entry, list) else [entry]
        scope = scope_with(variables)
        for last, name in zip([False] * (len(names) - 1) + [True], names, strict=True):
            try:
                path = scope.find(str(scope.run_vars.templar.render(name, scope)), "vars")
            except BadInput:
                if last:
                    raise
                continue
            values = read_variables(path) or {}
            for mapping in values if isinstance(values, list) else [values]:  # Ansible takes both
                if not isinstance(mapping, dict):
                    raise BadInput(
                        f"{path}: a file of variables holds a mapping of names to values"
                    )
                variables.update(mapping)
            break
    return variables
