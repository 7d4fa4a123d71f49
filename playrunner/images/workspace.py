"""What must not be laid over an image: names of system folders, and files that hold secrets."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch

from playrunner.hostside.module import Failed

# A workspace lands in the image's working folder, which may be /; one of these there breaks every
# program in it.
SYSTEM_FOLDERS = frozenset(
    (
        "bin",
        "boot",
        "dev",
        "etc",
        "home",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "media",
        "mnt",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "srv",
        "sys",
        "tmp",
        "usr",
        "var",
    )
)
SECRETS = (
    ".env",
    ".netrc",
    ".pgpass",
    ".aws",
    ".ssh",
    ".docker",
    ".kube",
    ".gnupg",
    "id_rsa*",
    "id_ed25519*",
    "id_ecdsa*",
    "*.pem",
    "*.key",
    "*.p12",
    "credentials.json",
)


def refuse_system_folders(names: Iterable[str], where: str) -> None:
    """Names at the root of a workspace that would replace parts of the system."""
    bad = sorted({name.partition("/")[0] for name in names} & SYSTEM_FOLDERS)
    if bad:
        raise Failed(
            f"{where}: {', '.join(bad)} at its root would overwrite the image's own /{bad[0]};"
            f" rename it, or list it in {where}/.dockerignore"
        )


def refuse_secrets(names: Iterable[str], where: str) -> None:
    """Files that must not go into an image: everyone who pulls it could read them."""
    for name in names:
        for part in name.split("/"):
            if any(fnmatch(part, pattern) for pattern in SECRETS):
                raise Failed(
                    f"{where}/{name} looks like a secret, and anyone who can pull an image can read"
                    f" it; list it in {where}/.dockerignore, and mount a Secret instead"
                )
