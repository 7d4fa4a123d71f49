"""The jinja2 environment templates run in: variables asked for when needed, native types, named
failures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.lexer import Lexer
from jinja2.runtime import Context
from jinja2.tests import TESTS as JINJA_TESTS
from jinja2.utils import missing as nothing

from playrunner.errors import BadInput, NotYet, StepFailed, UndefinedVariable
from playrunner.plugins.functions import PluginFunctions
from playrunner.text.documents import decrypted_text
from playrunner.variables.filters import FILTERS, TESTS
from playrunner.variables.filters.dates import now
from playrunner.variables.filters.embedded import FILTERS as EMBEDDED
from playrunner.variables.filters.guard import guard, guarded
from playrunner.variables.filters.plain import plain
from playrunner.variables.filters.reach import attribute as reach
from playrunner.variables.filters.reach import item
from playrunner.variables.filters.undefined import Missing, Pending
from playrunner.variables.lookups.lookup_scope import LookupScope
from playrunner.variables.template_scope import MISSING


class Names(dict[str, Any]):
    """Names set by templates (`{% set %}`, an including template), and the scope behind them."""

    def __init__(self, scope: LookupScope | None, *layers: Mapping[str, Any]) -> None:
        super().__init__()
        self.scope = scope
        for layer in layers:
            self.update(layer)


class ScopeContext(Context):
    """What a running template sees: a variable is looked up when it is used, none is copied."""

    def __init__(
        self, environment: Any, parent: Any, name: Any, blocks: Any, globals: Any = None
    ) -> None:
        super().__init__(environment, parent, name, blocks, globals)
        self.scope: LookupScope | None = getattr(parent, "scope", None)

    def resolve_or_missing(self, key: str) -> Any:
        if key in self.vars:
            return self.vars[key]
        if key in self.parent:
            return self.parent[key]
        environment: Any = self.environment
        return environment.resolve(key, self.scope)

    def get_all(self) -> Names:
        return Names(self.scope, self.parent, self.vars)

    def derived(self, locals: dict[str, Any] | None = None) -> ScopeContext:
        context = ScopeContext(
            self.environment, Names(self.scope, self.get_all(), locals or {}), self.name, {}
        )
        context.eval_ctx = self.eval_ctx
        context.blocks.update((name, list(block)) for name, block in self.blocks.items())
        return context


class ScopeTemplate(jinja2.Template):
    """A template whose includes and imports see the scope of the template that uses them."""

    needs_loader = False

    def run(self, scope: LookupScope) -> Iterator[Any]:
        """The values and texts the template consists of, one by one."""
        return self.root_render_func(
            ScopeContext(self.environment, Names(scope), self.name, self.blocks)
        )

    def new_context(
        self,
        vars: dict[str, Any] | None = None,
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,
    ) -> ScopeContext:
        own = {name: value for name, value in (locals or {}).items() if value is not nothing}
        names = Names(getattr(vars, "scope", None), vars or {}, own)
        return ScopeContext(self.environment, names, self.name, self.blocks)


class _NativeGenerator(CodeGenerator):
    """Generated code hands each expression on as a value, not as text."""

    def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: Any) -> Any:
        if isinstance(node, nodes.TemplateData):
            return super()._output_child_to_const(node, frame, finalize)
        raise nodes.Impossible()

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        pass

    def _output_child_post(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        pass


class _LiteralBackslashes(Lexer):
    """Reads text inside {{ }} without escapes, as playbooks write regular expressions: '\\1' is a
    backslash and a 1."""

    def wrap(
        self,
        stream: Iterable[tuple[int, str, str]],
        name: str | None = None,
        filename: str | None = None,
    ) -> Any:
        return super().wrap(self._doubled(stream), name, filename)

    def _doubled(self, stream: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
        inside = False
        for line, token, value in stream:
            if token in ("variable_begin", "variable_end"):
                inside = token == "variable_begin"
            yield (
                line,
                token,
                value.replace("\\", "\\\\") if inside and token == "string" else value,
            )


def native(parts: Iterable[Any]) -> Any:
    """One part is its value, several are joined as text, none is none."""
    kept = [part for part in parts if part is not None]
    if len(kept) == 1:
        return kept[0]
    return (
        "".join([part if isinstance(part, str) else _as_text(part) for part in kept])
        if kept
        else None
    )


def _as_text(part: Any) -> str:
    # An undefined part says for itself whether it is a failure or, as an `if` without `else`,
    # nothing.
    return str(part) if isinstance(part, jinja2.Undefined) else str(plain(part))


class PlayEnvironment(jinja2.Environment):
    code_generator_class = _NativeGenerator
    context_class = ScopeContext
    template_class = ScopeTemplate
    concat = staticmethod(native)

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        # Not optimized: folding constants would run filters such as `random` once, when a template
        # is compiled.
        super().__init__(undefined=Missing, optimized=False, trim_blocks=True)
        self.functions: dict[str, Callable[..., Any]] = {**functions, "now": now, "undef": _undef}
        filters = guarded("filter", {**JINJA_FILTERS, "attr": _attribute, **FILTERS}) | EMBEDDED
        tests = guarded("test", {**JINJA_TESTS, **TESTS})
        self.filters: dict[str, Any] = PluginFunctions("filter", filters, guard)
        self.tests: dict[str, Any] = PluginFunctions("test", tests, guard)
        self._lexer: Lexer = _LiteralBackslashes(self)
        # Of template files, by text and name: their code, and whether they use other templates
        self._codes: dict[tuple[str, str | None], tuple[CodeType, bool]] = {}
        self._made: dict[tuple[str, str | None], ScopeTemplate] = {}

    @property
    def lexer(self) -> Lexer:
        return self._lexer

    def resolve(self, key: str, scope: LookupScope | None) -> Any:
        """What a name stands for: a variable of the scope, then our functions and jinja's."""
        if scope is not None:
            try:
                value = scope.lookup(key)
            except UndefinedVariable as error:
                # Jinja asks for all names of a template at its start; this one may not be used, or
                # have a default.
                return Missing(hint=str(error), name=error.name)
            except NotYet as error:
                return Pending(error)
            if value is not MISSING:
                return value
        if key in self.functions:
            return self.functions[key]
        if key in self.globals:
            return self.globals[key]
        return Missing(name=key, known_names=scope.names if scope is not None else tuple)

    def getattr(self, obj: Any, attribute: str) -> Any:
        found = reach(obj, attribute)
        if found is nothing:
            found = item(obj, attribute)
        return Missing(obj=obj, name=attribute) if found is nothing else found

    def getitem(self, obj: Any, argument: Any) -> Any:
        found = item(obj, argument)
        if found is nothing and isinstance(argument, str):
            found = reach(obj, str(argument))
        return Missing(obj=obj, name=argument) if found is nothing else found

    def make(self, tree: nodes.Template) -> ScopeTemplate:
        """A template from its syntax tree."""
        return self._from_code(self.compile(tree), _uses_other_templates(tree))

    def from_text(self, text: str, name: str | None) -> ScopeTemplate:
        """A template file; it is kept, since each host renders it again."""
        key = text, name
        template = self._made.get(key)
        if template is None:
            if key not in self._codes:
                tree = self.parse(text, name, name)
                self._codes[key] = self.compile(tree, name, name), _uses_other_templates(tree)
            template = self._made[key] = self._from_code(*self._codes[key])
        return template

    def for_files(self, options: Mapping[str, Any]) -> PlayEnvironment:
        """The environment of template files, where a backslash escapes as in jinja, and delimiters
        may differ."""
        environment: Any = self.overlay(**options)
        environment._lexer = Lexer(environment)
        environment._codes, environment._made = {}, {}
        return environment  # type: ignore[no-any-return]

    def with_loader(self, loader: jinja2.BaseLoader) -> PlayEnvironment:
        """For the templates that one scope sees: their code is shared."""
        environment: Any = self.overlay(loader=loader)
        environment._made = {}
        return environment  # type: ignore[no-any-return]

    def _from_code(self, code: CodeType, needs_loader: bool) -> ScopeTemplate:
        template: Any = ScopeTemplate.from_code(self, code, {}, None)
        template.needs_loader = needs_loader
        return template  # type: ignore[no-any-return]


class ScopeLoader(jinja2.BaseLoader):
    """Finds what a template includes, imports or extends."""

    def __init__(self, scope: LookupScope, folders: Sequence[Path]) -> None:
        self._scope, self._folders = scope, folders

    def load(self, environment: Any, name: str, globals: Any = None) -> jinja2.Template:
        path = self._find(name)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StepFailed(f"{path}: {error}") from None
        found: jinja2.Template = environment.from_text(decrypted_text(text, path), name)
        return found

    def _find(self, name: str) -> Path:
        for folder in self._folders:
            if os.path.isfile(folder / name):
                return folder / name
        try:
            return self._scope.find(name, "templates")
        except BadInput:
            # Jinja's own error lets `ignore missing` work.
            raise jinja2.TemplateNotFound(name) from None


@jinja2.pass_environment
def _attribute(environment: PlayEnvironment, value: Any, name: str) -> Any:
    """An attribute, never a key, of a value."""
    found = reach(value, str(name))
    return environment.undefined(obj=value, name=name) if found is nothing else found


def _undef(hint: str = "a variable that has to be given is not") -> Missing:
    """An undefined value on purpose, for a default that must be overridden."""
    return Missing(hint=hint)


def _uses_other_templates(tree: nodes.Template) -> bool:
    others = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    return next(tree.find_all(others), None) is not None
