"""Trusting a host: its key is shown, compared by a person, and recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from playrunner import hostkeys, patterns
from playrunner.errors import BadInput
from playrunner.inventory import Inventory
from playrunner.load.words import templar
from playrunner.ssh_session import offered_key
from playrunner.targets import target_of
from playrunner.variables import Scope
from playrunner.world import World


def trust_host(inventory: Inventory, host: str, yes: bool) -> dict[str, Any]:
    if host not in patterns.select(inventory, host):
        raise BadInput(f'there is no host "{host}" in the inventory; "invoke inventory.show" lists them')
    target = target_of(Scope(World(inventory, templar, {}, {}), host))
    if target.kind == "local":
        raise BadInput(f"{host} is this machine; there is no key to trust")
    key = offered_key(target)
    name = target.host_key_name or hostkeys.label(target.address, target.port)
    known = hostkeys.known_lines(target.known_hosts, name)
    shown = hostkeys.fingerprint(key)
    file = Path(target.known_hosts[0]).expanduser()
    found = {"host": host, "name": name, "fingerprint": shown, "file": str(file), "changed": False}
    if (key.get_name(), key.get_base64()) in known:
        _say(f"{host}: {shown} is already known in {file}")
        return found
    if any(kind == key.get_name() for kind, _ in known):
        raise BadInput(f"{host} is known by ANOTHER key than {shown}; if it was rebuilt, remove the old one first:"
                       f" ssh-keygen -f {file} -R '{name}'")
    _say(f"{host} ({name}) shows the key {shown}")
    if not yes and not _agreed():
        raise BadInput("not recorded; run again with --yes, or answer yes")
    hostkeys.record(file, name, key)
    _say(f"recorded in {file}")
    return {**found, "changed": True}


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise BadInput("there is no terminal to ask; compare the key and run again with --yes")
    return input("record it? (yes/no) ").strip().lower() in ("y", "yes")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
