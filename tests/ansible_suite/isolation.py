"""Runs a command on a throwaway copy of this machine: an overlay over its file system, with its own
processes and host name. What a target installs, edits or leaves running ends with it."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SETUP = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs {base}
mkdir {base}/upper {base}/work {base}/root
mount -t overlay overlay -o lowerdir=/,upperdir={base}/upper,workdir={base}/work {base}/root
mount --rbind /dev {base}/root/dev
mount --rbind /sys {base}/root/sys
mount -t proc proc {base}/root/proc
mount --bind {kept} {base}/root{kept}
exec chroot {base}/root /bin/sh -c {command}
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int  # -1: it took too long
    output: str


def run_isolated(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    kept: Path,
    seconds: float,
) -> Ended:
    """Run the command in a folder of the copy; only what it writes under `kept` stays."""
    base = kept / "base"
    base.mkdir(parents=True, exist_ok=True)
    inside = f"cd {shlex.quote(str(folder))} && exec {shlex.join(command)}"
    script = _SETUP.format(base=base, kept=kept, command=shlex.quote(inside))
    words = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"]
    process = subprocess.Popen(
        [*words, "/bin/bash", "-c", script],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()  # --kill-child ends everything inside
        output, _ = process.communicate()
        code = -1
    return Ended(code, output.decode(errors="replace"))


def possible() -> bool:
    """Whether this user and kernel can make such a copy."""
    if os.geteuid() != 0:
        return False
    test = "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w /mnt/r &&"
    test += " mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r"
    words = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", test]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
