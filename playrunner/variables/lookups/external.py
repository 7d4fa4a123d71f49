"""Lookups written for Ansible: in lookup_plugins/, in collections, and those of ansible-core that
are none of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError, StepFailed
from playrunner.plugins import ansible_library, collections, folders
from playrunner.plugins.values import as_data, as_given
from playrunner.variables.lookups.lookup_scope import LookupScope
from playrunner.variables.template_scope import MISSING

Lookup = Callable[..., list[Any]]


def overriding_lookup(name: str) -> Lookup | None:
    """One of lookup_plugins/, which wins over ours of the same short name."""
    short = name.removeprefix("ansible.legacy.")
    if "." in short or not folders.has_any("lookup"):
        return None
    for folder in folders.folders("lookup"):
        if (folder / f"{short}.py").is_file():
            return _calling(short)
    return None


def external_lookup(name: str) -> Lookup | None:
    """One of a collection or of ansible-core; None if there is none."""
    if not ansible_library.is_installed():
        return None
    full = name
    if not collections.is_qualified(name):
        full = collections.builtin_redirect("lookup", name) or f"{collections.BUILTIN}.{name}"
    full = collections.redirected("lookup", full)
    collection, leaf = collections.split_name(full)
    folder = (
        collections.ansible_folder()
        if collection == collections.BUILTIN
        else collections.collection_folder(collection)
    )
    if folder is None or not (folder / "plugins/lookup" / f"{leaf}.py").is_file():
        return None
    return _calling(full)


def _calling(name: str) -> Lookup:
    def call(terms: list[Any], scope: LookupScope, **options: Any) -> list[Any]:
        variables = ScopeVariables(scope)
        folder = str(variables.get("playbook_dir") or ".")
        try:
            with ansible_library.lock():
                plugin = ansible_library.loader("lookup").get(
                    name,
                    loader=ansible_library.data_loader(folder),
                    templar=RenderedAlready(variables),
                )
            if plugin is None:
                raise BadInput(f"there is no lookup {name!r}")
            # Not under the lock: a variable that it reads may have to wait for another host
            result = plugin.run(
                [as_given(term) for term in terms],
                variables=variables,
                **{option: as_given(value) for option, value in options.items()},
            )
        except PlayrunnerError:
            raise
        except Exception as error:  # Ansible's errors, and the plugin's own
            raise StepFailed(f"lookup {name!r}: {error}") from None
        values: list[Any] = as_data(list(result) if result is not None else [])
        return values

    return call


class ScopeVariables(Mapping[str, Any]):
    """The variables of a scope as a mapping, each looked up when it is read."""

    def __init__(self, scope: LookupScope) -> None:
        self._scope = scope

    def __getitem__(self, name: str) -> Any:
        value = self._scope.lookup(name)
        if value is MISSING:
            raise KeyError(name)
        return as_given(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> ScopeVariables:
        return self


class RenderedAlready:
    """What plugins see as the templar: what they are given has no templates left in it."""

    def __init__(self, variables: ScopeVariables) -> None:
        self.available_variables = variables

    def template(self, variable: Any, *_: Any, **__: Any) -> Any:
        return variable

    @property
    def _engine(self) -> _NamesOnly:
        return _NamesOnly(self.available_variables)


class _NamesOnly:
    """Evaluates the names of variables for plugins that ask for an expression's value."""

    def __init__(self, variables: ScopeVariables) -> None:
        self._variables = variables

    def extend(self, **_: Any) -> _NamesOnly:
        return self

    def evaluate_expression(self, expression: str, **_: Any) -> Any:
        """The value of a variable; other text may have come from a host and is not evaluated."""
        if not expression.isidentifier():
            raise ValueError(f"only the name of a variable is evaluated here, not {expression!r}")
        return self._variables[expression]
