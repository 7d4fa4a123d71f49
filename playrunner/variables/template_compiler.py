"""TemplateCompiler: texts to compiled templates and expressions, each compiled once."""

from __future__ import annotations

import jinja2
from jinja2 import nodes

from playrunner.errors import BadInput
from playrunner.variables.filters.embedded import embedded
from playrunner.variables.filters.environment import PlayEnvironment, ScopeTemplate
from playrunner.variables.filters.substitution import Substitution, substitution
from playrunner.variables.filters.unknown import FormerFilter, unknown_name
from playrunner.variables.lookups.lookups import LookupFunctions

# Compiling a text can also fail on the interpreter's limits: nesting, or too long numbers.
_TOO_MUCH = (RecursionError, MemoryError, ValueError, OverflowError, SyntaxError)


class _FormerFilter(BadInput):
    """A filter that ansible-core once had: the step that uses it fails when its turn has come."""


class TemplateCompiler:
    """Compiles texts; syntax errors and unknown filters, tests or lookups are bad input."""

    def __init__(self, environment: PlayEnvironment, lookups: LookupFunctions) -> None:
        self._environment, self._lookups = environment, lookups
        self._parsed: dict[str, nodes.Template] = {}
        self._templates: dict[str, ScopeTemplate | Substitution] = {}
        # And whether a text that the expression gives may be another expression
        self._expressions: dict[str, tuple[ScopeTemplate, bool]] = {}

    def template(self, text: str) -> ScopeTemplate | Substitution:
        template = self._templates.get(text)
        if template is None:
            template = substitution(text) or self._compiled(self.parse(text), text)
            self._templates[text] = template
            self._parsed.pop(text, None)
        return template

    def expression(self, text: str) -> tuple[ScopeTemplate, bool]:
        """A compiled expression, and whether a text it gives may be another expression."""
        compiled = self._expressions.get(text)
        if compiled is None:
            tree, opens = self._parse_expression(text)
            self._check_names(tree, text)
            compiled = self._expressions[text] = self._compiled(tree, text), opens
        return compiled

    def check_syntax(self, text: str) -> str | None:
        """What is wrong with a template, with the line inside it; None when it can be compiled."""
        try:
            if substitution(text) is None:
                self.parse(text)
        except _FormerFilter:
            return None
        except BadInput as error:
            return error.message
        return None

    def check_expression(self, text: str) -> str | None:
        """The same for a bare expression, as in `when`."""
        try:
            self._check_names(self._parse_expression(text)[0], text)
        except _FormerFilter:
            return None
        except BadInput as error:
            return error.message
        return None

    def parse(self, text: str) -> nodes.Template:
        tree = self._parsed.get(text)
        if tree is None:
            try:
                tree = self._environment.parse(text)
            except jinja2.TemplateSyntaxError as error:
                raise BadInput(
                    f"template syntax, line {error.lineno}: {error.message}, in `{short(text)}`"
                ) from None
            except _TOO_MUCH as error:
                raise _beyond_limits(error, text) from None
            self._check_names(tree, text)
            self._parsed[text] = tree
        return tree

    def _compiled(self, tree: nodes.Template, text: str) -> ScopeTemplate:
        try:
            return self._environment.make(tree)
        except _TOO_MUCH as error:
            raise _beyond_limits(error, text) from None

    def _parse_expression(self, text: str) -> tuple[nodes.Template, bool]:
        """An expression's tree, and whether it is only a template, whose text may be an
        expression."""
        try:
            parsed = embedded(self._environment, text)
        except jinja2.TemplateSyntaxError as error:
            raise BadInput(f"expression syntax: {error.message}, in `{short(text)}`") from None
        except _TOO_MUCH as error:
            raise _beyond_limits(error, text) from None
        if parsed is None:
            return self.parse(text), True
        expression, opens = parsed
        tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
        tree.set_environment(self._environment)
        return tree, opens

    def _check_names(self, tree: nodes.Template, text: str) -> None:
        problem = unknown_name(self._environment, tree) or self._lookups.unknown(tree)
        if problem:
            kind = _FormerFilter if isinstance(problem, FormerFilter) else BadInput
            raise kind(f"{problem}, in `{short(text)}`")


def _beyond_limits(error: Exception, text: str) -> BadInput:
    problem = (
        "nested too deep"
        if isinstance(error, RecursionError | MemoryError)
        else " ".join(str(error).split())
    )
    return BadInput(f"template syntax: {problem}, in `{short(text)}`")


def short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 120 else f"{one_line[:117]}..."
