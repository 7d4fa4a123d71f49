"""Inventories made by a program: `SCRIPT --list` answers with JSON, and `SCRIPT --host NAME` where
that is not all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.inventory.graph import Graph
from playrunner.inventory.value import values_of
from playrunner.text.documents import parse_json
from playrunner.text.written import all_written

GROUP_KEYS = ("hosts", "children", "vars")


class NotAProgram(Exception):
    """The file may be executed but the system cannot run it: data with a stray executable bit."""


def add_script(path: Path, graph: Graph) -> None:
    """Run an inventory script and add its output to the graph."""
    add_groups(
        _ask(path, "--list"), Place(str(path)), graph, lambda name: _ask(path, "--host", name)
    )


def add_groups(
    answer: dict[str, Any],
    place: Place,
    graph: Graph,
    ask_host: Callable[[str], dict[str, Any]] = lambda name: {},
) -> None:
    """Add groups in the form of a script's answer; `ask_host` is called where it has no _meta."""
    meta = answer.pop("_meta", None)
    if meta is not None and not isinstance(meta, dict):
        raise BadInput(
            '"_meta" in the script\'s --list answer must be an object with hostvars', place
        )
    hosts: dict[str, None] = {}
    for name, body in answer.items():
        hosts.update(dict.fromkeys(_add_group(name, body, place, graph)))
    if meta is None:
        host_variables: Any = {host: ask_host(host) for host in hosts}
    else:
        host_variables = meta.get("hostvars") or {}
    if not isinstance(host_variables, dict):
        raise BadInput(
            '"hostvars" in the script\'s --list answer must be an object with one entry per host',
            place,
        )
    for host in hosts:
        variables = host_variables.get(host) or {}
        if not isinstance(variables, dict):
            raise BadInput(f'the script\'s variables of host "{host}" must be an object', place)
        graph.set_host_values(host, values_of(variables, f"host {host}", place))


def _add_group(name: str, body: Any, place: Place, graph: Graph) -> list[str]:
    """Add one group of the answer; returns the hosts it names."""
    if isinstance(body, list):
        body = {"hosts": body}
    if not isinstance(body, dict):
        raise BadInput(
            f'group "{name}" in the script\'s answer must be a list of hosts, or an object with'
            " hosts, children or vars",
            place,
        )
    if not any(key in body for key in GROUP_KEYS):
        # An object with none of the three keys is a host of that name with these variables.
        body = {"hosts": [name], "vars": body}
    graph.add_group(name)
    hosts = _names(body, "hosts", name, place)
    for host in hosts:
        graph.add_host(host, name, place)
    for child in _names(body, "children", name, place):
        graph.add_child(name, child, place)
    variables = body.get("vars") or {}
    if not isinstance(variables, dict):
        raise BadInput(f'vars of group "{name}" in the script\'s answer must be an object', place)
    graph.set_group_values(name, values_of(variables, f"group {name}", place))
    return hosts


def _names(body: dict[str, Any], key: str, group: str, place: Place) -> list[str]:
    names = body.get(key) or []
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise BadInput(
            f'{key} of group "{group}" in the script\'s answer must be a list of names', place
        )
    return names


def _ask(path: Path, *arguments: str) -> dict[str, Any]:
    """What the script prints for these arguments."""
    import subprocess

    asked = " ".join(arguments)
    place = Place(str(path))
    try:
        done = subprocess.run(
            [str(path.absolute()), *arguments],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        if arguments == ("--list",) and not starts_with_shebang(path):
            raise NotAProgram from None
        raise BadInput(f"the script cannot be run: {error}; check its first line", place) from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it gave no message"
        raise BadInput(
            f"the script ended with {done.returncode} for {asked}: {reason}; run it yourself to see"
            " more",
            place,
        )
    try:
        answer = parse_json(done.stdout or b"{}", f"answer to {asked}")
    except BadInput as error:
        raise BadInput(
            f"the script's answer to {asked} is not JSON ({error.message}); it must print one JSON"
            " object and nothing else",
            place,
        ) from None
    if not isinstance(answer, dict):
        raise BadInput(f"the script's answer to {asked} must be a JSON object", place)
    return {name: all_written(value) for name, value in answer.items()}


def starts_with_shebang(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
