"""Text that the author of a playbook wrote, distinguished from other text by its type.

The loaders of playbooks, roles, inventories, vars files and --extra-vars give `Written` text, and
`TemplateText` where it holds a template. All other text is plain `str`: results, facts, output,
what a template rendered, what a filter returned. Only `TemplateText` is ever rendered and only
`Written` text is ever an expression, so text from a host is neither, whichever variable it sits in.
Every operation on text gives plain `str`, so the mark cannot spread.
"""

from __future__ import annotations

from typing import Any

from playrunner.errors import Place

VAULT_KEY = "__ansible_vault"  # {"__ansible_vault": ciphertext} in JSON is !vault in YAML


class Written(str):
    """Text that the author of a playbook, an inventory or a command line wrote."""

    __slots__ = ()


class TemplateText(Written):
    """Written text with a template in it."""

    __slots__ = ()


class UnsafeText(Written):
    """What the author has marked with !unsafe: neither a template nor an expression."""

    __slots__ = ()


class InheritingText(TemplateText):
    """A keyword's template that may give `omit`; then the value around its step or block counts."""

    outer: Any

    def __new__(cls, text: str, outer: Any) -> InheritingText:
        made = super().__new__(cls, text)
        made.outer = outer
        return made


class EncryptedText(TemplateText):
    """Authored text that is encrypted with vault; rendering it decrypts it, when it is used."""

    place: Place | None

    def __new__(cls, ciphertext: str, place: Place | None = None) -> EncryptedText:
        text = super().__new__(cls, ciphertext)
        text.place = place
        return text


class DecryptedText(str):
    """What an encrypted text holds: an author's data, neither a template nor an expression."""

    _ciphertext: str  # no template can read a name with an underscore

    def __new__(cls, text: str, ciphertext: str) -> DecryptedText:
        decrypted = super().__new__(cls, text)
        decrypted._ciphertext = ciphertext
        return decrypted

    @staticmethod
    def ciphertext_of(text: DecryptedText) -> str:
        return text._ciphertext


class Plain(dict[str, Any]):
    """A mapping that a command made: only data, never searched for templates."""


def is_template(value: object) -> bool:
    return isinstance(value, TemplateText)


def written(text: str) -> Written:
    """Mark text as authored: read from the author's files, or cut from it."""
    if "{" in text and ("{{" in text or "{%" in text or "{#" in text):
        return TemplateText(text)
    return Written(text)


def all_written(value: Any) -> Any:
    """The same for every text in a value, keys that are templates included."""
    if isinstance(value, str):
        return value if isinstance(value, EncryptedText) else written(value)
    if isinstance(value, dict) and not isinstance(value, Plain):
        if value.keys() == {VAULT_KEY} and isinstance(value[VAULT_KEY], str):
            return EncryptedText(value[VAULT_KEY])
        return {_key(key): all_written(inner) for key, inner in value.items()}
    return [all_written(inner) for inner in value] if isinstance(value, list) else value


def authored(value: Any) -> Any:
    """Mark a rendered value as authored, without templates."""
    if isinstance(value, str):
        return value if type(value) in (Written, DecryptedText) else Written(value)
    if type(value) is dict:
        return {key: authored(inner) for key, inner in value.items()}
    return [authored(inner) for inner in value] if isinstance(value, list) else value


def is_authored(value: Any) -> bool:
    """Whether all text in a value is authored; numbers cannot hold commands."""
    if isinstance(value, str):
        return isinstance(value, (Written, DecryptedText))
    if isinstance(value, dict):
        return all(_plain_name(key) and is_authored(inner) for key, inner in value.items())
    return all(is_authored(inner) for inner in value) if isinstance(value, (list, tuple)) else True


def _key(key: Any) -> Any:
    return text if isinstance(key, str) and is_template(text := written(key)) else key


def _plain_name(key: object) -> bool:
    return not isinstance(key, str) or isinstance(key, Written) or key.isidentifier()
