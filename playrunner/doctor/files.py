"""Folders and files of the user: where runs are recorded, how ssh is set up, keys that others must
not read, room on the disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from playrunner.doctor.finding import Finding, Remedy
from playrunner.doctor.purposes import Purposes
from playrunner.record.ledger import state_directory

STATE_GIB = 1.0  # runs, their logs and the staged code
IMAGES_GIB = 30.0  # the base with EFA and NCCL is 8.6 GB, and a build holds it several times over
IMAGES_FOLDER = "/var/lib"  # docker and root's buildah keep images there
_OTHERS_READ, _OTHERS_WRITE = 0o077, 0o022


def folders(purposes: Purposes) -> list[str]:
    """Those whose free space counts here."""
    return [str(state_directory()), *_image_folders(purposes, os.geteuid() == 0, str(Path.home()))]


def far_folders(purposes: Purposes) -> list[str]:
    return ["~", *_image_folders(purposes, True, "~")]


def examine_room(free_gib: Mapping[str, float], purposes: Purposes, where: str) -> list[Finding]:
    """The first folder is the runs', the second the images'."""
    found = []
    for (folder, gib), least, roles in zip(
        free_gib.items(), (STATE_GIB, IMAGES_GIB), ((), purposes.get("images", ())), strict=False
    ):
        said = f"{gib:.1f} GiB free under {folder}"
        found.append(
            Finding(
                f"{least:g} GiB of disk for {'images' if roles else 'runs'}",
                gib >= least,
                said,
                roles,
                f"make room under {folder}" + ("" if roles else ", or set PLAYRUNNER_STATE_HOME"),
                where=where,
            )
        )
    return found


def examine(keys: Iterable[Path], secrets: Iterable[Path], with_hosts: bool) -> list[Finding]:
    found = [_state()]
    if with_hosts:
        found += _ssh(Path.home() / ".ssh")
    return [
        *found,
        *(_key(path) for path in dict.fromkeys(keys)),
        *(_secret(path) for path in dict.fromkeys(secrets)),
    ]


def _state() -> Finding:
    folder = state_directory()
    what = "a folder for runs that can be written"
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding(what, True, str(folder))
    return Finding(
        what,
        False,
        f"{existing} cannot be written",
        fix="set PLAYRUNNER_STATE_HOME to a folder that can",
    )


def _ssh(folder: Path) -> list[Finding]:
    """ssh refuses what others could have changed, and keys of hosts are recorded in this folder."""
    if not folder.is_dir():
        return [
            Finding(
                "~/.ssh",
                False,
                "there is no such folder, and hosts' keys are recorded there",
                fix="mkdir -m 700 ~/.ssh",
                remedy=Remedy("folder", folder),
            )
        ]
    found = [
        _mode("~/.ssh", folder, 0o700, _OTHERS_WRITE, "others may write there, which ssh refuses")
    ]
    if (folder / "config").is_file():
        found.append(
            _mode(
                "~/.ssh/config",
                folder / "config",
                0o600,
                _OTHERS_WRITE,
                "others may write it, which ssh refuses",
            )
        )
    return found


def _key(path: Path) -> Finding:
    if not path.is_file():
        return Finding(
            f"the key {path}",
            False,
            "the inventory names it, and it is not there",
            fix=f"put it there, or make one: ssh-keygen -t ed25519 -f {path}",
        )
    return _mode(
        f"the key {path}", path, 0o600, _OTHERS_READ, "others may read it, which ssh refuses"
    )


def _secret(path: Path) -> Finding:
    return _mode(
        f"{path} for your eyes only",
        path,
        0o600,
        _OTHERS_READ,
        "others may read it, and it lets them in",
    )


def _mode(what: str, path: Path, mode: int, forbidden: int, wrong: str) -> Finding:
    given = stat.S_IMODE(path.stat().st_mode)
    if not given & forbidden:
        return Finding(what, True, f"mode {given:04o}")
    return Finding(
        what,
        False,
        f"mode {given:04o}: {wrong}",
        fix=f"chmod {mode:o} {path}",
        remedy=Remedy("mode", path, mode),
    )


def _image_folders(purposes: Purposes, root: bool, home: str) -> list[str]:
    return ([IMAGES_FOLDER] if root else [f"{home}/.local/share"]) if "images" in purposes else []
