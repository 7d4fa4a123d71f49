"""Where vault passwords come from: files, programs that print one, and the terminal.

A vault id is `label@source` or a source alone. A source is `prompt`, a file that holds the
password, or an executable file that prints it; one named `...-client` is given the label.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen
from playrunner.vault.envelope import DEFAULT_LABEL, is_encrypted, is_label

PROMPT = "prompt"
ASK_ONCE = "prompt_ask_vault_pass"  # the same, asked without naming the vault id
_NO_SUCH_ID = 2  # what a client program ends with that knows no password for a label
_REMEDY = "write the password into it"

Decrypt = Callable[[bytes, str], bytes]  # the content of a password file, and the file's name


@frozen
class Password:
    """A password, the label of its vault id, and where it came from."""

    label: str
    source: str
    secret: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"{self.label} ({self.source})"


def split_id(vault_id: str) -> tuple[str, str]:
    """The label and the source; the label is empty where none is given."""
    label, at, source = vault_id.partition("@")
    if not at:
        label, source = "", vault_id
    if not source or (at and not is_label(label)):
        raise BadInput(
            f'"{vault_id}" is not a vault id; write LABEL@FILE, LABEL@prompt, or a file alone'
        )
    return label, source


def read_password(vault_id: str, decrypt: Decrypt, confirm: bool = False) -> Password:
    """The password of a vault id; `confirm` asks twice, for one that is about to be used first."""
    label, source = split_id(vault_id)
    if source in (PROMPT, ASK_ONCE):
        shown = "" if source == ASK_ONCE else label or DEFAULT_LABEL
        return Password(label or DEFAULT_LABEL, PROMPT, _prompted(shown, confirm))
    path = Path(os.path.expanduser(source))
    if not path.exists():
        raise BadInput("there is no such vault password file", Place(str(path)))
    if path.is_dir():
        raise BadInput("a vault password file is needed, not a folder", Place(str(path)))
    secret = _printed(path, label) if os.access(path, os.X_OK) else _content(path, decrypt)
    if not secret:
        raise BadInput(f"the vault password file is empty; {_REMEDY}", Place(str(path)))
    return Password(label or DEFAULT_LABEL, str(path), secret)


def _prompted(shown: str, confirm: bool) -> bytes:
    import getpass

    name = f" ({shown})" if shown else ""
    try:
        text = getpass.getpass(f"{'New vault' if confirm else 'Vault'} password{name}: ")
        if confirm and getpass.getpass(f"Confirm new vault password{name}: ") != text:
            raise BadInput("the two passwords differ; try again")
    except EOFError:
        raise BadInput(
            "a vault password is asked for and there is no terminal; use --vault-password-file"
        ) from None
    if not text.strip():
        raise BadInput("the vault password is empty")
    return text.strip().encode()


def _content(path: Path, decrypt: Decrypt) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"the vault password file cannot be read: {error.strerror}", Place(str(path))
        ) from None
    if is_encrypted(content):
        content = decrypt(content, str(path))
    return content.strip()


def _printed(path: Path, label: str) -> bytes:
    """What a program prints; its messages go to the terminal, where it may ask something."""
    import subprocess

    is_client = path.stem.endswith("-client")
    words: Sequence[str] = ["--vault-id", label] if is_client and label else []
    place = Place(str(path))
    try:
        done = subprocess.run(
            [str(path.absolute()), *words], stdout=subprocess.PIPE, check=False, shell=False
        )
    except OSError as error:
        raise BadInput(
            f"the vault password program cannot be run: {error.strerror}; if it is a file with the"
            f" password, run: chmod -x {path}",
            place,
        ) from None
    if is_client and done.returncode == _NO_SUCH_ID:
        raise BadInput(f'the program has no vault password for "{label or DEFAULT_LABEL}"', place)
    if done.returncode:
        raise BadInput(f"the vault password program ended with code {done.returncode}", place)
    return done.stdout.strip(b"\r\n")
