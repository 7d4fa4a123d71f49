"""inventory.show: hosts, groups and variables as data or as a tree, and where a value came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.inventory.inventory import LOCALHOST_NAMES, Inventory, Value
from playrunner.project import program
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.written import VAULT_KEY, EncryptedText
from playrunner.vault.masking import masking

HIDDEN = "(hidden)"
SECRET_MARKS = ("password", "secret", "token", "private_key")


@frozen
class Why:
    """Which value of a variable a host has, and those it beat, the strongest of them first."""

    host: str
    variable: str
    winner: Value
    beaten: tuple[Value, ...]


def as_data(inventory: Inventory) -> dict[str, Any]:
    """Groups, and variables by host, in the shape of `ansible-inventory --list`."""
    view = inventory.view()
    host_variables = {host: host_data(inventory, host) for host in inventory.hosts}
    data: dict[str, Any] = {
        "_meta": {"hostvars": {host: values for host, values in host_variables.items() if values}}
    }
    for group in inventory.groups:
        own_hosts = view.own_hosts[group] if group != "all" else ()
        entry = {
            key: list(names)
            for key, names in (("children", view.children[group]), ("hosts", own_hosts))
            if names
        }
        if entry:
            data[group] = entry
    return data


def host_data(inventory: Inventory, host: str) -> dict[str, Any]:
    """Every variable the inventory gives a host, secrets hidden."""
    _refuse_unknown(inventory, host)
    return {
        name: _shown(name, value.value) for name, value in sorted(inventory.variables(host).items())
    }


def as_graph(inventory: Inventory) -> str:
    """The groups as a tree from `all` down, each with the hosts it lists itself."""
    view = inventory.view()
    lines: list[str] = []
    # A name, whether it is a group's, and the drawing before it and below it; a stack, since groups
    # may nest deeper than calls can.
    waiting: list[tuple[str, bool, str, str]] = [("all", True, "", "")]
    while waiting:
        name, is_group, before, below = waiting.pop()
        lines.append(f"{before}{'@' if is_group else ''}{name}")
        if not is_group:
            continue
        own_hosts = view.own_hosts[name] if name != "all" else ()
        entries = [
            *((child, True) for child in view.children[name]),
            *((host, False) for host in own_hosts),
        ]
        for position, (entry, entry_is_group) in reversed(list(enumerate(entries))):
            last = position == len(entries) - 1
            waiting.append(
                (
                    entry,
                    entry_is_group,
                    below + ("└─ " if last else "├─ "),
                    below + ("   " if last else "│  "),
                )
            )
    return "\n".join(lines)


def why(inventory: Inventory, host: str | None, variable: str) -> list[Why]:
    """Where a variable's value came from, for one host or for every host that has it."""
    if host is not None:
        _refuse_unknown(inventory, host)
    rows: list[Why] = []
    for name in [host] if host is not None else list(inventory.hosts):
        layers = [values[variable] for _, values in inventory.layers(name) if variable in values]
        if layers:
            *beaten, winner = (_hidden(variable, value) for value in layers)
            rows.append(Why(name, variable, winner, tuple(reversed(beaten))))
    if not rows:
        names = {name for member in inventory.hosts for name in inventory.variables(member)}
        where = f' for host "{host}"' if host is not None else ""
        raise BadInput(
            f'nothing in the inventory sets "{variable}"{where}'
            + did_you_mean(
                variable, sorted(names), f"see its variables with: {program()} inventory.show"
            )
        )
    return rows


def why_data(row: Why) -> dict[str, Any]:
    """A row as plain values."""

    def described(value: Value) -> dict[str, Any]:
        return {
            "value": _shown(row.variable, value.value),
            "place": str(value.place),
            "layer": value.layer,
        }

    return {
        "host": row.host,
        "variable": row.variable,
        "winner": described(row.winner),
        "beaten": [described(value) for value in row.beaten],
    }


def format_why(rows: list[Why]) -> str:
    """The rows as text; hosts that have the same value from the same place are named together."""
    same: dict[tuple[str, ...], tuple[Why, list[str]]] = {}
    for row in rows:
        key = tuple(_line(value) for value in (row.winner, *row.beaten))
        same.setdefault(key, (row, []))[1].append(row.host)
    lines: list[str] = []
    for row, hosts in same.values():
        lines.append(f"{', '.join(hosts)}: {row.variable} = {_line(row.winner)}")
        lines += [f"    beats {_line(value)}" for value in row.beaten]
    return "\n".join(lines)


def _line(value: Value) -> str:
    import json

    return (
        f"{json.dumps(value.value, ensure_ascii=False, default=str)}  ({value.layer},"
        f" {value.place})"
    )


def _hidden(name: str, value: Value) -> Value:
    return Value(_shown(name, value.value), value.place, value.layer)


def _shown(name: str, value: Any) -> Any:
    """A value as plain data; what is named like a secret is hidden."""
    if isinstance(value, EncryptedText):
        return {VAULT_KEY: str(value)}
    if _is_secret(name):
        return HIDDEN
    if isinstance(value, Mapping):
        return {str(key): _shown(str(key), inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_shown("", inner) for inner in value]
    if isinstance(value, str):
        return masking.text(str(value))
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _is_secret(name: str) -> bool:
    lowered = name.lower()
    if lowered.endswith("_file"):
        return False
    # ansible_become_pass and ansible_ssh_pass are passwords.
    return lowered.endswith("_pass") or any(mark in lowered for mark in SECRET_MARKS)


def _refuse_unknown(inventory: Inventory, host: str) -> None:
    if host not in inventory.hosts and host != LOCALHOST_NAMES[0]:
        remedy = did_you_mean(
            host, inventory.hosts, f"see them with: {program()} inventory.show --graph"
        )
        raise BadInput(f'there is no host "{host}" in the inventory{remedy}')
