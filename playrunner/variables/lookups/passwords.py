"""The lookup `password`: a random password, kept in a file of the controller for the next time."""

from __future__ import annotations

import os
import random
import string
import threading
from pathlib import Path
from typing import Any

from playrunner.text.atomic_write import write_text
from playrunner.variables.lookups.lookup_scope import LookupScope

_LENGTH = 20
_NAMED_CHARACTERS = {
    name: getattr(string, name)
    for name in (
        "ascii_letters",
        "ascii_lowercase",
        "ascii_uppercase",
        "digits",
        "hexdigits",
        "octdigits",
        "printable",
        "punctuation",
        "whitespace",
    )
}
_CHARACTERS = ["ascii_letters", "digits", ".,:-_"]
_OPTIONS = ("length", "chars", "encrypt", "seed", "ident")
_SALT = " salt="
_lock = threading.Lock()  # hosts ask for the same file at the same time


def password(terms: list[Any], scope: LookupScope, **options: Any) -> list[str]:
    """Passwords from files; one that is not there is made, and written unless this is a check."""
    return [_password(str(term), scope, options) for term in terms]


def _password(term: str, scope: LookupScope, options: dict[str, Any]) -> str:
    name, given = _read_term(term, options)
    path = Path(os.path.expanduser(name))
    if not path.is_absolute():
        path = Path(str(scope.lookup("playbook_dir"))) / path
    with _lock:
        content = "" if name == os.devnull or not path.exists() else path.read_text("utf-8")
        text, _, salt = content.rstrip("\n").partition(_SALT)
        made = text or _random_text(given)
        encrypt = given.get("encrypt")
        if encrypt and not salt:
            salt = _random_salt()
        kept = f"{made}{_SALT}{salt}" if encrypt or salt else made
        stays = name == os.devnull or kept == content.rstrip("\n")
        if not stays and scope.lookup("ansible_check_mode") is not True:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_text(path, f"{kept}\n", 0o600)
    if not encrypt:
        return made
    from playrunner.variables.filters.hashing import password_hash

    return password_hash(made, _HASHES.get(str(encrypt), str(encrypt)), salt)


_HASHES = {"sha512_crypt": "sha512", "sha256_crypt": "sha256", "md5_crypt": "md5"}


def _read_term(term: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The file, and the options that follow it or are given apart."""
    given = dict(options)
    words = term.split(" ")
    while len(words) > 1 and words[-1].partition("=")[0] in _OPTIONS and "=" in words[-1]:
        key, _, value = words.pop().partition("=")
        given[key] = value
    return " ".join(words), given


def _random_text(given: dict[str, Any]) -> str:
    chosen = given.get("chars", _CHARACTERS)
    letters = _letters(chosen if isinstance(chosen, list) else _split(str(chosen)))
    seed = given.get("seed")
    source = random.SystemRandom() if seed is None else random.Random(seed)
    return "".join(source.choice(letters) for _ in range(int(given.get("length", _LENGTH))))


def _split(text: str) -> list[str]:
    """Words between commas; a doubled comma is the comma itself."""
    words = [word for word in text.replace(",,", ",").split(",") if word]
    return [",", *words] if ",," in text else words


def _letters(words: list[Any]) -> str:
    letters = "".join(_NAMED_CHARACTERS.get(str(word), str(word)) for word in words)
    letters = letters.replace('"', "").replace("'", "")
    if not letters:
        raise ValueError("chars names no character")
    return letters


def _random_salt() -> str:
    letters = string.ascii_letters + string.digits + "./"
    return "".join(random.SystemRandom().choice(letters) for _ in range(16))
