"""vault: encrypt, read and edit files and values as ansible-vault does."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import VAULT_FLAGS, FlagSet, pick, verb
from playrunner.errors import BadInput, Place
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context
    from invoke.tasks import Task

    from playrunner.vault.vault import Vault

_READ = FlagSet(VAULT_FLAGS)
_CHANGE = FlagSet({**VAULT_FLAGS, **pick("check", "json")})
_ENCRYPT_ID = "label of the vault id to encrypt with, where several are given"
_OUTPUT = "write here instead of replacing the file; - is standard output"
_STANDARD = "-"
_VALUE_FLAGS = {
    "vault-password-file",
    "vault-id",
    "encrypt-vault-id",
    "name",
    "output",
    "new-vault-id",
    "new-vault-password-file",
}
_INDENT = 10  # as ansible-vault indents a value


def _words_after(verb_name: str) -> list[str]:
    """The words of the command line that are no flags and no values of flags."""
    words = sys.argv[sys.argv.index(verb_name) + 1 :] if verb_name in sys.argv else []
    files, is_value = [], False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("--"):
            is_value = word[2:] in _VALUE_FLAGS
        elif not word.startswith("-"):
            files.append(word)
    return files


def _with_files(
    name: str, flags: FlagSet, help: dict[str, str] | None = None
) -> Callable[..., Any]:
    """A verb whose words are files, as many as the command line has; Invoke knows no such thing."""

    def wrap(body: Callable[..., int]) -> Task[Any]:
        given = _words_after(f"vault.{name}")
        names = ["file", *(f"file_{number}" for number in range(2, len(given) + 1))]
        context, flag_values, _, *others = inspect.signature(body).parameters.values()
        files = [
            inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
            for each in names
        ]

        def run(context: Context, flags: dict[str, Any], **values: Any) -> int:
            words = [values.pop(each) for each in names]
            return body(context, flags, [word for word in words if word], **values)

        run.__name__, run.__doc__ = name, body.__doc__
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [context, flag_values, *files, *others]
        )
        described = {"file": "the files; none means standard input", **(help or {})}
        return verb(flags=flags, positional=names if given else [], help=described, name=name)(run)

    return wrap


@_with_files("encrypt", _CHANGE, {"output": _OUTPUT, "encrypt-vault-id": _ENCRYPT_ID})
def encrypt(
    context: Context,
    flags: dict[str, Any],
    files: Sequence[str],
    output: str = "",
    encrypt_vault_id: str = "",
) -> int:
    """Encrypt files with a vault password."""
    from playrunner.commands.vault_files import read
    from playrunner.vault.envelope import is_encrypted

    contents = {file: read(file) for file in _sources(files, output)}
    for file, content in contents.items():
        if is_encrypted(content):
            raise BadInput("it is encrypted already; see vault.rekey", Place(file))
    vault = _vault(flags, confirm=True)
    password = vault.encrypting_password(encrypt_vault_id, confirm=True)
    results = {file: vault.encrypt(text, password).encode() for file, text in contents.items()}
    return _finish("encrypted", results, output, flags)


@_with_files("decrypt", _CHANGE, {"output": _OUTPUT})
def decrypt(context: Context, flags: dict[str, Any], files: Sequence[str], output: str = "") -> int:
    """Decrypt files in place, or to another file."""
    return _finish("decrypted", _plaintexts(_sources(files, output), flags), output, flags)


@_with_files("view", _READ)
def view(context: Context, flags: dict[str, Any], files: Sequence[str]) -> int:
    """Print what encrypted files hold."""
    from playrunner.commands.vault_files import write

    for content in _plaintexts(_sources(files, _STANDARD), flags).values():
        write(_STANDARD, content)
    return 0


@_with_files(
    "rekey",
    _CHANGE,
    {
        "new-vault-id": "the new vault id: LABEL@FILE, LABEL@prompt, or a file alone",
        "new-vault-password-file": "file with the new password, or a program that prints it",
    },
)
def rekey(
    context: Context,
    flags: dict[str, Any],
    files: Sequence[str],
    new_vault_id: str = "",
    new_vault_password_file: str = "",
) -> int:
    """Encrypt files again, with another password."""
    from playrunner.vault.passwords import PROMPT
    from playrunner.vault.vault import Vault

    if not files:
        raise BadInput("name the files to encrypt again")
    plaintexts = _plaintexts(files, flags)
    new = Vault([new_vault_id or new_vault_password_file or PROMPT])
    password = new.passwords(confirm=True)[0]
    results = {file: new.encrypt(text, password).encode() for file, text in plaintexts.items()}
    return _finish("rekeyed", results, "", flags)


@verb(
    flags=_READ,
    positional=["file"],
    help={"file": "the encrypted file", "encrypt-vault-id": _ENCRYPT_ID},
)
def edit(context: Context, file: str, flags: dict[str, Any], encrypt_vault_id: str = "") -> int:
    """Change an encrypted file in your editor (EDITOR)."""
    from playrunner.commands.vault_files import edited, read, read_encrypted, write

    content = read_encrypted(file)
    vault = _vault(flags)
    plaintext, password = vault.decrypt_with(content, Place(file, 1))
    if encrypt_vault_id:
        password = vault.encrypting_password(encrypt_vault_id)
    changed = edited(plaintext, file)
    if changed == plaintext and not encrypt_vault_id:
        print(f"{file}: not changed")
        return 0
    target = file if read(file) == content else f"{file}.edited"
    write(target, vault.encrypt(changed, password).encode())
    if target != file:
        raise BadInput(
            f"it was changed by another program; what you wrote is in {target}", Place(file)
        )
    return 0


@verb(
    flags=_READ,
    positional=["file"],
    help={"file": "the file to make", "encrypt-vault-id": _ENCRYPT_ID},
)
def create(context: Context, file: str, flags: dict[str, Any], encrypt_vault_id: str = "") -> int:
    """Write a new encrypted file in your editor (EDITOR)."""
    import os

    from playrunner.commands.vault_files import edited, write

    if os.path.lexists(file):
        raise BadInput("it exists already; see vault.edit", Place(file))
    vault = _vault(flags, confirm=True)
    password = vault.encrypting_password(encrypt_vault_id, confirm=True)
    write(file, vault.encrypt(edited(b"", file), password).encode())
    return 0


@verb(
    flags=_READ,
    positional=["text"] if _words_after("vault.encrypt-string") else [],
    name="encrypt-string",
    help={
        "text": "the text; without it, standard input is read, or you are asked for it",
        "name": "the variable's name, for a line that can be put into a file of variables",
        "encrypt-vault-id": _ENCRYPT_ID,
    },
)
def encrypt_string(
    context: Context,
    flags: dict[str, Any],
    text: str | None = None,
    name: str = "",
    encrypt_vault_id: str = "",
) -> int:
    """Print a text as an encrypted value, ready for a YAML file."""
    import getpass

    vault = _vault(flags, confirm=True)
    password = vault.encrypting_password(encrypt_vault_id, confirm=True)
    if text:
        plaintext = text.encode()
    elif sys.stdin.isatty():
        plaintext = getpass.getpass("Text to encrypt: ").encode()
    else:
        plaintext = sys.stdin.buffer.read()
    lines = vault.encrypt(plaintext, password).splitlines()
    print(f"{name}: !vault |" if name else "!vault |")
    print("\n".join(" " * _INDENT + line for line in lines))
    return 0


def _sources(files: Sequence[str], output: str) -> Sequence[str]:
    if output and output != _STANDARD and len(files) > 1:
        raise BadInput("--output takes one file; there are several to read")
    return list(dict.fromkeys(files)) or [_STANDARD]


def _plaintexts(files: Sequence[str], flags: dict[str, Any]) -> dict[str, bytes]:
    """What the files hold; all of them are decrypted before one is changed."""
    from playrunner.commands.vault_files import read_encrypted

    contents = {file: read_encrypted(file) for file in files}
    vault = _vault(flags)
    return {
        file: vault.decrypt_with(content, Place(file, 1))[0] for file, content in contents.items()
    }


def _finish(done: str, results: dict[str, bytes], output: str, flags: dict[str, Any]) -> int:
    from playrunner.commands.vault_files import write

    written = [output or file for file in results]
    if not flags["check"]:
        for file, content in results.items():
            write(output or file, content)
    if _STANDARD in written:
        return 0
    if flags["json"]:
        print_json({done: written, "changed": True, "check": flags["check"]})
    else:
        for file in written:
            print(f"{file}: {'would be ' if flags['check'] else ''}{done}")
    return 0


def _vault(flags: dict[str, Any], confirm: bool = False) -> Vault:
    """The vault of the flags and the environment; the password is asked for where there is none."""
    from playrunner.vault.passwords import ASK_ONCE
    from playrunner.vault.vault import Vault, VaultSettings, vault_of

    vault = vault_of(
        VaultSettings(flags["vault_password_file"], flags["vault_id"], flags["ask_vault_pass"])
    )
    if not vault.vault_ids:
        vault = Vault([ASK_ONCE])
    vault.passwords(confirm)
    return vault
