"""Text in, plain values out: the one reader of YAML, JSON and INI text that a file, a host or an
API gave."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from playrunner.errors import BadInput, Place
from playrunner.text import yaml_values
from playrunner.text.written import (
    VAULT_KEY,
    DecryptedText,
    EncryptedText,
    TemplateText,
    UnsafeText,
    Written,
    written,
)
from playrunner.text.yaml_collections import Unreadable
from playrunner.text.yaml_values import MOST_NESTED
from playrunner.vault.envelope import is_encrypted
from playrunner.vault.masking import masking

# A playbook of 100,000 tasks has about 10 million; values take 20 times their text
MOST_CHARACTERS = 50_000_000
# YAML and JSON forbid them themselves; in an INI line they would become part of a value.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


MOST_REPEATED = 100  # of which a user is told
# Keys that a mapping of a file has twice, of which the last counts; said when a run starts
repeated_keys: dict[Place, str] = {}


class Located(dict[Any, Any]):
    """A mapping that remembers its file, its first line and the line of each key."""

    file: str = ""
    line: int = 0
    key_lines: dict[Any, int]

    def place(self, key: object = None) -> Place:
        return Place(self.file, self.key_lines.get(key, self.line))

    def with_items(self, items: dict[Any, Any]) -> Located:
        """Other items at the same place."""
        other = Located(items)
        other.file, other.line, other.key_lines = self.file, self.line, self.key_lines
        return other


def parse_yaml(text: str, file: str, plain: bool = False) -> Any:
    """The value of one YAML document; its mappings are `Located`, or ordinary with `plain`."""
    documents = _documents(text, file, plain)
    if len(documents) > 1:
        raise BadInput(
            "not valid YAML: one document is expected here, and a second one starts behind ---",
            Place(file, documents[0][1]),
        )
    return documents[0][0] if documents else None


def parse_yaml_all(text: str, file: str, plain: bool = False) -> list[Any]:
    """The values of all documents in a YAML text."""
    return [value for value, _ in _documents(text, file, plain)]


def parse_json(text: str | bytes, file: str, **options: Any) -> Any:
    """The value of a JSON text, within the limits that hold for YAML; `options` are those of
    json.loads."""
    text = checked_text(text, file)
    try:
        value = json.loads(text, **options)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"not valid JSON: {error.msg} (column {error.colno})", Place(file, error.lineno)
        ) from None
    except RecursionError:
        raise BadInput(f"nested more than {MOST_NESTED} deep", Place(file, 1)) from None
    except ValueError:
        raise BadInput(
            "not valid JSON: a number has too many digits; quote it if it is text", Place(file, 1)
        ) from None
    if text.count("[") + text.count("{") > MOST_NESTED and _deeper_than(MOST_NESTED, value):
        raise BadInput(f"nested more than {MOST_NESTED} deep", Place(file, 1))
    half = _SURROGATE_ESCAPE.search(text)
    if half and _has_surrogates(value):
        raise BadInput(
            "not valid JSON: half of a surrogate pair",
            Place(file, text.count("\n", 0, half.start()) + 1),
        )
    return value


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that a program on a host or in a pod printed; None for anything else."""
    try:
        found = parse_json(text, "")
    except BadInput:
        return None
    return found if isinstance(found, dict) else None


def checked_text(text: str | bytes, file: str) -> str:
    """Text of a size that can be read, without its byte order mark; bytes have to be UTF-8."""
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"more than {MOST_CHARACTERS:,} characters; split it", Place(file))
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(error, file) from None
    return text.removeprefix("\ufeff")


def refuse_control_characters(text: str, file: str) -> None:
    """For formats read line by line, whose parsers would take a control character for a part of a
    value."""
    found = _CONTROL.search(text)
    if found:
        raise BadInput(
            f"a control character (U+{ord(found[0]):04X}) is not allowed here; remove it",
            Place(file, text.count("\n", 0, found.start()) + 1),
        )


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file the user named; a missing or unreadable one is bad input."""
    try:
        with path.open(encoding=encoding) as file:
            # A device or a pipe has no size and may not end.
            return checked_text(file.read(MOST_CHARACTERS + 1), str(path))
    except FileNotFoundError:
        raise BadInput("no such file", Place(str(path))) from None
    except UnicodeDecodeError as error:
        raise _not_utf8(error, str(path)) from None
    except LookupError:
        raise BadInput(f'there is no encoding "{encoding}"', Place(str(path))) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", Place(str(path))) from None
    except ValueError as error:
        raise BadInput(f"not the name of a file: {error}", Place(ascii(str(path)))) from None


def read_yaml(path: Path, plain: bool = False) -> Any:
    return parse_yaml(decrypted_text(read_text(path), path), str(path), plain)


def read_variables(path: Path) -> Any:
    """The values in a file of variables; those of an encrypted file are secrets."""
    text = read_text(path)
    value = parse_yaml(decrypted_text(text, path), str(path))
    if is_encrypted(text):
        masking.add_leaves(value)
    return value


def decrypted_text(text: str, file: object) -> str:
    """The text of a file, decrypted if it is encrypted with vault."""
    if not is_encrypted(text):
        return text
    from playrunner.vault.vault import decrypted

    return checked_text(decrypted(text, file), str(file))


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file, such as a record of our own that a crash may have cut short."""
    found = parse_json(read_text(path), str(path))
    if not isinstance(found, dict):
        raise BadInput("a JSON object is expected", Place(str(path), 1))
    return found


def _documents(text: str, file: str, plain: bool) -> list[tuple[Any, int]]:
    text = checked_text(text, file)
    tags = {name: partial(made, file) for name, made in (_PLAIN_TAGS if plain else _TAGS).items()}
    try:
        if plain:
            return list(yaml_values.documents(text, _plain_mapping, tags))
        # The author's own text: never read what a host or a service gave in this way.
        located, repeated = partial(_located, file), partial(_note_repeated, file)
        found = list(yaml_values.documents(text, located, tags, _authors_text, repeated))
        if VAULT_KEY in text and text.lstrip()[:1] in ("{", "["):  # JSON has no tags
            found = [(_with_encrypted(value), line) for value, line in found]
        return found
    except Unreadable as error:
        raise BadInput(error.problem, Place(file, error.line)) from None


def _note_repeated(file: str, key: Any, line: int) -> None:
    if len(repeated_keys) < MOST_REPEATED:
        repeated_keys[Place(file, line)] = str(key)


def _authors_text(text: str, is_key: bool) -> str:
    # Names are looked up often, which costs less for plain text.
    return written(text) if not is_key or "{" in text else text


def _plain_mapping(_line: int) -> dict[Any, Any]:
    return {}


def _located(file: str, line: int) -> Located:
    found = Located()
    found.file, found.line, found.key_lines = file, line, {}
    return found


def _encrypted(file: str, text: str, line: int) -> EncryptedText:
    return EncryptedText(text, Place(file, line))


def _with_encrypted(value: Any) -> Any:
    """The value with encrypted texts in place of what stands for them in JSON."""
    if isinstance(value, dict):
        if value.keys() == {VAULT_KEY} and isinstance(value[VAULT_KEY], str):
            return EncryptedText(value[VAULT_KEY])
        value.update({key: _with_encrypted(inner) for key, inner in value.items()})
    elif isinstance(value, list):
        value[:] = map(_with_encrypted, value)
    return value


def _refuse_vault(file: str, _text: str, line: int) -> Any:
    raise BadInput(
        "!vault values belong into playbooks, inventories and files of variables, not here",
        Place(file, line),
    )


def _unsafe(_file: str, text: str, _line: int) -> Written:
    return UnsafeText(text)


_TAGS = {"!vault": _encrypted, "!vault-encrypted": _encrypted, "!unsafe": _unsafe}
_PLAIN_TAGS = {"!vault": _refuse_vault, "!vault-encrypted": _refuse_vault, "!unsafe": _unsafe}
for _kind in (
    Written,
    UnsafeText,
    TemplateText,
    EncryptedText,
    DecryptedText,
):  # PyYAML writes no subclass of str by itself
    yaml.representer.SafeRepresenter.add_representer(
        _kind, lambda dumper, text: dumper.represent_str(str(text))
    )


def _deeper_than(levels: int, value: Any) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, (dict, list))
        ]
    return bool(level)


def _has_surrogates(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _not_utf8(error: UnicodeDecodeError, file: str) -> BadInput:
    return BadInput(
        f"not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8", Place(file)
    )
