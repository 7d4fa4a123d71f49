"""Accepts or refuses a host's key by StrictHostKeyChecking, as OpenSSH does; accepted keys are
reported."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from playrunner.ssh.keys import hostkeys
from playrunner.ssh.targets import Target

if TYPE_CHECKING:
    from paramiko import PKey

OFF = ("no", "off", "false")
RECORDS = ("accept-new", *OFF)

_lock = threading.Lock()
_recorded: dict[str, str] = {}  # host to known_hosts file, of unknown keys that were accepted
_changed: set[str] = set()  # hosts that were reached although their keys had changed


def check(target: Target, key: PKey) -> None:
    """Raise SSHException unless the key is known or the target's setting accepts it."""
    from paramiko import SSHException

    status = hostkeys.key_status(target.known_hosts, target.known_names, key)
    shown = hostkeys.fingerprint(key)
    if status.state == "revoked":
        assert status.line
        raise SSHException(
            f"the host key {shown} is REVOKED ({status.line.place}): it may be stolen."
            " Give the host a new key; StrictHostKeyChecking cannot override this"
        )
    if status.state == "changed":
        if target.checking not in OFF or target.password:
            raise SSHException(changed_text(target, key, status))
        with _lock:
            _changed.add(target.name)
    elif status.state == "unknown":
        if target.checking not in RECORDS:
            raise SSHException(
                f"the host key is not known: {shown}.{_authority(status)} Compare it with the"
                " host's own,"
                f' then run "{target.trust_command}"'
            )
        _record(target, key)


def changed_text(target: Target, key: PKey, status: hostkeys.KeyStatus) -> str:
    """What to do when a key is not the one that was recorded."""
    assert status.line
    unsent = " (a password is never sent to such a host)" if target.checking in OFF else ""
    return (
        f"the host key has CHANGED: {hostkeys.fingerprint(key)} is not the one of"
        f" {status.line.place}{unsent}."
        f" If the host was rebuilt, {removal(target, status.line)} and run"
        f' "{target.trust_command}"'
    )


def removal(target: Target, line: hostkeys.Line) -> str:
    """How the old key is removed; ssh-keygen leaves lines with patterns alone."""
    if line.is_pattern:
        return f"remove line {line.number} of {line.file}"
    name = target.known_names[0]
    return (
        f'remove the old key with "ssh-keygen -f {shlex.quote(line.file)} -R {shlex.quote(name)}"'
    )


def notices() -> list[str]:
    """Warnings about the keys that were accepted; each is returned once."""
    with _lock:
        recorded, changed = dict(_recorded), sorted(_changed)
        _recorded.clear()
        _changed.clear()
    warnings = []
    if recorded:
        files = ", ".join(sorted(set(recorded.values())))
        warnings.append(
            "warning: unknown host keys were accepted and recorded, since StrictHostKeyChecking"
            f" says so, for: {', '.join(sorted(recorded))} (in {files})"
        )
    if changed:
        warnings.append(
            "warning: host keys have CHANGED and were accepted, since StrictHostKeyChecking says"
            f" so, for: {', '.join(changed)}"
        )
    return warnings


def _record(target: Target, key: PKey) -> None:
    file = target.record_file
    if not file:
        return  # UserKnownHostsFile none
    with _lock:
        try:
            hostkeys.record(Path(file), target.known_names[0], key)
        except OSError as error:  # as OpenSSH: go on; the next run will not know the key
            sys.stderr.write(
                f"warning: the key of {target.name} cannot be recorded in {file}:"
                f" {error.strerror}\n"
            )
            return
        _recorded[target.name] = file


def _authority(status: hostkeys.KeyStatus) -> str:
    if not status.by_authority:
        return ""
    return (
        " known_hosts has a @cert-authority for it, but host certificates are not supported: its"
        " own key is needed."
    )
