"""Templates in playbooks and files, as the rest of the program uses them.

A `Templar` renders values for a `Scope`, which looks up the variables that a template reads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from playrunner.errors import NotDecrypted, StepFailed, UndefinedVariable
from playrunner.text.written import EncryptedText, TemplateText, is_template
from playrunner.variables.template_scope import MISSING, Scope

if TYPE_CHECKING:
    from playrunner.variables.template_engine import TemplateEngine

__all__ = ["MISSING", "Scope", "Templar", "default_templar", "is_template"]


class Templar:
    """Renders values and evaluates conditions.

    What runs templates is loaded with the first one: that takes as long as all else that a play
    loads before it contacts its hosts.
    """

    def __init__(self) -> None:
        self._made: TemplateEngine | None = None
        self._making = threading.Lock()

    @property
    def _engine(self) -> TemplateEngine:
        if self._made is None:
            with self._making:  # hosts' threads may meet their first templates at the same moment
                if self._made is None:
                    from playrunner.variables.template_engine import TemplateEngine

                    self._made = TemplateEngine()
        return self._made

    def use_extensions(self, names: Iterable[str]) -> None:
        """Add extensions of jinja2 to all templates, by their import paths."""
        self._engine.use_extensions(names)

    def check_syntax(self, text: str) -> str | None:
        """What is wrong with a template, with the line inside it; None when it can be compiled."""
        return self._engine.check_syntax(text)

    def check_expression(self, text: str) -> str | None:
        """The same for a bare expression, as in `when`."""
        return self._engine.check_expression(text)

    def render(self, value: Any, scope: Scope, *, keys: bool = True) -> Any:
        """The value with every template in it rendered; a lone expression keeps its type."""
        if isinstance(value, str):
            return self._engine.text(value, scope) if isinstance(value, TemplateText) else value
        if isinstance(value, dict):
            return {
                self._engine.text(key, scope) if keys and is_template(key) else key: self.render(
                    each, scope, keys=keys
                )
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.render(each, scope, keys=keys) for each in value]
        return value

    def render_variable(self, value: Any, scope: Scope) -> Any:
        """Like `render`, for a variable's value: an undefined leaf fails only the templates that
        use it."""
        if isinstance(value, str):
            try:
                return self._engine.text(value, scope) if is_template(value) else value
            except UndefinedVariable as error:
                from playrunner.variables.filters.undefined import Missing

                return Missing(hint=str(error), name=error.name)
            except NotDecrypted as error:
                from playrunner.variables.filters.undefined import Undecryptable

                return Undecryptable(error)
        if isinstance(value, dict):
            return {key: self.render_variable(each, scope) for key, each in value.items()}
        if isinstance(value, list):
            return [self.render_variable(each, scope) for each in value]
        return value

    def render_defined(self, value: Any, scope: Scope) -> Any:
        """Like `render`, without the parts of lists and mappings that are undefined."""
        if isinstance(value, TemplateText) and not isinstance(value, EncryptedText):
            return self._engine.defined(value, scope)
        if isinstance(value, dict):
            return {key: self.render_defined(each, scope) for key, each in value.items()}
        if isinstance(value, list):
            return list(self._defined(value, scope))
        return self.render(value, scope)

    def _defined(self, values: list[Any], scope: Scope) -> Iterator[Any]:
        for value in values:
            try:
                yield self.render_defined(value, scope)
            except UndefinedVariable:
                continue

    def evaluate(self, expression: str | bool, scope: Scope) -> Any:
        """The value of an expression, as in `until` or `failed_when`; only authored text is
        evaluated."""
        if not isinstance(expression, str):
            return expression
        return self._engine.evaluate(expression, scope)

    def truth(self, condition: Any, scope: Scope) -> bool:
        """Whether a `when` holds: a list means all of it, nothing at all means yes."""
        if isinstance(condition, list):
            return all(self.truth(each, scope) for each in condition)
        if condition is None or isinstance(condition, bool):
            return condition is not False
        if not isinstance(condition, str):
            raise StepFailed(f"a condition is an expression, not {condition!r}")
        if not condition.strip():
            raise StepFailed(
                "the condition is empty; leave the keyword out, or write an expression"
            )
        value = self.evaluate(condition, scope)
        if isinstance(value, bool):
            return value
        raise StepFailed(
            f"the condition `{condition}` gives a {_kind(value)}, not true or false;"
            " write what is asked: `x | bool`, `x is defined`, `x | length > 0`, `x != ''`"
        )

    def render_file(self, text: str, scope: Scope, *, name: str, **options: Any) -> str:
        """The text of a template file; what it includes is looked for in the option `folders`, then
        by the scope."""
        return self._engine.render_file(text, scope, name=name, **options)


def _kind(value: object) -> str:
    return "str" if isinstance(value, str) else type(value).__name__


default_templar = Templar()  # shared by loading and running: each text is compiled once
