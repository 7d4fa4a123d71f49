"""What running a template may raise, and how it is said."""

from __future__ import annotations

import jinja2

# What Python raises when values do not fit an operation; anything else is a defect.
VALUE_ERRORS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, OSError)
CAUGHT = (*VALUE_ERRORS, jinja2.TemplateError)


def reason_of(error: Exception) -> str:
    if isinstance(error, jinja2.TemplateNotFound):
        return f"no template {error.name!r} is found"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    return str(error)
