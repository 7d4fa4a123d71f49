"""vars_files: files of variables that a play names, read for each host, since their names may
depend on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.text.documents import read_variables
from playrunner.text.layered import Layered
from playrunner.variables.host_memory import PlayVariables, RunVariables
from playrunner.variables.scope import Scope


def read_vars_files(
    entries: Sequence[Any], scope_with: Callable[[Mapping[str, Any]], Scope]
) -> Layered:
    """The variables of the files; of a list of names the first that exists is read. A later file
    sees the variables of earlier ones."""
    variables = Layered()
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
                variables.add(mapping)
            break
    return variables


def files_of_play(run_vars: RunVariables, variables: PlayVariables) -> Layered:
    """The vars_files of a play as far as they need no host to be found."""
    try:
        return read_vars_files(
            variables.play.vars_files,
            lambda files: Scope(run_vars, "localhost", variables, files=files),
        )
    except PlayrunnerError:  # refused when a host reads it, unless it is found then
        return Layered()
