"""Expressions of admission policies, read and made ready to evaluate: the part of CEL that policies
are commonly written in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playrunner.sandbox.kube.store.policies import values
from playrunner.sandbox.kube.store.policies.values import Failed

Scope = dict[str, Any]
Expression = Callable[[Scope], Any]
NAMES = {"object", "oldObject", "request", "namespaceObject", "variables", "params"}
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+\.\d+|0x[0-9a-fA-F]+|\d+)u?
    | (?P<text>r?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_LITERALS = {"true": True, "false": False, "null": None}
_RELATIONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_MACROS = ("all", "exists", "exists_one", "filter", "map")


class NotCompiled(Exception):
    """The expression is none; the message is the one of a server."""


def compiled(text: str, names: set[str]) -> Expression:
    """What evaluates the expression; `names` are those that it may use."""
    reader = _Reader(text, names)
    expression = reader.choice()
    if reader.token[1]:
        raise reader.wrong(f"mismatched input '{reader.token[1]}' expecting <EOF>")
    return expression


class _Reader:
    """Reads one expression, by descent; each method reads what binds closer than the one before."""

    def __init__(self, text: str, names: set[str]) -> None:
        self.text, self.at, self.names = text, 0, set(names)
        self.begins = 0
        self.token = ("", "")
        self.next()

    def next(self) -> str:
        """Go to the next token; the text of the one before."""
        before = self.token[1]
        rest = self.text[self.at :]
        self.begins = self.at + len(rest) - len(rest.lstrip())
        if not rest.strip():
            self.token = ("end", "")
            return before
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise self.wrong(f"token recognition error at: '{rest.strip()[0]}'")
        self.at = found.end()
        kind = found.lastgroup or ""
        self.token = ("text" if found["text"] else kind, found[0].strip())
        return before

    def wrong(self, why: str, syntax: bool = True) -> NotCompiled:
        what = f"Syntax error: {why}" if syntax else why
        return NotCompiled(f"compilation failed: ERROR: <input>:1:{self.begins + 1}: {what}")

    def took(self, *signs: str) -> str:
        """The sign that stands here, if it is one of these."""
        if self.token[0] in ("sign", "name") and self.token[1] in signs:
            return self.next()
        return ""

    def need(self, sign: str) -> None:
        if not self.took(sign):
            shown = self.token[1] or "<EOF>"
            raise self.wrong(f"mismatched input '{shown}' expecting '{sign}'")

    def choice(self) -> Expression:
        condition = self.either()
        if not self.took("?"):
            return condition
        first = self.either()
        self.need(":")
        second = self.choice()
        return lambda scope: (first if values.truth(condition(scope)) else second)(scope)

    def either(self) -> Expression:
        found = self.both()
        while self.took("||"):
            found = _joined(found, self.both(), decides=True)
        return found

    def both(self) -> Expression:
        found = self.relation()
        while self.took("&&"):
            found = _joined(found, self.relation(), decides=False)
        return found

    def relation(self) -> Expression:
        found = self.sum()
        while sign := self.took(*_RELATIONS):
            found = _operation(sign, found, self.sum())
        return found

    def sum(self) -> Expression:
        found = self.product()
        while sign := self.took("+", "-"):
            found = _operation(sign, found, self.product())
        return found

    def product(self) -> Expression:
        found = self.signed()
        while sign := self.took("*", "/", "%"):
            found = _operation(sign, found, self.signed())
        return found

    def signed(self) -> Expression:
        if self.took("!"):
            refused = self.signed()
            return lambda scope: not values.truth(refused(scope))
        if self.took("-"):
            turned = self.signed()
            return lambda scope: -turned(scope)
        return self.member()

    def member(self) -> Expression:
        found = self.primary()
        while sign := self.took(".", "["):
            if sign == "[":
                found = _operation("[]", found, self.choice())
                self.need("]")
                continue
            optional = bool(self.took("?"))
            name = self.name()
            if self.took("("):
                found = self.macro(found, name) if name in _MACROS else self.method(found, name)
            else:
                found = _field(found, name, optional)
        return found

    def name(self) -> str:
        if self.token[0] != "name":
            shown = self.token[1] or "<EOF>"
            raise self.wrong(f"no viable alternative at input '{shown}'")
        return self.next()

    def method(self, subject: Expression, name: str) -> Expression:
        if name not in values.METHODS:
            raise self.wrong(f"undeclared reference to '{name}' (in container '')", syntax=False)
        arguments = self.arguments(")")
        return lambda scope: values.called(name, subject(scope), [one(scope) for one in arguments])

    def macro(self, subject: Expression, name: str) -> Expression:
        variable = self.name()
        self.need(",")
        known = variable in self.names
        self.names.add(variable)
        body = self.choice()
        if not known:
            self.names.discard(variable)
        self.need(")")

        def evaluated(scope: Scope) -> Any:
            members = [(one, lambda one=one: body({**scope, variable: one}))
                       for one in values.members(subject(scope))]  # fmt: skip
            return values.gathered(name, members)

        return evaluated

    def arguments(self, end: str) -> list[Expression]:
        found = []
        while not self.took(end):
            found.append(self.choice())
            if not self.took(","):
                self.need(end)
                break
        return found

    def primary(self) -> Expression:
        kind, text = self.token
        if kind == "number":
            self.next()
            number: int | float = float(text) if "." in text else int(text.rstrip("u"), 0)
            return lambda scope: number
        if kind == "text":
            self.next()
            word = text[2:-1] if text.startswith("r") else _unescaped(text[1:-1])
            return lambda scope: word
        if self.took("("):
            inner = self.choice()
            self.need(")")
            return inner
        if self.took("["):
            items = self.arguments("]")
            return lambda scope: [one(scope) for one in items]
        if self.took("{"):
            return self.mapping()
        if kind == "name":
            return self.word()
        raise self.wrong(f"mismatched input '{text or '<EOF>'}'")

    def word(self) -> Expression:
        begins, name = self.begins, self.next()
        if name in _LITERALS:
            return lambda scope: _LITERALS[name]
        if self.took("("):
            if name == "has":
                return self.presence()
            if name in values.FUNCTIONS:
                arguments = self.arguments(")")
                return lambda scope: values.FUNCTIONS[name](*[one(scope) for one in arguments])
        elif name in self.names:
            return lambda scope: scope[name]
        self.begins = begins
        raise self.wrong(f"undeclared reference to '{name}' (in container '')", syntax=False)

    def presence(self) -> Expression:
        field = self.member()
        self.need(")")

        def there(scope: Scope) -> bool:
            holder = getattr(field, "holder", None)
            if holder is None:
                raise Failed("invalid argument to has() macro")
            return field.__dict__["name"] in holder(scope)

        return there

    def mapping(self) -> Expression:
        pairs = []
        while not self.took("}"):
            key = self.choice()
            self.need(":")
            pairs.append((key, self.choice()))
            if not self.took(","):
                self.need("}")
                break
        return lambda scope: {key(scope): value(scope) for key, value in pairs}


def _joined(first: Expression, second: Expression, *, decides: bool) -> Expression:
    """`||` and `&&`: either side may decide alone, also where the other fails."""

    def evaluated(scope: Scope) -> bool:
        try:
            if values.truth(first(scope)) is decides:
                return decides
        except Failed:
            if values.truth(second(scope)) is decides:
                return decides
            raise
        return values.truth(second(scope))

    return evaluated


def _operation(sign: str, first: Expression, second: Expression) -> Expression:
    return lambda scope: values.operated(sign, first(scope), second(scope))


def _field(holder: Expression, name: str, optional: bool) -> Expression:
    def evaluated(scope: Scope) -> Any:
        return values.selected(holder(scope), name, optional)

    evaluated.__dict__.update(holder=holder, name=name)
    return evaluated


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)
