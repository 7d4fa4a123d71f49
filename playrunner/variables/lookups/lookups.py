"""Lookups: values from outside the variables, and the lists behind `with_<name>`.

A lookup is a function of terms, the scope and options that returns a list.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import nodes, pass_context

from playrunner.errors import BadInput, StepFailed, UndefinedVariable
from playrunner.plugins import ansible_library
from playrunner.plugins.collections import is_qualified
from playrunner.project import install_extra
from playrunner.variables.filters.undefined import did_you_mean, require
from playrunner.variables.lookups.external import external_lookup, overriding_lookup
from playrunner.variables.lookups.lists import (
    as_given,
    dict_items,
    indexed_items,
    items,
    nested,
    random_choice,
    subelements,
    together,
)
from playrunner.variables.lookups.lookup_scope import LookupScope
from playrunner.variables.lookups.outside import (
    file,
    fileglob,
    first_found,
    lines,
    pipe,
    unvault,
)
from playrunner.variables.lookups.passwords import password
from playrunner.variables.lookups.sequence import sequence
from playrunner.variables.lookups.settings import config
from playrunner.variables.lookups.tables import csvfile, ini
from playrunner.variables.template_scope import MISSING

_CAUGHT = (TypeError, ValueError, LookupError, AttributeError, OSError)


Lookup = Callable[..., list[Any]]


def run_lookup(name: str, terms: Any, scope: LookupScope, **options: Any) -> list[Any]:
    """The list a lookup gives; failures name the lookup."""
    short = short_name(name)
    function = find_lookup(name, LOOKUPS)
    if function is None:
        raise BadInput(unknown_lookup(name))
    return call_lookup(short, function, terms, scope, options)


def find_lookup(name: str, own: Mapping[str, Lookup]) -> Lookup | None:
    """The lookup of this name: of lookup_plugins/, ours, or of a collection."""
    return overriding_lookup(name) or own.get(short_name(name)) or external_lookup(name)


def call_lookup(
    name: str, function: Lookup, terms: Any, scope: LookupScope, options: Mapping[str, Any]
) -> list[Any]:
    values = terms if isinstance(terms, list) else [terms]
    require(values)
    # A default may be undefined, which the lookup then is
    require(value for option, value in options.items() if option != "default")
    if name not in _PURE:
        scope.wait_for_steps()
    try:
        return function(values, scope, **options)
    except _CAUGHT as error:
        raise StepFailed(f"lookup {name!r}: {_reason(error)}") from None


class LookupFunctions:
    """`lookup` and `query` as templates call them."""

    def __init__(self, lookups: Mapping[str, Lookup]) -> None:
        self._lookups = lookups
        self.by_name: dict[str, Callable[..., Any]] = {
            "lookup": self.lookup,
            "query": self.query,
            "q": self.query,
        }

    @pass_context
    def query(
        self, context: Any, name: str, *terms: Any, errors: str = "strict", **options: Any
    ) -> list[Any]:
        """All that is found, as a list."""
        options.pop("wantlist", None)
        return self._found(context, name, terms, errors, options) or []

    @pass_context
    def lookup(
        self, context: Any, name: str, *terms: Any, errors: str = "strict", **options: Any
    ) -> Any:
        """The one thing that is found; texts are joined with commas, other values stay a list."""
        if options.pop("wantlist", False):
            return self._found(context, name, terms, errors, options) or []
        result = self._found(context, name, terms, errors, options)
        if result is None or len(result) == 0:
            return result
        if len(result) == 1:
            return result[0]
        return ",".join(result) if all(isinstance(each, str) for each in result) else result

    def unknown(self, tree: nodes.Template) -> str | None:
        """What is wrong with the first lookup in a template that does not exist, or None."""
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in self.by_name and call.args:
                first = call.args[0]
                if (
                    isinstance(first, nodes.Const)
                    and find_lookup(str(first.value), self._lookups) is None
                ):
                    return f"line {call.lineno}: {unknown_lookup(str(first.value))}"
        return None

    def _found(
        self, context: Any, name: str, terms: tuple[Any, ...], errors: str, options: dict[str, Any]
    ) -> list[Any] | None:
        short = short_name(name)
        function = find_lookup(name, self._lookups)
        if function is None:
            raise StepFailed(unknown_lookup(name))
        if context.scope is None:
            raise StepFailed("a lookup in an imported template needs `import ... with context`")
        try:
            return call_lookup(short, function, list(terms), context.scope, options)
        except (StepFailed, BadInput):
            if errors in ("ignore", "warn"):
                return None
            raise


def short_name(name: str) -> str:
    return name.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")


def unknown_lookup(name: str) -> str:
    if is_qualified(name) and not ansible_library.is_installed():
        return f"lookup {name!r} needs ansible-core beside this program: {install_extra('ansible')}"
    instead = _INSTEAD.get(short_name(name))
    if instead:
        return f"lookup {name!r} is not supported; {instead}"
    return f"there is no lookup {name!r}{did_you_mean(short_name(name), [*LOOKUPS, 'template'])}"


def env(terms: list[Any], _scope: LookupScope, default: Any = "") -> list[Any]:
    """Environment variables of the controller."""
    return [os.environ.get(str(term), default) for term in terms]


def variables(terms: list[Any], scope: LookupScope, **options: Any) -> list[Any]:
    """Variables by name, with an optional default."""
    for term in terms:
        if not isinstance(term, str):
            raise TypeError(f"Variable name must be 'str' not {type(term).__name__!r}")
    return [_variable(term, scope, options) for term in terms]


def variable_names(terms: list[Any], scope: LookupScope) -> list[str]:
    """The names of variables that match one of the patterns."""
    import re

    for term in terms:
        if not isinstance(term, str):
            raise ValueError(f"Invalid setting identifier, {term!r} is not a string")
    names = sorted(scope.names())
    try:
        return [name for term in terms for name in names if re.search(str(term), name)]
    except re.error as error:
        raise ValueError(f"Unable to use {terms} as a search parameter: {error}") from None


LOOKUPS: dict[str, Lookup] = {
    "config": config,
    "env": env,
    "vars": variables,
    "varnames": variable_names,
    "file": file,
    "unvault": unvault,
    "fileglob": fileglob,
    "pipe": pipe,
    "lines": lines,
    "items": items,
    "list": as_given,
    "dict": dict_items,
    "indexed_items": indexed_items,
    "together": together,
    "nested": nested,
    "cartesian": nested,
    "subelements": subelements,
    "random_choice": random_choice,
    "sequence": sequence,
    "first_found": first_found,
    "ini": ini,
    "csvfile": csvfile,
    "password": password,
}

# These touch nothing but their terms and what the scope knows, so no earlier step needs to be done.
_PURE = LOOKUPS.keys() - {
    "varnames",
    "file",
    "unvault",
    "fileglob",
    "pipe",
    "lines",
    "first_found",
    "ini",
    "csvfile",
    "password",
}

_INSTEAD = {
    "url": "use lookup('pipe', 'curl -fsS URL'), or a step with the module uri",
    "inventory_hostnames": "use the variable groups, as in groups['all']",
}


def _variable(name: str, scope: LookupScope, options: Mapping[str, Any]) -> Any:
    value = scope.lookup(name)
    if value is not MISSING:
        return value
    if "default" in options:
        return options["default"]
    hint = did_you_mean(name, scope.names())
    raise UndefinedVariable(f"No variable named {name!r} was found{hint}", name)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
