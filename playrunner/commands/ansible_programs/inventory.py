"""playrunner-inventory: ansible-inventory's flags, output and exit codes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.commands.ansible_programs.flags import add_vault_flags
from playrunner.commands.ansible_programs.playbook import default_inventory, opened_inventory
from playrunner.commands.ansible_programs.program import BAD_OPTIONS, run_program
from playrunner.commands.flags import use_vault
from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory, Value
from playrunner.options import Options
from playrunner.project import version
from playrunner.text.written import VAULT_KEY, EncryptedText

PROFILE = "inventory_legacy"  # the name that ansible-core gives this form of JSON


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return run_program(_parser(), words, _run)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="playrunner-inventory",
        description="Show an inventory, with the flags and output of ansible-inventory.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"playrunner-inventory {version()}")
    made.add_argument("group", nargs="?", default="all", help="where --graph starts")
    made.add_argument("--list", action="store_true", help="all hosts, groups and variables")
    made.add_argument("--host", help="the variables of one host")
    made.add_argument("--graph", action="store_true", help="groups and hosts as a tree")
    made.add_argument("--vars", action="store_true", help="with --graph, also variables")
    made.add_argument("-y", "--yaml", action="store_true", help="YAML instead of JSON")
    made.add_argument("--toml", action="store_true", help="not supported")
    made.add_argument("--export", action="store_true", help="variables of groups at their groups")
    made.add_argument("--output", help="write --list to this file")
    made.add_argument("--playbook-dir", help="also the variables beside a playbook of this folder")
    made.add_argument(
        "-i", "--inventory", "--inventory-file", action="append", default=[], help="the inventory"
    )
    made.add_argument("-l", "--limit", "--subset", help="only these hosts")
    made.add_argument("-e", "--extra-vars", action="append", default=[], help="name=value, @file")
    made.add_argument("-v", "--verbose", action="count", default=0, help="without effect")
    made.add_argument("--flush-cache", action="store_true", help="without effect: no cache is kept")
    add_vault_flags(made.add_argument_group("vaults"))
    return made


def _run(arguments: argparse.Namespace) -> int:
    refusal = _refusal(arguments)
    if refusal:
        return _refused(refusal)
    options = Options(
        tuple(arguments.inventory) or default_inventory(),
        extra_vars=tuple(arguments.extra_vars),
        vault_id=tuple(arguments.vault_id),
        vault_password_file=tuple(arguments.vault_password_file),
        ask_vault_pass=arguments.ask_vault_pass,
    )
    use_vault(options)
    inventory = opened_inventory(options)
    if arguments.playbook_dir:
        inventory = inventory.with_adjacent(Path(arguments.playbook_dir))
    arguments.export = arguments.export or ansible_config().flag("inventory_export")
    if arguments.host:
        hosts = _hosts_of(inventory, arguments.host, "")
        if len(hosts) != 1:
            return _refused("You must pass a single valid host to --host parameter")
        _write(_dumped(_host_variables(inventory, hosts[0], arguments.export), arguments.yaml))
        return 0
    if arguments.graph:
        if arguments.group not in inventory.groups:
            return _refused("Pattern must be valid group name when using --graph")
        print("\n".join(_graph(inventory, arguments.group, arguments)))
        return 0
    shown = set(_hosts_of(inventory, "all", arguments.limit or ""))
    made = _as_yaml if arguments.yaml else _as_json
    _write(_dumped(made(inventory, shown, arguments.export), arguments.yaml), arguments.output)
    return 0


def _refusal(arguments: argparse.Namespace) -> str:
    asked = sum(map(bool, (arguments.list, arguments.host, arguments.graph)))
    if asked == 0:
        return (
            "No action selected, at least one of --host, --graph or --list needs to be specified."
        )
    if asked > 1:
        return (
            "Conflicting options used, only one of --host, --graph or --list can be used at the"
            " same time."
        )
    return "--toml is not supported; use --yaml" if arguments.toml else ""


def _refused(message: str) -> int:
    sys.stderr.write(f"[ERROR]: {message}\n")
    return BAD_OPTIONS


def _hosts_of(inventory: Inventory, pattern: str, limit: str) -> list[str]:
    try:
        return list(patterns.select(inventory, pattern, limit))
    except BadInput:
        if limit:
            raise
        return []


def _write(text: str, file: str | None = None) -> None:
    if file is None:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        return
    try:
        Path(file).write_text(text)
    except OSError as error:
        raise BadInput(f"Unable to write to destination file '{file}'. {error.strerror}") from None


def _as_json(inventory: Inventory, shown: set[str], export: bool) -> dict[str, Any]:
    view = inventory.view()
    data: dict[str, Any] = {}
    for group in _reachable(view.children):
        hosts = [host for host in view.own_hosts[group] if host in shown] if group != "all" else []
        entry = {
            "hosts": hosts,
            "children": list(view.children[group]),
            "vars": _plain(inventory.group_variables(group)) if export else {},
        }
        data[group] = {name: value for name, value in entry.items() if value}
    variables = {
        host: _host_variables(inventory, host, export) for host in inventory.hosts if host in shown
    }
    hostvars = {host: values for host, values in variables.items() if values}
    return {
        **{name: entry for name, entry in data.items() if entry},
        "_meta": {"hostvars": hostvars, "profile": PROFILE},
    }


def _as_yaml(inventory: Inventory, shown: set[str], export: bool) -> dict[str, Any]:
    """Groups inside groups; the variables of a host stand where it is named first."""
    view, seen_hosts, seen_groups = inventory.view(), set[str](), set[str]()

    def hosts_of(group: str) -> dict[str, Any]:
        hosts = {}
        for host in view.own_hosts[group]:
            if host in shown:
                new = host not in seen_hosts
                hosts[host] = _host_variables(inventory, host, export) if new else {}
                seen_hosts.add(host)
        return hosts

    def described(group: str) -> dict[str, Any]:
        children: dict[str, Any] = {}
        for child in view.children[group]:
            if child in seen_groups:
                children[child] = {}
            else:
                children.update(described(child))
                seen_groups.add(child)
        entry = {
            "children": children,
            "hosts": hosts_of(group) if group != "all" else {},
            "vars": _plain(inventory.group_variables(group)) if export else {},
        }
        entry = {name: value for name, value in entry.items() if value}
        return {group: entry} if entry else {}

    return described("all")


def _graph(inventory: Inventory, start: str, arguments: argparse.Namespace) -> Iterable[str]:
    view = inventory.view()

    def line(text: str, depth: int) -> str:
        return "  |" * depth + f"--{text}" if depth else text

    def variables(values: Mapping[str, Any], depth: int) -> Iterable[str]:
        for name, value in sorted(values.items()) if arguments.vars else ():
            yield line(f"{{{name} = {value}}}", depth)

    def drawn(group: str, depth: int) -> Iterable[str]:
        yield line(f"@{group}:", depth)
        for child in view.children[group]:
            yield from drawn(child, depth + 1)
        for host in view.own_hosts[group] if group != "all" else ():
            yield line(host, depth + 1)
            yield from variables(_host_variables(inventory, host, arguments.export), depth + 2)
        yield from variables(_plain(inventory.group_variables(group)), depth + 1)

    return drawn(start, 0)


def _reachable(children: Mapping[str, Sequence[str]]) -> list[str]:
    """Every group below `all`, each once."""
    seen: dict[str, None] = {}
    waiting = ["all"]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = None
            waiting += reversed(children[name])
    return list(seen)


def _host_variables(inventory: Inventory, host: str, own_only: bool) -> dict[str, Any]:
    return _plain(inventory.own_variables(host) if own_only else inventory.variables(host))


def _plain(values: Mapping[str, Value]) -> dict[str, Any]:
    return {name: _shown(value.value) for name, value in values.items()}


def _shown(value: Any) -> Any:
    """A value as data; one that is encrypted stays so."""
    if isinstance(value, EncryptedText):
        return {VAULT_KEY: str(value)}
    if isinstance(value, Mapping):
        return {str(key): _shown(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(inner) for inner in value]
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    format_time: Callable[[], str] | None = getattr(value, "isoformat", None)
    return format_time() if format_time else str(value)


def _dumped(data: Any, as_yaml: bool) -> str:
    if as_yaml:
        import yaml

        return yaml.safe_dump(data, default_flow_style=False, allow_unicode=True)
    return json.dumps(data, sort_keys=True, indent=4)


if __name__ == "__main__":
    raise SystemExit(main())
