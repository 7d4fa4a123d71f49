"""play.add_host: another host in the inventory, for the plays that follow."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Any

from playrunner.hostside.module import Failed, Probe
from playrunner.inventory.inventory import Inventory
from playrunner.run.context import Context
from playrunner.text.written import Written

_WITH_PORT = re.compile(r"(?:\[(?P<bracketed>[^]]+)\]|(?P<plain>[^:\[\]]+)):(?P<port>\d{1,5})")
_NAME = re.compile(r"\w[\w.-]*")


class AddHost(Probe):
    """Another host in the inventory, for the plays that follow; further arguments become its
    variables."""

    takes_any = True
    once_for_all = True

    def look(self, ctx: Context) -> dict[str, Any]:
        variables = dict(self.__dict__)
        name = next(
            (variables.pop(word) for word in ("name", "hostname", "host") if word in variables),
            None,
        )
        if not name:
            raise Failed('add_host needs the argument "name"')
        name = _without_port(name, variables)
        groups: list[str] = []
        for word in ("groups", "group", "groupname"):
            value = variables.pop(word, None)
            groups += (
                value
                if isinstance(value, list)
                else [part.strip() for part in str(value).split(",")]
                if value
                else []
            )
        _check_names(name, groups, ctx.inventory)
        known = ctx.inventory.hosts.get(str(name))
        new = (
            known is None
            or any(str(name) not in ctx.inventory.groups.get(group, ()) for group in groups)
            or any(
                ctx.inventory.variables(str(name)).get(key) is None
                or ctx.inventory.variables(str(name))[key].value != value
                for key, value in variables.items()
            )
        )
        ctx.inventory.add_host(str(name), groups, variables)
        return {
            "changed": new,
            "add_host": {"host_name": str(name), "groups": groups, "host_vars": variables},
        }


def _without_port(name: Any, variables: dict[str, Any]) -> Any:
    """The name of `host:port` and `[address]:port`; the port becomes a variable."""
    found = _WITH_PORT.fullmatch(name) if isinstance(name, str) else None
    if not found:
        return name
    variables.setdefault("ansible_ssh_port", int(found["port"]))
    host = found["bracketed"] or found["plain"]
    return Written(host) if isinstance(name, Written) else host


def _check_names(name: Any, groups: list[Any], inventory: Inventory) -> None:
    """A name that no playbook wrote is a plain word; otherwise it could be a pattern that selects
    other hosts."""
    for word in (name, *groups):
        if isinstance(word, str) and not isinstance(word, Written) and not _is_name(word):
            raise Failed(
                f"{word!r:.80} cannot be the name of a host or group: letters, digits, and . _ -"
                " only"
            )
    if (
        not isinstance(name, Written)
        and str(name) in inventory.groups
        and str(name) not in inventory.hosts
    ):
        raise Failed(f"there is a group {str(name)!r}, so no host can be given that name")


def _is_name(word: str) -> bool:
    if _NAME.fullmatch(word):
        return True
    try:
        return "%" not in word and bool(IPv6Address(word))
    except AddressValueError:
        return False
