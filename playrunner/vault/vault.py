"""Vault: decrypts and encrypts with the passwords that the command line and the environment name.

Passwords are read when the first encrypted text is met, or at once where a command asks for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from playrunner.errors import BadInput, NotDecrypted, Place
from playrunner.frozen import frozen
from playrunner.vault import cipher, envelope
from playrunner.vault.envelope import Envelope, Malformed, is_encrypted
from playrunner.vault.passwords import ASK_ONCE, Password, read_password

_REMEDY = "use --vault-password-file FILE, --vault-id LABEL@FILE or --ask-vault-pass"
_YES = ("1", "true", "yes", "on", "y", "t")


@frozen
class VaultSettings:
    """What the flags of a command say about vault passwords."""

    password_files: Sequence[str] = ()
    ids: Sequence[str] = ()
    ask: bool = False


class Vault:
    """The passwords of a process, and what can be done with them."""

    def __init__(self, vault_ids: Sequence[str] = (), match_labels: bool = False) -> None:
        self.vault_ids = tuple(vault_ids)
        self._match_labels = match_labels
        self._passwords: list[Password] | None = None
        self._decrypted: dict[str | bytes, bytes] = {}
        self._lock = threading.RLock()

    @classmethod
    def with_passwords(cls, passwords: Sequence[Password]) -> Vault:
        """A vault with passwords that are known already."""
        vault = cls()
        vault._passwords = list(passwords)
        return vault

    def passwords(self, confirm: bool = False) -> Sequence[Password]:
        """The passwords, read once; a later file may be encrypted with an earlier one."""
        with self._lock:
            if self._passwords is None:
                self._passwords = []
                try:
                    for vault_id in self.vault_ids:
                        self._passwords.append(read_password(vault_id, self._decrypt_file, confirm))
                except BaseException:
                    self._passwords = None
                    raise
            return self._passwords

    def decrypt(self, content: str | bytes, place: Place | None) -> bytes:
        """The plaintext; bad input names the place and the vault ids that were tried."""
        plaintext = self._decrypted.get(content)
        if plaintext is None:
            plaintext = self.decrypt_with(content, place)[0]
            self._decrypted[content] = plaintext
        return plaintext

    def decrypt_with(self, content: str | bytes, place: Place | None) -> tuple[bytes, Password]:
        """The plaintext, and the password that it is encrypted with."""
        try:
            sealed = envelope.opened(content)
            passwords = self.passwords()
            if not passwords:
                raise NotDecrypted(
                    f"encrypted with vault, and no password is given; {_REMEDY}", place
                )
            for password in self._in_order(sealed, passwords):
                plaintext = cipher.decrypt(sealed, password.secret)
                if plaintext is not None:
                    return plaintext, password
        except Malformed as error:
            raise NotDecrypted(f"encrypted with vault, and damaged: {error}", place) from None
        tried = ", ".join(map(str, self._in_order(sealed, passwords)))
        label = f' for vault id "{sealed.label}"' if sealed.label else ""
        raise NotDecrypted(
            f"encrypted with vault{label}, and cannot be decrypted: "
            + (f"wrong password; tried {tried}" if tried else "no vault id has this label"),
            place,
        )

    def encrypt(self, plaintext: bytes, password: Password, salt: bytes = b"") -> str:
        salt = salt or (_setting("ANSIBLE_VAULT_ENCRYPT_SALT", "vault_encrypt_salt")).encode()
        return envelope.closed(cipher.encrypt(plaintext, password.secret, password.label, salt))

    def encrypting_password(self, label: str = "", confirm: bool = False) -> Password:
        """The password to encrypt with: the one with this label, or the only one."""
        label = label or _setting("ANSIBLE_VAULT_ENCRYPT_IDENTITY", "vault_encrypt_identity")
        passwords = self.passwords(confirm)
        if not passwords:
            raise BadInput(f"no vault password is given; {_REMEDY}")
        if label:
            for password in passwords:
                if password.label == label:
                    return password
            known = ", ".join(password.label for password in passwords)
            raise BadInput(
                f'no vault id has the label "{label}" to encrypt with; there is: {known}'
            )
        labels = dict.fromkeys(password.label for password in passwords)
        if len(labels) > 1:
            raise BadInput(
                f"several vault ids are given ({', '.join(labels)}); choose the one to encrypt with"
                " by --encrypt-vault-id LABEL"
            )
        return passwords[0]

    def _in_order(self, sealed: Envelope, passwords: Sequence[Password]) -> list[Password]:
        """The passwords to try: those of the same label, then the others."""
        same = [password for password in passwords if password.label == sealed.label]
        if self._match_labels and sealed.label:
            return same
        return [*same, *(password for password in passwords if password.label != sealed.label)]

    def _decrypt_file(self, content: bytes, file: str) -> bytes:
        return self.decrypt_with(content, Place(file, 1))[0]


def vault_of(settings: VaultSettings) -> Vault:
    """The vault that flags and the environment describe."""
    vault_ids = [
        *filter(None, map(str.strip, _setting(*_IDENTITY_LIST).split(","))),
        *settings.ids,
        *settings.password_files,
        *filter(None, [_setting(*_PASSWORD_FILE)]),
    ]
    if settings.ask or _setting(*_ASK).lower() in _YES:
        vault_ids.append(ASK_ONCE)
    match_labels = _setting("ANSIBLE_VAULT_ID_MATCH", "vault_id_match").lower() in _YES
    return Vault(list(dict.fromkeys(vault_ids)), match_labels)


def use(settings: VaultSettings) -> None:
    """Make these the passwords of this process; those that are named are read at once."""
    global _current
    _current = vault_of(settings)
    _current.passwords()


def current() -> Vault:
    """The vault of this process; without flags, what the environment names."""
    global _current
    if _current is None:
        _current = vault_of(VaultSettings())
    return _current


def decrypted(content: str, file: object) -> str:
    """The text of a file, decrypted if it is encrypted."""
    if not is_encrypted(content):
        return content
    place = Place(str(file), 1)
    return as_text(current().decrypt_with(content, place)[0], place)


def decrypted_bytes(content: bytes, file: object) -> bytes:
    if not is_encrypted(content):
        return content
    return current().decrypt_with(content, Place(str(file), 1))[0]


def as_text(plaintext: bytes, place: Place | None) -> str:
    try:
        return plaintext.decode()
    except UnicodeDecodeError:
        raise BadInput("what is encrypted here is not UTF-8 text", place) from None


_PASSWORD_FILE = ("ANSIBLE_VAULT_PASSWORD_FILE", "vault_password_file")
_IDENTITY_LIST = ("ANSIBLE_VAULT_IDENTITY_LIST", "vault_identity_list")
_ASK = ("ANSIBLE_ASK_VAULT_PASS", "ask_vault_pass")
_current: Vault | None = None


def _not_configured(_name: str) -> str | None:
    return None


# The value that [defaults] of ansible.cfg has for a name, or None; the reader of that file sets it.
configured: Callable[[str], str | None] = _not_configured


def _setting(variable: str, name: str) -> str:
    return os.environ.get(variable) or configured(name) or ""
