"""What running a template may raise, and how it is said."""

from __future__ import annotations

import jinja2

# What an expression raises when its values do not fit; anything else is a defect.
CAUGHT = (
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    OSError,
    jinja2.TemplateError,
)


def reason_of(error: Exception) -> str:
    if isinstance(error, jinja2.TemplateNotFound):
        return f"no template {error.name!r} is found"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    return str(error)
