"""Show a host's key, have the user confirm it, and record it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place, PlayrunnerError
from playrunner.inventory.inventory import Inventory
from playrunner.project import program
from playrunner.ssh.keys import hostkeys
from playrunner.ssh.keys.host_key_check import removal
from playrunner.ssh.session import offered_key
from playrunner.ssh.targets import Target, target_of
from playrunner.text.did_you_mean import did_you_mean
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar


def trust_host(inventory: Inventory, host: str, yes: bool) -> dict[str, Any]:
    target = _target(inventory, host)
    if target.kind == "local":
        raise BadInput(f"{host} is this machine; it has no host key to trust")
    if not target.record_file:
        raise BadInput(
            f"{host}: UserKnownHostsFile is none, so there is no file to record a key in"
        )
    key = offered_key(target)
    status = hostkeys.key_status(target.known_hosts, target.known_names, key)
    shown, name = hostkeys.fingerprint(key), target.known_names[0]
    file = Path(target.record_file).expanduser()
    result = {"host": host, "name": name, "fingerprint": shown, "file": str(file), "changed": False}
    if status.state == "known" and status.line:
        _say(f"{host}: {shown} is already known in {status.line.file}")
        return result
    if status.state == "revoked" and status.line:
        raise BadInput(
            f"{host} shows the key {shown}, which is REVOKED ({status.line.place}); give it a"
            " new key"
        )
    if status.state == "changed" and status.line:
        raise BadInput(
            f"{host} is known by ANOTHER key than {shown}; if it was rebuilt,"
            f" {removal(target, status.line)} first"
        )
    _say(f"{host} ({name}) shows the key {shown}")
    if not yes and not _agreed():
        raise BadInput("not recorded; run again with --yes, or answer yes")
    try:
        hostkeys.record(file, name, key)
    except OSError as error:
        raise BadInput(f"the key cannot be recorded: {error.strerror}", Place(str(file))) from None
    _say(f"recorded in {file}")
    return {**result, "changed": True}


def _target(inventory: Inventory, name: str) -> Target:
    """A host of the inventory, or a jump host that the inventory gives by its address."""
    run_vars = RunVariables(inventory, default_templar, {}, {})
    if name in inventory.hosts:
        return target_of(Scope(run_vars, name))
    for host in inventory.hosts:
        try:
            hop = target_of(Scope(run_vars, host)).via
        except PlayrunnerError:  # an error in another host's settings does not matter here
            continue
        while hop:
            if hop.name == name:
                return hop
            hop = hop.via
    remedy = f"see them with: {program()} inventory.show --graph"
    raise BadInput(
        f'no host is called "{name}", and none is reached through'
        f" it{did_you_mean(name, inventory.hosts, remedy)}"
    )


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise BadInput("no terminal to ask on; compare the key and run again with --yes")
    return input("Record this key? (yes/no) ").strip().lower() in ("y", "yes")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
