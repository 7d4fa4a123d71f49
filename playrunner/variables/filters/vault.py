"""Filters and a test for texts encrypted with vault."""

from __future__ import annotations

from typing import Any

from playrunner.errors import Place
from playrunner.text.written import DecryptedText, EncryptedText
from playrunner.variables.filters.undefined import Undecryptable, is_missing

_LABEL = "filter_default"  # what Ansible writes where no vault_id is given


def vault(
    value: Any, secret: Any, salt: Any = None, vault_id: str = _LABEL, wrap_object: bool = False
) -> str:
    """The value encrypted with the password `secret`."""
    from playrunner.vault import cipher, envelope
    from playrunner.vault.masking import masking

    _check_text(value, "encrypts")
    _check_text(secret, "takes a secret that is")
    if not envelope.is_label(vault_id):
        raise ValueError(f"{vault_id!r} cannot be the label of a vault id")
    masking.add(str(secret))
    sealed = cipher.encrypt(
        str(value).encode(), str(secret).encode(), vault_id, str(salt or "").encode()
    )
    ciphertext = envelope.closed(sealed)
    return DecryptedText(str(value), ciphertext) if wrap_object else ciphertext


def unvault(value: Any, secret: Any, vault_id: str = _LABEL) -> str:
    """The text that is encrypted with the password `secret`; a text that is not encrypted stays."""
    from playrunner.vault.envelope import is_encrypted
    from playrunner.vault.masking import masking
    from playrunner.vault.passwords import Password
    from playrunner.vault.vault import Vault, as_text

    _check_text(value, "decrypts")
    _check_text(secret, "takes a secret that is")
    if isinstance(value, DecryptedText) or not is_encrypted(value):
        return str(value)
    masking.add(str(secret))
    opening = Vault.with_passwords(
        [Password(vault_id, "the filter's secret", str(secret).encode())]
    )
    text = as_text(opening.decrypt(str(value), Place("filter 'unvault'")), None)
    masking.add(text)
    return text


def vault_encrypted(value: Any) -> bool:
    """Whether a variable is written with !vault, decrypted or not."""
    if isinstance(value, (DecryptedText, Undecryptable)):
        return True
    if is_missing(value):
        value._fail_with_undefined_error()
    return False


def decrypted(text: EncryptedText) -> DecryptedText:
    """What an encrypted value of the author holds; output will not repeat it."""
    from playrunner.vault.masking import masking
    from playrunner.vault.vault import as_text, current

    plaintext = as_text(current().decrypt(str(text), text.place), text.place)
    masking.add(plaintext)
    return DecryptedText(plaintext, str(text))


def _check_text(value: Any, does: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"it {does} text, not a value of type {type(value).__name__}")


FILTERS = {"vault": vault, "unvault": unvault}
TESTS = {"vault_encrypted": vault_encrypted}
