"""The one platform that images are for: an image of another kind fails only when its pods start.

Nodes are x86-64; PLAYRUNNER_IMAGE_PLATFORM=linux/arm64 builds for Arm nodes instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from playrunner.hostside.module import Failed

_MACHINES = {"amd64": ("x86_64", "amd64"), "arm64": ("aarch64", "arm64")}  # as uname names them
_EMULATORS = {"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}

PLATFORM = os.environ.get("PLAYRUNNER_IMAGE_PLATFORM") or "linux/amd64"
ARCHITECTURE = PLATFORM.rpartition("/")[2]


def require(found: Iterable[str], what: str) -> None:
    """Refuse an image that does not come for our platform."""
    there = sorted(set(found))
    if ARCHITECTURE not in there:
        raise Failed(
            f"{what} is for {', '.join(there) or 'an unknown architecture'}, and the nodes are"
            f" {PLATFORM}; name a base that comes for it"
        )


def is_native(machine: str) -> bool:
    """Whether a machine, as `uname -m` names it, builds for our platform without an emulator."""
    return machine in _MACHINES.get(ARCHITECTURE, (ARCHITECTURE,))


def emulator() -> str:
    """The file by which the kernel shows that programs of our platform are emulated."""
    return f"/proc/sys/fs/binfmt_misc/{_EMULATORS.get(ARCHITECTURE, f'qemu-{ARCHITECTURE}')}"
