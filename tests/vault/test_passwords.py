"""Vault passwords: files, programs, the environment, the terminal."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.vault import vault
from playrunner.vault.vault import Vault, VaultSettings, vault_of

RECORDED = Path(__file__).parent / "recorded"
FIRST, SECOND = f"{RECORDED}/first.password", f"{RECORDED}/second.password"


def password_of(vault_id: str) -> tuple[str, bytes]:
    (password,) = Vault([vault_id]).passwords()
    return password.label, password.secret


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("content", ["secret\n", "  secret \r\n\n", "secret"])
def test_a_file_s_password_has_no_white_space_around_it(tmp_path: Path, content: str) -> None:
    file = tmp_path / "password"
    file.write_text(content)
    assert password_of(str(file)) == ("default", b"secret")
    assert password_of(f"lab@{file}") == ("lab", b"secret")


def test_a_program_prints_the_password_and_only_a_client_is_given_the_label(
    tmp_path: Path,
) -> None:
    body = 'echo "got $*"'
    assert password_of(f"lab@{program(tmp_path / 'ask', body)}") == ("lab", b"got ")
    client = program(tmp_path / "keyring-client.sh", body)
    assert password_of(f"lab@{client}") == ("lab", b"got --vault-id lab")
    assert password_of(str(client)) == ("default", b"got ")


def test_a_password_file_may_itself_be_encrypted_with_an_earlier_password(tmp_path: Path) -> None:
    first = Vault([FIRST])
    file = tmp_path / "password"
    file.write_text(first.encrypt(b"inner\n", first.encrypting_password()))
    assert [each.secret for each in Vault([FIRST, str(file)]).passwords()][1] == b"inner"


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("", 0o600, "the vault password file is empty"),
        ("#!/bin/sh\nexit 3\n", 0o700, "the vault password program ended with code 3"),
        ("just text\n", 0o700, "run: chmod -x"),
        ("#!/bin/sh\ntrue\n", 0o700, "the vault password file is empty"),
    ],
)
def test_a_source_without_a_password_is_refused_in_one_line(
    tmp_path: Path, content: str, mode: int, words: str
) -> None:
    file = tmp_path / "password"
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(BadInput) as caught:
        password_of(str(file))
    assert words in str(caught.value) and str(file) in str(caught.value)


def test_a_client_that_knows_no_such_label_says_so(tmp_path: Path) -> None:
    client = program(tmp_path / "my-client", "exit 2")
    with pytest.raises(BadInput, match='no vault password for "lab"'):
        password_of(f"lab@{client}")


@pytest.mark.parametrize("vault_id", ["@file", "lab@", "", "a;b@file", "a b@file"])
def test_a_malformed_vault_id_is_refused(vault_id: str) -> None:
    with pytest.raises(BadInput, match="is not a vault id"):
        password_of(vault_id)


def test_flags_and_environment_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_VAULT_IDENTITY_LIST", f"a@{FIRST}, b@{SECOND}")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", FIRST)
    found = vault_of(VaultSettings([SECOND], [f"c@{FIRST}"]))
    labels = [password.label for password in found.passwords()]
    assert labels == ["a", "b", "c", "default", "default"]


def test_ansible_cfg_may_name_the_password_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(vault, "configured", {"vault_password_file": FIRST}.get)
    assert vault_of(VaultSettings()).passwords()[0].secret == b"first password"


def test_several_vault_ids_need_a_choice_for_encrypting() -> None:
    several = Vault([f"a@{FIRST}", f"b@{SECOND}"])
    with pytest.raises(BadInput, match="--encrypt-vault-id LABEL"):
        several.encrypting_password()
    with pytest.raises(BadInput, match="there is: a, b"):
        several.encrypting_password("c")
    assert several.encrypting_password("b").secret == b"second-password"


def test_the_terminal_is_asked_with_the_label_and_shows_no_password() -> None:
    child, terminal = pty.fork()
    if child == 0:
        (password,) = Vault(["lab@prompt"]).passwords()
        os._exit(0 if password.secret == b"typed" else 1)
    shown = b""
    while b"Vault password (lab): " not in shown:
        shown += os.read(terminal, 100)
    os.write(terminal, b"typed\n")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert b"typed" not in shown + os.read(terminal, 100)
