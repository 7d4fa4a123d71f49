"""vault.encrypt, decrypt, view, edit, rekey, create and encrypt-string, as a user types them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playrunner.text.documents import parse_yaml
from playrunner.text.written import EncryptedText
from playrunner.vault.vault import Vault
from tests.support.runner import REPOSITORY, Outcome, finish, invoke, start

RECORDED = Path(__file__).parent / "recorded"
FIRST, SECOND = f"{RECORDED}/first.password", f"{RECORDED}/second.password"
WITH_FIRST = ("--vault-id", FIRST)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.yaml"
    vault = Vault([FIRST])
    file.write_text(vault.encrypt(b"a: b\n", vault.encrypting_password()))
    return file


def run(tmp_path: Path, *words: object, **environment: str) -> Outcome:
    (tmp_path / "tmp").mkdir(exist_ok=True)
    return invoke(*words, state=tmp_path / "state", TMPDIR=str(tmp_path / "tmp"), **environment)


def editor(tmp_path: Path, body: str) -> str:
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return str(path)


def plaintext(file: Path, password_file: str = FIRST) -> bytes:
    return Vault([password_file]).decrypt(file.read_bytes(), None)


def test_files_are_encrypted_for_their_owner_alone_and_come_back(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"\xff one")
    two.write_text("two\n")
    assert run(tmp_path, "vault.encrypt", one, two, *WITH_FIRST).code == 0
    assert (plaintext(one), plaintext(two)) == (b"\xff one", b"two\n")
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert run(tmp_path, "vault.view", *WITH_FIRST, two).out == "two\n"
    done = run(tmp_path, "vault.decrypt", one, two, "--json", *WITH_FIRST)
    assert done.data == {"decrypted": [str(one), str(two)], "changed": True, "check": False}
    assert (one.read_bytes(), two.read_text()) == (b"\xff one", "two\n")


def test_check_changes_no_file(tmp_path: Path, secret: Path) -> None:
    before = secret.read_bytes()
    done = run(tmp_path, "vault.decrypt", secret, "--check", *WITH_FIRST)
    assert (done.code, secret.read_bytes()) == (0, before)
    assert "would be decrypted" in done.out


def test_a_link_stays_a_link(tmp_path: Path, secret: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(secret)
    assert run(tmp_path, "vault.decrypt", link, *WITH_FIRST).code == 0
    assert link.is_symlink() and secret.read_text() == "a: b\n"


def test_if_one_file_cannot_be_decrypted_none_is_changed(tmp_path: Path, secret: Path) -> None:
    other = tmp_path / "other"
    other.write_text((RECORDED / "labelled.txt").read_text())
    before = secret.read_bytes()
    done = run(tmp_path, "vault.decrypt", secret, other, *WITH_FIRST)
    assert done.code == 5 and secret.read_bytes() == before
    assert f'{other}:1: encrypted with vault for vault id "lab"' in done.err
    assert f"wrong password; tried default ({FIRST})" in done.err


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("encrypt", "it is encrypted already; see vault.rekey"),
        ("create", "it exists already; see vault.edit"),
    ],
)
def test_what_is_there_is_not_encrypted_again(
    tmp_path: Path, secret: Path, verb: str, words: str
) -> None:
    done = run(tmp_path, f"vault.{verb}", secret, *WITH_FIRST)
    assert done.code == 5 and f"{secret}: {words}" in done.err


def test_rekey_changes_password_and_label(tmp_path: Path, secret: Path) -> None:
    words = ("--new-vault-id", f"lab@{SECOND}")
    assert run(tmp_path, "vault.rekey", secret, *WITH_FIRST, *words).code == 0
    assert secret.read_text().startswith("$ANSIBLE_VAULT;1.2;AES256;lab\n")
    assert plaintext(secret, SECOND) == b"a: b\n"


def test_standard_input_goes_to_standard_output() -> None:
    def piped(verb: str, content: bytes) -> bytes:
        command = [sys.executable, "-m", "invoke", f"vault.{verb}", *WITH_FIRST]
        return subprocess.run(
            command, input=content, cwd=REPOSITORY, capture_output=True, check=True
        ).stdout

    encrypted = piped("encrypt", b"\xffpiped")
    assert encrypted.startswith(b"$ANSIBLE_VAULT;1.1;AES256\n")
    assert piped("decrypt", encrypted) == b"\xffpiped"


def test_encrypt_string_prints_a_value_for_a_file_of_variables(tmp_path: Path) -> None:
    words = ("--name", "token", "--vault-id", f"lab@{SECOND}")
    done = run(tmp_path, "vault.encrypt-string", "hunter2", *words)
    value = parse_yaml(done.out, "")["token"]
    assert isinstance(value, EncryptedText)
    assert Vault([SECOND]).decrypt(str(value), None) == b"hunter2"


# Editing.


def test_edit_shows_the_plaintext_and_encrypts_what_is_saved(tmp_path: Path, secret: Path) -> None:
    seen = tmp_path / "seen"
    program = editor(
        tmp_path,
        f'stat -c %a "$1" "$(dirname "$1")" > {seen}; cat "$1" >> {seen}; echo "$1" >> {seen};'
        ' echo more >> "$1"',
    )
    assert run(tmp_path, "vault.edit", secret, *WITH_FIRST, EDITOR=program).code == 0
    assert plaintext(secret) == b"a: b\nmore\n"
    *modes, content, path = seen.read_text().splitlines()
    assert (modes, content) == (["600", "700"], "a: b")
    assert path.endswith(".yaml") and not Path(path).exists()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_edit_that_changes_nothing_leaves_the_file_alone(tmp_path: Path, secret: Path) -> None:
    before = secret.read_bytes()
    done = run(tmp_path, "vault.edit", secret, *WITH_FIRST, EDITOR="true")
    assert (done.code, secret.read_bytes()) == (0, before)


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [("false", 2, "ended with code 1; nothing is changed"), ("no-such-editor", 5, "set EDITOR")],
)
def test_an_editor_that_fails_changes_nothing(
    tmp_path: Path, secret: Path, program: str, code: int, words: str
) -> None:
    before = secret.read_bytes()
    done = run(tmp_path, "vault.edit", secret, *WITH_FIRST, EDITOR=program)
    assert (done.code, secret.read_bytes()) == (code, before)
    assert words in done.err and len(done.err.splitlines()) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_file_that_changed_meanwhile_is_kept_and_so_is_the_edit(
    tmp_path: Path, secret: Path
) -> None:
    program = editor(tmp_path, f'echo mine >> "$1"; echo theirs > {secret}')
    done = run(tmp_path, "vault.edit", secret, *WITH_FIRST, EDITOR=program)
    assert done.code == 5 and secret.read_text() == "theirs\n"
    assert plaintext(Path(f"{secret}.edited")) == b"a: b\nmine\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_plaintext_is_left_however_an_edit_ends(
    tmp_path: Path, secret: Path, number: signal.Signals
) -> None:
    ready, before = tmp_path / "ready", secret.read_bytes()
    program = editor(tmp_path, f'echo secret > "$1~"; touch {ready}; exec sleep 60')
    (tmp_path / "tmp").mkdir()
    process = start(
        "vault.edit",
        secret,
        *WITH_FIRST,
        state=tmp_path / "state",
        TMPDIR=str(tmp_path / "tmp"),
        EDITOR=program,
    )
    deadline = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list((tmp_path / "tmp").iterdir())
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    if number == signal.SIGINT:  # a terminal sends it to both
        os.kill(child, number)
    process.send_signal(number)
    done = finish(process)
    assert done.code == 130, done.text
    assert list((tmp_path / "tmp").iterdir()) == []
    assert secret.read_bytes() == before
    assert "Traceback" not in done.text


def test_help_names_each_flag(tmp_path: Path) -> None:
    shown = run(tmp_path, "--help", "vault.encrypt").out
    for flag in ("--vault-id", "--vault-password-file", "--encrypt-vault-id", "--output"):
        assert flag in shown
