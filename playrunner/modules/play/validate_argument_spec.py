"""play.validate_argument_spec: values checked against a specification of their types."""

from __future__ import annotations

from typing import Any

from playrunner.errors import UndefinedVariable
from playrunner.hostside.module import Failed, Probe
from playrunner.playbook.argument_spec import spec_errors
from playrunner.run.context import Context
from playrunner.variables.filters.undefined import require
from playrunner.variables.template_scope import MISSING


class ValidateArgumentSpec(Probe):
    """Values, or the variables of the same names, checked against a specification."""

    in_memory = True

    argument_spec: dict[str, Any]  # names with type, required, default, choices, elements, options
    provided_arguments: dict[str, Any] = {}  # values that are checked instead of variables
    validate_args_context: dict[str, Any] = {}  # what the check is for; part of the result

    def look(self, ctx: Context) -> dict[str, Any]:
        spec = self.argument_spec
        if any(not isinstance(each, dict) for each in spec.values()):
            raise Failed("argument_spec is a mapping of names to mappings")
        context = {"validate_args_context": dict(self.validate_args_context)}
        values = {**_from_variables(ctx, spec), **self.provided_arguments}
        errors = spec_errors(spec, values)
        if errors:
            raise Failed(
                "Validation of arguments failed:\n" + "\n".join(errors),
                argument_errors=errors,
                argument_spec_data=spec,
                **context,
            )
        return {"msg": "The arg spec validation passed", **context}


def _from_variables(ctx: Context, spec: dict[str, Any]) -> dict[str, Any]:
    values = {}
    for name in spec:
        value = ctx.scope.given(str(name))
        if value is not MISSING:
            try:
                require([value])
            except UndefinedVariable as error:
                raise Failed(f'the variable "{name}" cannot be read: {error}') from None
            values[name] = value
    return values
