"""Templates in playbooks and files: jinja2 with native types, and the filters, tests and lookups
Ansible users expect.

A `Templar` renders values for a `Scope`, which answers what a variable is worth when a template
asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import jinja2
from jinja2 import nodes

from playrunner.errors import BadInput, PlayrunnerError, StepFailed, UndefinedVariable
from playrunner.text.vault import refuse_vault
from playrunner.text.written import TemplateText, Written, is_template
from playrunner.variables.filters.embedded import embedded, literal
from playrunner.variables.filters.environment import (
    PlayEnvironment,
    ScopeLoader,
    ScopeTemplate,
    native,
)
from playrunner.variables.filters.lookups import LOOKUPS, LookupFunctions
from playrunner.variables.filters.overlay import Overlay
from playrunner.variables.filters.plain import plain
from playrunner.variables.filters.substitution import Substitution, substitution
from playrunner.variables.filters.undefined import MISSING, Missing
from playrunner.variables.filters.unknown import unknown_name

__all__ = ["MISSING", "Scope", "Templar", "is_template"]

# What an expression can fail with for want of a fitting value; anything else is a defect.
_CAUGHT = (
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    OSError,
    jinja2.TemplateError,
)
# What compiling a text can fail with beyond its syntax: nesting or numbers past the interpreter's
# limits.
_TOO_MUCH = (RecursionError, MemoryError, ValueError, OverflowError, SyntaxError)
_HEADER = "#jinja2:"


class Scope(Protocol):
    """What templates of one host and step can see."""

    def lookup(self, name: str) -> Any: ...
    def names(self) -> Iterable[str]: ...
    def settle(self) -> None: ...
    def find(self, path: str, folder: str) -> Path: ...
    def traced(self) -> TracedScope: ...


class TracedScope(Scope, Protocol):
    """The same, noting the names it read whose values are not their author's."""

    foreign: list[str]


class Templar:
    """Renders values and evaluates conditions; each distinct text is compiled once."""

    def __init__(self) -> None:
        self._lookups = LookupFunctions({**LOOKUPS, "template": self._lookup_template})
        self._strings = PlayEnvironment(self._lookups.by_name)
        self._files: dict[tuple[tuple[str, Any], ...], PlayEnvironment] = {}
        self._parsed: dict[str, nodes.Template] = {}
        self._templates: dict[str, ScopeTemplate | Substitution] = {}
        self._expressions: dict[
            str, tuple[ScopeTemplate, bool]
        ] = {}  # and whether a text it gives may be another one

    def render(self, value: Any, scope: Scope, *, keys: bool = True) -> Any:
        """The value with every template in it rendered; a lone expression keeps its type."""
        if isinstance(value, str):
            return self._text(value, scope) if isinstance(value, TemplateText) else value
        if isinstance(value, dict):
            return {
                self._text(key, scope) if keys and is_template(key) else key: self.render(
                    each, scope, keys=keys
                )
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.render(each, scope, keys=keys) for each in value]
        return value

    def render_variable(self, value: Any, scope: Scope) -> Any:
        """As `render`, for a scope's answer: an undefined leaf spoils only the templates that use
        it."""
        if isinstance(value, str):
            try:
                return self._text(value, scope) if is_template(value) else value
            except UndefinedVariable as error:
                return Missing(hint=str(error))
        if isinstance(value, dict):
            return {key: self.render_variable(each, scope) for key, each in value.items()}
        if isinstance(value, list):
            return [self.render_variable(each, scope) for each in value]
        return value

    def evaluate(self, expression: str | bool, scope: Scope) -> Any:
        """The value of an expression, as in `until` or `failed_when`; only its author's text is
        one."""
        if not isinstance(expression, str):
            return expression
        if not isinstance(expression, Written):
            raise StepFailed(
                f"`{_short(expression)}` is not written in the playbook, and is not evaluated for"
                " that"
            )
        found = self._expressions.get(expression)
        if found is None:
            tree, opens = self._parse_expression(expression)
            found = self._expressions[expression] = self._make(tree, expression), opens
        template, opens = found
        value = self._run(template, expression, scope)
        return (
            self._opened(value, template, expression, scope)
            if opens and isinstance(value, str)
            else value
        )

    def _opened(self, value: str, template: ScopeTemplate, source: str, scope: Scope) -> Any:
        """`"{{ condition }}"`: a text is the expression that is meant, if the playbook's author
        wrote all of it."""
        if not isinstance(value, Written):
            traced = scope.traced()
            if self._run(template, source, traced) != value or traced.foreign:
                spelled = literal(value)
                if isinstance(spelled, str):
                    raise StepFailed(
                        f"`{_short(source)}` gives the text {_short(value)!r}, which is not written"
                        " in the playbook and is not evaluated; compare it instead: `x == 'yes'`,"
                        " `x | bool`"
                    )
                return spelled
        return self.evaluate(Written(value), scope)

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
            f"the condition `{condition}` gives a {type(value).__name__}, not true or false;"
            " write what is asked: `x | bool`, `x is defined`, `x | length > 0`, `x != ''`"
        )

    def render_file(
        self,
        text: str,
        scope: Scope,
        *,
        name: str,
        trim_blocks: bool = True,
        lstrip_blocks: bool = False,
        newline_sequence: str = "\n",
        folders: Sequence[Path] = (),
        **delimiters: str,
    ) -> str:
        """The text of a template file; what it includes is looked for in `folders`, then by the
        scope."""
        options: dict[str, Any] = {
            "trim_blocks": trim_blocks,
            "lstrip_blocks": lstrip_blocks,
            **delimiters,
        }
        value = self._file(
            text, scope, name, {**options, "newline_sequence": newline_sequence}, folders
        )
        return "" if value is None else str(value)

    def check_syntax(self, text: str) -> str | None:
        """What is wrong with a template, with the line inside it; None when it can be compiled."""
        try:
            if substitution(text) is None:
                self._parse(text)
        except BadInput as error:
            return error.message
        return None

    def check_expression(self, text: str) -> str | None:
        """The same for a bare expression, as in `when`."""
        try:
            self._check_names(self._parse_expression(text)[0], text)
        except BadInput as error:
            return error.message
        return None

    def _text(self, text: str, scope: Scope) -> Any:
        template = self._templates.get(text)
        if template is None:
            template = self._templates[text] = substitution(text) or self._compiled(
                self._parse(text), text
            )
            self._parsed.pop(text, None)
        return _with_newlines(text, self._run(template, text, scope))

    def _run(self, template: ScopeTemplate | Substitution, text: str, scope: Scope) -> Any:
        try:
            return plain(native(self._parts(template, text, scope)))
        except PlayrunnerError:
            raise
        except RecursionError:
            raise StepFailed(f"`{_short(text)}`: a variable refers to itself") from None
        except _CAUGHT as error:
            raise StepFailed(f"`{_short(text)}`: {_reason(error)}") from None

    def _parts(
        self, template: ScopeTemplate | Substitution, text: str, scope: Scope
    ) -> Iterator[Any]:
        if isinstance(template, Substitution):
            return template.parts(self._strings, scope)
        if template.needs_loader:
            template = self._strings.with_loader(ScopeLoader(scope, ())).make(self._parse(text))
        return template.run(scope)

    def _file(
        self, text: str, scope: Scope, name: str, options: dict[str, Any], folders: Sequence[Path]
    ) -> Any:
        """What a template file gives, in its own type."""
        refuse_vault(text, name)
        if text.startswith(_HEADER):
            header, _, text = text.partition("\n")
            options = {**options, **_read_header(header, name)}
        environment = self._file_environment(options, name).with_loader(ScopeLoader(scope, folders))
        try:
            value = plain(native(environment.from_text(text, name).run(scope)))
        except PlayrunnerError:
            raise
        except RecursionError:
            raise StepFailed(f"{name}: a template or variable refers to itself") from None
        except jinja2.TemplateSyntaxError as error:
            raise StepFailed(f"{error.name or name}:{error.lineno}: {error.message}") from None
        except _CAUGHT as error:
            raise StepFailed(f"{name}: {_reason(error)}") from None
        return _with_newlines(text, value)

    def _file_environment(self, options: dict[str, Any], name: str) -> PlayEnvironment:
        key = tuple(sorted(options.items()))
        if key not in self._files:
            try:
                self._files[key] = self._strings.for_files(options)
            except (TypeError, AssertionError) as error:
                raise StepFailed(f"{name}: {error}") from None
        return self._files[key]

    def _parse(self, text: str) -> nodes.Template:
        tree = self._parsed.get(text)
        if tree is None:
            try:
                tree = self._strings.parse(text)
            except jinja2.TemplateSyntaxError as error:
                raise BadInput(
                    f"template syntax, line {error.lineno}: {error.message}, in `{_short(text)}`"
                ) from None
            except _TOO_MUCH as error:
                raise _beyond_limits(error, text) from None
            self._check_names(tree, text)
            self._parsed[text] = tree
        return tree

    def _make(self, tree: nodes.Template, text: str) -> ScopeTemplate:
        self._check_names(tree, text)
        return self._compiled(tree, text)

    def _compiled(self, tree: nodes.Template, text: str) -> ScopeTemplate:
        try:
            return self._strings.make(tree)
        except _TOO_MUCH as error:
            raise _beyond_limits(error, text) from None

    def _parse_expression(self, text: str) -> tuple[nodes.Template, bool]:
        """An expression's tree, and whether it is nothing but a template: what that gives may be an
        expression."""
        try:
            found = embedded(self._strings, text)
        except jinja2.TemplateSyntaxError as error:
            raise BadInput(f"expression syntax: {error.message}, in `{_short(text)}`") from None
        except _TOO_MUCH as error:
            raise _beyond_limits(error, text) from None
        if found is None:
            return self._parse(text), True
        expression, opens = found
        tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
        tree.set_environment(self._strings)
        return tree, opens

    def _check_names(self, tree: nodes.Template, text: str) -> None:
        problem = unknown_name(self._strings, tree) or self._lookups.unknown(tree)
        if problem:
            raise BadInput(f"{problem}, in `{_short(text)}`")

    def _lookup_template(
        self,
        terms: list[Any],
        scope: Scope,
        template_vars: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> list[Any]:
        inner = Overlay(scope, template_vars) if template_vars else scope
        wanted = {
            "trim_blocks": True,
            **{key: value for key, value in options.items() if key != "convert_data"},
        }
        found = []
        for term in terms:
            path = scope.find(str(term), "templates")
            found.append(
                self._file(
                    path.read_text(encoding="utf-8"), inner, str(path), wanted, (path.parent,)
                )
            )
        return found


def _with_newlines(source: str, value: Any) -> Any:
    """Text ends with as many newlines as its template; jinja drops one, and trimmed blocks take
    theirs."""
    if isinstance(value, str) and source.endswith("\n"):
        wanted = len(source) - len(source.rstrip("\n"))
        there = len(value) - len(value.rstrip("\n"))
        return value + "\n" * (wanted - there)
    return value


def _beyond_limits(error: Exception, text: str) -> BadInput:
    problem = (
        "nested too deep"
        if isinstance(error, RecursionError | MemoryError)
        else " ".join(str(error).split())
    )
    return BadInput(f"template syntax: {problem}, in `{_short(text)}`")


def _read_header(header: str, name: str) -> dict[str, Any]:
    """The settings of a first line such as `#jinja2: trim_blocks:False, lstrip_blocks:True`."""
    import ast

    found = {}
    for pair in header.removeprefix(_HEADER).split(","):
        key, _, value = pair.partition(":")
        try:
            found[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            raise StepFailed(
                f"{name}:1: cannot read `{pair.strip()}`; write `{_HEADER} trim_blocks:False`"
            ) from None
    return found


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 120 else f"{one_line[:117]}..."


def _reason(error: Exception) -> str:
    if isinstance(error, jinja2.TemplateNotFound):
        return f"no template {error.name!r} is found"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    return str(error)
