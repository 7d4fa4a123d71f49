"""The SSH keys of one run: made when it is submitted, held by a Secret of its name, gone when it is
over.

Its pods show one host key and are opened by one other; neither is used again, and all that opens is
starting that run's ranks.
"""

from __future__ import annotations

MOUNT = "/etc/playrunner-ssh"  # where pods see them


def secret_name(run_id: str) -> str:
    return f"{run_id}-ssh"


def new_keys() -> dict[str, str]:
    """Two pairs, as OpenSSH keeps them: the one that opens the pods, and the one they show."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pairs = {name: Ed25519PrivateKey.generate() for name in ("key", "host_key")}
    secret = {
        name: key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        ).decode()
        for name, key in pairs.items()
    }
    public = {
        f"{name}.pub": key.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode()
        + "\n"
        for name, key in pairs.items()
    }
    return {**secret, **public}
