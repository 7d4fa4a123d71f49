"""The format of ansible-vault: what it wrote is read, and what is written here it reads.

The files in recorded/ were made by ansible-vault of ansible-core 2.19.14.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playrunner.errors import BadInput, Place
from playrunner.vault import cipher, envelope
from playrunner.vault.vault import Vault
from tests.differential import ansible

ANSIBLE_VAULT = ansible.program().with_name("ansible-vault")
RECORDED = Path(__file__).parent / "recorded"
FIRST, SECOND = f"{RECORDED}/first.password", f"{RECORDED}/second.password"
CONTENTS = {
    "plain.yaml": "a: b\n# äöü\n".encode(),
    "labelled.txt": b"labelled\n",
    "binary": b"\xff" * 5000,
    "empty": b"",
}
# By ansible-core: {{ 'abc' | vault('pw9', vault_id='l1', salt='s'*32) }}
SALTED = """$ANSIBLE_VAULT;1.2;AES256;l1
37333733373337333733373337333733373337333733373337333733373337333733373337333733
3733373337333733373337333733373337333733373337330a633832326162333234313964303864
38636464343166386166613163656330383431663933353539393934326330306138323866353639
6632666665313232640a353331663732313632383132336466613965666639643861626233633962
3032
"""


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_of_ansible_vault_is_decrypted(name: str) -> None:
    vault = Vault([f"default@{FIRST}", f"lab@{SECOND}"])
    assert vault.decrypt((RECORDED / name).read_bytes(), None) == CONTENTS[name]


def test_with_the_same_salt_the_text_is_ansible_s_to_the_last_digit() -> None:
    assert envelope.closed(cipher.encrypt(b"abc", b"pw9", "l1", b"s" * 32)) == SALTED


@settings(max_examples=10, deadline=None)
@given(st.binary(max_size=300), st.binary(min_size=1, max_size=40))
def test_what_was_encrypted_comes_back(plaintext: bytes, password: bytes) -> None:
    sealed = envelope.opened(envelope.closed(cipher.encrypt(plaintext, password, "some-label")))
    assert sealed.label == "some-label"
    assert cipher.decrypt(sealed, password) == plaintext
    assert cipher.decrypt(sealed, password + b"x") is None


def test_a_label_of_default_is_not_written() -> None:
    text = envelope.closed(cipher.encrypt(b"x", b"password", "default"))
    assert text.startswith("$ANSIBLE_VAULT;1.1;AES256\n")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_indentation_and_line_ends_do_not_matter() -> None:
    spaced = SALTED.replace("\n", "\r\n   ")
    assert cipher.decrypt(envelope.opened(spaced), b"pw9") == b"abc"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$ANSIBLE_VAULT;1.1;AES256\n", "it ends too early"),
        ("$ANSIBLE_VAULT;1.1;AES256\n3132\n", "it ends too early"),
        ("$ANSIBLE_VAULT;1.1;AES256\nxyz\n", "not made of pairs of hexadecimal digits"),
        ("$ANSIBLE_VAULT;1.1;AES\n3132\n", 'its cipher is "AES"'),
        ("$ANSIBLE_VAULT;9.9;AES256\n3132\n", 'its format is "9.9"'),
        ("$ANSIBLE_VAULT;\n", "its first line is not"),
        (SALTED[:-8], "hexadecimal"),
    ],
)
def test_a_damaged_text_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Vault([FIRST]).decrypt(text, Place("secret.yaml", 3))
    assert str(caught.value).startswith("secret.yaml:3: encrypted with vault, and damaged: ")
    assert words in str(caught.value)


def test_a_changed_text_is_not_decrypted() -> None:
    text = (RECORDED / "plain.yaml").read_text().rstrip()
    changed = text[:-1] + ("0" if text[-1] != "0" else "1")
    with pytest.raises(BadInput, match="wrong password; tried default"):
        Vault([FIRST]).decrypt(changed, None)


def test_a_wrong_password_names_the_file_and_the_vault_ids_that_were_tried() -> None:
    with pytest.raises(BadInput) as caught:
        Vault([f"a@{SECOND}", SECOND]).decrypt(
            (RECORDED / "plain.yaml").read_text(), Place("group_vars/all.yml", 1)
        )
    assert str(caught.value) == (
        "group_vars/all.yml:1: encrypted with vault, and cannot be decrypted: wrong password;"
        f" tried a ({SECOND}), default ({SECOND})"
    )


def test_labels_only_order_the_passwords_unless_they_have_to_match() -> None:
    labelled = (RECORDED / "labelled.txt").read_text()
    assert Vault([f"other@{SECOND}"]).decrypt(labelled, None) == b"labelled\n"
    with pytest.raises(BadInput, match="no vault id has this label"):
        Vault([f"other@{SECOND}"], match_labels=True).decrypt(labelled, None)


@pytest.mark.skipif(not ANSIBLE_VAULT.exists(), reason="needs ansible-core (PLAYRUNNER_ANSIBLE)")
def test_ansible_vault_decrypts_what_is_written_here(tmp_path: Path) -> None:
    vault = Vault([f"default@{FIRST}", f"lab@{SECOND}"])
    for label, content in (("default", b"one\n"), ("lab", b"\xfftwo" * 1000), ("lab", b"")):
        file = tmp_path / "file"
        file.write_text(vault.encrypt(content, vault.encrypting_password(label)))
        command = [ANSIBLE_VAULT, "decrypt", "--output", "-", "--vault-id", FIRST]
        done = subprocess.run(
            [*command, "--vault-id", f"lab@{SECOND}", file], capture_output=True, check=False
        )
        assert done.stdout == content, done.stderr
