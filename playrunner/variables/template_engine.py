"""TemplateEngine: what runs templates, in playbooks and in files: jinja2 with native types, and the
filters, tests and lookups Ansible users expect. Imported with the first template that is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from playrunner.errors import BadInput, PlayrunnerError, StepFailed, TemplateFailed
from playrunner.text.documents import decrypted_text
from playrunner.text.written import DecryptedText, EncryptedText, UnsafeText, Written
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
from playrunner.variables.filters.vault import decrypted
from playrunner.variables.lookups.lookups import LOOKUPS, LookupFunctions
from playrunner.variables.template_compiler import TemplateCompiler, short
from playrunner.variables.template_errors import CAUGHT, reason_of
from playrunner.variables.template_header import HEADER, header_settings
from playrunner.variables.template_names import template_names
from playrunner.variables.template_scope import MISSING, Scope


class TemplateEngine:
    """Runs texts; each distinct one is compiled once."""

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

    def text(self, text: str, scope: Scope) -> Any:
        """What a template gives; a lone expression keeps its type."""
        if isinstance(text, EncryptedText):
            return decrypted(text)
        return with_newlines(text, self._run(self._compiler.template(text), text, scope))

    def defined(self, text: str, scope: Scope) -> Any:
        """The same, without the parts of lists and mappings that are undefined."""
        return self._run(self._compiler.template(text), text, scope, defined_parts)

    def evaluate(self, expression: str, scope: Scope) -> Any:
        """The value of an expression, as in `until` or `failed_when`; only authored text is
        evaluated."""
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
        environment = self._file_environment(options, name)
        try:
            template = environment.from_text(text, name)
            if template.needs_loader:
                loader = ScopeLoader(scope, folders)
                template = environment.with_loader(loader).from_text(text, name)
            value = plain(native(template.run(scope)))
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
