"""Rendering a keyword of a task, block or play; one that gives `omit` is as good as not written."""

from __future__ import annotations

from typing import Any

from playrunner.text.written import InheritingText, is_template
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import Scope


def rendered_keyword(value: Any, scope: Scope) -> Any:
    """The value, perhaps of the block or play around it; None where it is omitted everywhere."""
    rendered = scope.run_vars.templar.render(value, scope) if is_template(value) else value
    if rendered is not OMIT:
        return rendered
    return rendered_keyword(value.outer, scope) if isinstance(value, InheritingText) else None
