"""nodes.list, nodes.quarantine and nodes.release: for hosts of an inventory and nodes of its
cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playrunner.errors import BadInput, NotYet, UndefinedVariable
from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import open_transport, settings_of
from playrunner.kube.nodes import quarantine as kube_quarantine
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import Entry, Quarantine, as_data, seconds_of
from playrunner.ssh.sandbox_autostart import ensure_sandbox_running
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar


@contextmanager
def open_quarantine_commands(flags: dict[str, Any]) -> Iterator[QuarantineCommands]:
    inventory = open_inventory(Options(inventory=tuple(flags["inventory"])))
    ensure_sandbox_running(inventory)
    with Fleet(inventory) as fleet:
        yield QuarantineCommands(fleet, bool(flags["json"]), bool(flags.get("check")))


class QuarantineCommands:
    def __init__(self, fleet: Fleet, as_json: bool, check: bool) -> None:
        self._fleet, self._json, self._check = fleet, as_json, check
        self._hosts = Quarantine(fleet)
        self._kube = _cluster_of(fleet)

    def show(self) -> int:
        hosts = [host for host in self._fleet.inventory.hosts if host != "localhost"]
        listed = [("host", host, self._hosts.entries().get(host)) for host in hosts]
        if self._kube:
            marked = kube_quarantine.entries(self._kube)
            listed += [
                ("cluster", name, marked.get(name)) for name in kube_quarantine.names(self._kube)
            ]
        if self._json:
            print_json(
                {
                    "nodes": [
                        {
                            "name": name,
                            "kind": kind,
                            "quarantine": as_data(entry) if entry else None,
                        }
                        for kind, name, entry in listed
                    ]
                }
            )
            return 0
        width = max([len(name) for _, name, _ in listed] or [0])
        for kind, name, entry in listed:
            print(f"{name:<{width}}  {kind:<7}  {_state(entry)}")
        return 0

    def quarantine(self, nodes: str, reason: str, ttl: str, cordon: bool = True) -> int:
        seconds_of(ttl)
        for node in _listed(nodes):
            self._kube_for(node)  # all of them are known before one is changed
        return self._report_all(
            nodes,
            [self._quarantine(node, reason, seconds_of(ttl), cordon) for node in _listed(nodes)],
        )

    def _quarantine(self, node: str, reason: str, seconds: float, cordon: bool) -> tuple[bool, str]:
        kube = self._kube_for(node)
        before = self._entry(node, kube)
        if before and before.reason == reason and not before.expired:
            return False, f"{node} is already in quarantine: {before.text}"
        if self._check:
            return True, f"{node} would be quarantined: {reason}"
        entry = (
            kube_quarantine.put(kube, node, reason, seconds, cordon)
            if kube
            else self._hosts.put(node, reason, seconds)
        )
        return (
            True,
            f"{node} is in quarantine: {entry.text}; release it with: {program()} nodes.release"
            f" {node}",
        )

    def release(self, nodes: str, expired: bool, everyone: bool = False) -> int:
        if bool(nodes) + expired + everyone != 1:
            raise BadInput(
                f"give nodes, as {program()} nodes.release node3,node4, or --expired, or --all"
            )
        if expired or everyone:
            return self._release_all(expired)
        for node in _listed(nodes):
            self._kube_for(node)  # all of them are known before one is changed
        return self._report_all(nodes, [self._release_one(node) for node in _listed(nodes)])

    def _release_all(self, expired: bool) -> int:
        """Every quarantined node, or those whose time is over; hosts leave theirs by
        themselves."""
        marked = kube_quarantine.entries(self._kube) if self._kube else {}
        over = [name for name, entry in marked.items() if entry.expired or not expired]
        hosts = [] if expired else list(self._hosts.entries())
        for name in over:
            self._release(name, self._kube)
        for host in hosts:
            self._release(host, None)
        names, none = ", ".join([*hosts, *over]), "has expired" if expired else "is on"
        return self._report(
            names, bool(names), f"released: {names}" if names else f"no quarantine {none}"
        )

    def _release_one(self, node: str) -> tuple[bool, str]:
        changed = self._release(node, self._kube_for(node))
        return changed, f"{node} may be used again" if changed else f"{node} is not in quarantine"

    def _report_all(self, nodes: str, done: list[tuple[bool, str]]) -> int:
        changed = any(one for one, _ in done)
        return self._report(nodes, changed, "\n".join(text for _, text in done))

    def _release(self, node: str, kube: Kube | None) -> bool:
        if self._check:
            return self._entry(node, kube) is not None
        return kube_quarantine.release(kube, node) if kube else self._hosts.release(node)

    def _entry(self, node: str, kube: Kube | None) -> Entry | None:
        return kube_quarantine.entries(kube).get(node) if kube else self._hosts.entries().get(node)

    def _kube_for(self, node: str) -> Kube | None:
        """The cluster, when the inventory itself has no host of that name."""
        if node in self._fleet.inventory.hosts:
            return None
        if self._kube is None or node not in kube_quarantine.names(self._kube):
            raise BadInput(f'there is no node "{node}"; see: {program()} nodes.list')
        return self._kube

    def _report(self, node: str, changed: bool, text: str) -> int:
        if self._json:
            print_json({"node": node, "changed": changed, "msg": text})
        else:
            print(text)
        return 0


def _state(entry: Entry | None) -> str:
    if entry is None:
        return "free"
    return f"quarantine{', expired' if entry.expired else ''}: {entry.text}"


def _cluster_of(fleet: Fleet) -> Kube | None:
    """The inventory's cluster; none when it names none."""

    def value(name: str) -> Any:
        try:
            return fleet.variable("localhost", name, "")
        except (NotYet, UndefinedVariable):
            return ""

    if not value("kubeconfig") and not value("kube_context"):
        return None
    settings, scope = (
        settings_of(value),
        Scope(RunVariables(fleet.inventory, default_templar, {}, {}), "localhost"),
    )
    return Kube(Cluster(lambda: open_transport(settings, scope)), "nodes")


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(text.replace(",", " ").split()))
