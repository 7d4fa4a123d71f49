"""Files encrypted with ansible-vault: they cannot be read here, and their ciphertext is of no use
to anyone else."""

from __future__ import annotations

from playrunner.errors import BadInput, Place
from playrunner.text.documents import VAULT_REMEDY

_MARK = "$ANSIBLE_VAULT;"


def is_vault(content: str | bytes) -> bool:
    return (
        content.startswith(_MARK)
        if isinstance(content, str)
        else content.startswith(_MARK.encode())
    )


def refuse_vault(content: str | bytes, file: object) -> None:
    """Complain where a file's content is about to be used as it is."""
    if is_vault(content):
        raise BadInput(
            f"encrypted with ansible-vault; decrypt it first, since {VAULT_REMEDY}",
            Place(str(file), 1),
        )
