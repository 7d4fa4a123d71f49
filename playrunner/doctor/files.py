"""Checks the user's files: state folder, ~/.ssh, modes of keys and credentials, free disk space."""

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
    """The folders whose free space is checked on this machine."""
    return [str(state_directory()), *_image_folders(purposes, os.geteuid() == 0, str(Path.home()))]


def remote_folders(purposes: Purposes) -> list[str]:
    return ["~", *_image_folders(purposes, True, "~")]


def examine_room(free_gib: Mapping[str, float], purposes: Purposes, where: str) -> list[Finding]:
    """`free_gib` has the state folder first, then that of images."""
    findings = []
    for (folder, gib), least, roles in zip(
        free_gib.items(), (STATE_GIB, IMAGES_GIB), ((), purposes.get("images", ())), strict=False
    ):
        findings.append(
            Finding(
                f"{least:g} GiB free disk for {'images' if roles else 'runs'}",
                gib >= least,
                f"{gib:.1f} GiB free under {folder}",
                roles,
                f"free space under {folder}" + ("" if roles else ", or set PLAYRUNNER_STATE_HOME"),
                where=where,
            )
        )
    return findings


def examine(keys: Iterable[Path], secrets: Iterable[Path], with_hosts: bool) -> list[Finding]:
    findings = [_state()]
    if with_hosts:
        findings += _ssh(Path.home() / ".ssh")
    return [
        *findings,
        *(_key(path) for path in dict.fromkeys(keys)),
        *(_secret(path) for path in dict.fromkeys(secrets)),
    ]


def _state() -> Finding:
    folder = state_directory()
    what = "writable state folder"
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding(what, True, str(folder))
    return Finding(
        what,
        False,
        f"{existing} is not writable",
        fix="set PLAYRUNNER_STATE_HOME to a writable folder",
    )


def _ssh(folder: Path) -> list[Finding]:
    """ssh refuses files that other users can write; host keys are recorded in this folder."""
    if not folder.is_dir():
        return [
            Finding(
                "~/.ssh",
                False,
                "does not exist; host keys are recorded there",
                fix="mkdir -m 700 ~/.ssh",
                remedy=Remedy("folder", folder),
            )
        ]
    findings = [
        _mode(
            "~/.ssh", folder, 0o700, _OTHERS_WRITE, "other users can write there, which ssh refuses"
        )
    ]
    if (folder / "config").is_file():
        findings.append(
            _mode(
                "~/.ssh/config",
                folder / "config",
                0o600,
                _OTHERS_WRITE,
                "other users can write it, which ssh refuses",
            )
        )
    return findings


def _key(path: Path) -> Finding:
    if not path.is_file():
        return Finding(
            f"private key {path}",
            False,
            "named in the inventory, but does not exist",
            fix=f"copy it there, or create one: ssh-keygen -t ed25519 -f {path}",
        )
    return _mode(
        f"private key {path}",
        path,
        0o600,
        _OTHERS_READ,
        "other users can read it, which ssh refuses",
    )


def _secret(path: Path) -> Finding:
    return _mode(
        f"credentials file {path}",
        path,
        0o600,
        _OTHERS_READ,
        "other users can read it and use these credentials",
    )


def _mode(what: str, path: Path, mode: int, forbidden: int, wrong: str) -> Finding:
    actual = stat.S_IMODE(path.stat().st_mode)
    if not actual & forbidden:
        return Finding(what, True, f"mode {actual:04o}")
    return Finding(
        what,
        False,
        f"mode {actual:04o}: {wrong}",
        fix=f"chmod {mode:o} {path}",
        remedy=Remedy("mode", path, mode),
    )


def _image_folders(purposes: Purposes, root: bool, home: str) -> list[str]:
    return ([IMAGES_FOLDER] if root else [f"{home}/.local/share"]) if "images" in purposes else []
