"""jumphost.key: the key to log in with; its private half is made on this machine and never leaves
it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.jumphost._here import HereModule, folder, remove, write

if TYPE_CHECKING:
    from playrunner.run.context import Context

PRIVATE = "0600"  # ssh refuses a key that others can read


class Key(HereModule):
    """The key to log in with, made once; what `register` gets is its public half and where the
    private one is."""

    def observe(self, ctx: Context) -> State | None:
        file = _file(ctx)
        try:
            mode = f"{stat.S_IMODE(file.stat().st_mode):04o}"
        except FileNotFoundError:
            return None
        return {
            "path": str(file),
            "folder": str(file.parent),
            "mode": mode,
            "public_key": _public_half(file),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"mode": PRIVATE}

    def apply(self, ctx: Context, change: Change) -> None:
        file = _file(ctx)
        if change.removes:
            remove(file)
        elif change.creates:
            write(file, _made(), int(PRIVATE, 8))
        else:
            file.chmod(int(PRIVATE, 8))


def _file(ctx: Context) -> Path:
    return folder(ctx) / "key"


def _made() -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )


def _public_half(file: Path) -> str:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_ssh_private_key,
    )

    try:
        key = load_ssh_private_key(file.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise Failed(
            f"{file} cannot be read as a private key: {error}; remove it, and a new one is made"
        ) from None
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
