"""Templates in playbooks and files: jinja2 with native types, and the filters, tests and lookups
Ansible users expect.

A `Templar` renders values for a `Scope`, which looks up the variables that a template reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from playrunner.errors import (
    BadInput,
    NotDecrypted,
    PlayrunnerError,
    StepFailed,
    TemplateFailed,
    UndefinedVariable,
)
from playrunner.text.documents import decrypted_text
from playrunner.text.written import (
    DecryptedText,
    EncryptedText,
    TemplateText,
    UnsafeText,
    Written,
    is_template,
)
from playrunner.variables.filters.embedded import literal
from playrunner.variables.filters.environment import (
    PlayEnvironment,
    ScopeLoader,
    ScopeTemplate,
    native,
)
from playrunner.variables.filters.overlay import Overlay
from playrunner.variables.filters.plain import defined_parts, plain, with_newlines
from playrunner.variables.filters.substitution import Substitution
from playrunner.variables.filters.undefined import MISSING, Missing, Undecryptable
from playrunner.variables.filters.vault import decrypted
from playrunner.variables.lookups.lookups import LOOKUPS, LookupFunctions
from playrunner.variables.template_compiler import TemplateCompiler, short
from playrunner.variables.template_errors import CAUGHT, reason_of
from playrunner.variables.template_header import HEADER, header_settings
from playrunner.variables.template_names import template_names
from playrunner.variables.template_scope import Scope

__all__ = ["MISSING", "Scope", "Templar", "default_templar", "is_template"]


class Templar:
    """Renders values and evaluates conditions; each distinct text is compiled once."""

    def __init__(self) -> None:
        self._lookups = LookupFunctions({**LOOKUPS, "template": self._lookup_template})
        self._strings = PlayEnvironment(self._lookups.by_name)
        self._files: dict[tuple[tuple[str, Any], ...], PlayEnvironment] = {}
        self._compiler = TemplateCompiler(self._strings, self._lookups)
        self.check_syntax = self._compiler.check_syntax
        self.check_expression = self._compiler.check_expression

    def use_extensions(self, names: Iterable[str]) -> None:
        """Add extensions of jinja2 to all templates, by their import paths."""
        for name in names:
            try:
                self._strings.add_extension(name)
            except (ImportError, AttributeError) as error:
                raise BadInput(f"jinja2_extensions: {error}") from None

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
        """Like `render`, for a variable's value: an undefined leaf fails only the templates that
        use it."""
        if isinstance(value, str):
            try:
                return self._text(value, scope) if is_template(value) else value
            except UndefinedVariable as error:
                return Missing(hint=str(error), name=error.name)
            except NotDecrypted as error:
                return Undecryptable(error)
        if isinstance(value, dict):
            return {key: self.render_variable(each, scope) for key, each in value.items()}
        if isinstance(value, list):
            return [self.render_variable(each, scope) for each in value]
        return value

    def render_defined(self, value: Any, scope: Scope) -> Any:
        """Like `render`, without the parts of lists and mappings that are undefined."""
        if isinstance(value, TemplateText) and not isinstance(value, EncryptedText):
            template = self._compiler.template(value)
            return self._run(template, value, scope, defined_parts)
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
        if isinstance(expression, UnsafeText):
            raise StepFailed(
                f"`{short(expression)}` is not evaluated: it is an untrusted template or"
                " expression, marked with !unsafe"
            )
        if not isinstance(expression, Written):
            raise StepFailed(
                f"`{short(expression)}` is not evaluated, because it is not written in the playbook"
            )
        template, opens = self._compiler.expression(expression)
        value = self._run(template, expression, scope)
        return (
            self._opened(value, template, expression, scope)
            if opens and isinstance(value, str)
            else value
        )

    def _opened(self, value: str, template: ScopeTemplate, source: str, scope: Scope) -> Any:
        """`"{{ condition }}"`: a text result is evaluated as an expression if it is authored."""
        if not isinstance(value, Written):
            traced = scope.traced()
            if (
                isinstance(value, DecryptedText)
                or self._run(template, source, traced) != value
                or traced.foreign
            ):
                spelled = literal(value)
                if isinstance(spelled, str):
                    raise StepFailed(
                        f"`{short(source)}` gives the text {short(value)!r}, which is not written"
                        " in the playbook and is not evaluated; compare it instead: `x == 'yes'`,"
                        " `x | bool`"
                    )
                return spelled
        return self.evaluate(value if isinstance(value, Written) else Written(value), scope)

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
        # A playbook may write the two characters of an escape
        ending = newline_sequence.replace("\\r", "\r").replace("\\n", "\n")
        value = self._file(text, scope, name, {**options, "newline_sequence": ending}, folders)
        return "" if value is None else str(value)

    def _text(self, text: str, scope: Scope) -> Any:
        if isinstance(text, EncryptedText):
            return decrypted(text)
        return with_newlines(text, self._run(self._compiler.template(text), text, scope))

    def _run(
        self,
        template: ScopeTemplate | Substitution,
        text: str,
        scope: Scope,
        as_data: Callable[[Any], Any] = plain,
    ) -> Any:
        try:
            return as_data(native(self._parts(template, text, scope)))
        except PlayrunnerError:
            raise
        except RecursionError:
            raise StepFailed(f"`{short(text)}`: a variable refers to itself") from None
        except CAUGHT as error:
            message = f"`{short(text)}`: Error rendering template: {reason_of(error)}"
            raise StepFailed(message) from None

    def _parts(
        self, template: ScopeTemplate | Substitution, text: str, scope: Scope
    ) -> Iterator[Any]:
        if isinstance(template, Substitution):
            return template.parts(self._strings, scope)
        if template.needs_loader:
            template = self._strings.with_loader(ScopeLoader(scope, ())).make(
                self._compiler.parse(text)
            )
        return template.run(scope)

    def _file(
        self, text: str, scope: Scope, name: str, options: dict[str, Any], folders: Sequence[Path]
    ) -> Any:
        """What a template file gives, in its own type."""
        text = decrypted_text(text, name)
        if text.startswith(HEADER):
            header, _, text = text.partition("\n")
            options = {**options, **header_settings(header, name)}
        environment = self._file_environment(options, name).with_loader(ScopeLoader(scope, folders))
        try:
            value = plain(native(environment.from_text(text, name).run(scope)))
        except PlayrunnerError:
            raise
        except RecursionError:
            raise TemplateFailed(f"{name}: a template or variable refers to itself") from None
        except jinja2.TemplateSyntaxError as error:
            raise TemplateFailed(f"{error.name or name}:{error.lineno}: {error.message}") from None
        except CAUGHT as error:
            raise TemplateFailed(f"{name}: {reason_of(error)}") from None
        return with_newlines(text, value)

    def _file_environment(self, options: dict[str, Any], name: str) -> PlayEnvironment:
        key = tuple(sorted(options.items()))
        if key not in self._files:
            try:
                self._files[key] = self._strings.for_files(options)
            except (TypeError, AssertionError) as error:
                raise TemplateFailed(f"{name}: {error}") from None
        return self._files[key]

    def _lookup_template(
        self,
        terms: list[Any],
        scope: Scope,
        template_vars: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> list[Any]:
        given = template_vars or {}
        managed = "ansible_managed" in given or scope.lookup("ansible_managed") is not MISSING
        settings = {
            "trim_blocks": True,
            **{key: value for key, value in options.items() if key != "convert_data"},
        }
        texts = []
        for term in terms:
            path = scope.find(str(term), "templates")
            inner = Overlay(scope, {**template_names(path, str(term), None, managed), **given})
            texts.append(
                self._file(
                    path.read_text(encoding="utf-8"), inner, str(path), settings, (path.parent,)
                )
            )
        return texts


def _kind(value: object) -> str:
    return "str" if isinstance(value, str) else type(value).__name__


default_templar = Templar()  # shared by loading and running: each text is compiled once
