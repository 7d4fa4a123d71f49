"""The guard around every filter and test of a template: undefined values refused, failures
named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from playrunner.errors import PlayrunnerError, StepFailed
from playrunner.variables.filters import ACCEPT_MISSING, READ_FILES
from playrunner.variables.filters.plain import iterates
from playrunner.variables.filters.undefined import require
from playrunner.variables.template_errors import VALUE_ERRORS

_CAUGHT = (*VALUE_ERRORS, jinja2.TemplateRuntimeError)
_PREFIXES = ("", "ansible.builtin.", "ansible.legacy.")


def guarded(kind: str, functions: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """The functions by their short and their full names."""
    safe = {name: guard(kind, name, function) for name, function in functions.items()}
    return {prefix + name: function for prefix in _PREFIXES for name, function in safe.items()}


def guard(kind: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with undefined values refused, generators listed, and failures that name it."""
    passed = 1 if hasattr(function, "jinja_pass_arg") else 0
    tolerant = name in ACCEPT_MISSING

    def call(*args: Any, **options: Any) -> Any:
        if not tolerant:
            require(args[passed:])
            require(options.values())
        try:
            result = function(*args, **options)
            return list(result) if iterates(result) else result
        except PlayrunnerError:
            raise
        except _CAUGHT as error:
            reason = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise StepFailed(f"{kind} {name!r}: {reason}") from None

    if name in READ_FILES:

        @jinja2.pass_context
        def call_after_steps(context: Any, *args: Any, **options: Any) -> Any:
            if context.scope is not None:
                context.scope.wait_for_steps()
            return call(*args, **options)

        return call_after_steps
    return functools.update_wrapper(call, function, assigned=())
