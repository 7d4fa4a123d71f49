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
from playrunner.run.run import open_inventory
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import Entry, Quarantine, as_data, seconds_of
from playrunner.ssh.sandbox_autostart import ensure_sandbox_running
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

    def quarantine(self, node: str, reason: str, ttl: str) -> int:
        seconds = seconds_of(ttl)
        kube = self._kube_for(node)
        before = self._entry(node, kube)
        if before and before.reason == reason and not before.expired:
            return self._report(node, False, f"{node} is already in quarantine: {before.text}")
        if self._check:
            return self._report(node, True, f"{node} would be quarantined: {reason}")
        entry = (
            kube_quarantine.put(kube, node, reason, seconds)
            if kube
            else self._hosts.put(node, reason, seconds)
        )
        return self._report(
            node,
            True,
            f"{node} is in quarantine: {entry.text}; release it with: {program()} nodes.release"
            f" {node}",
        )

    def release(self, node: str, expired: bool) -> int:
        if bool(node) == expired:
            raise BadInput(f"give a node, as {program()} nodes.release node3, or --expired")
        if expired:
            over = [
                name
                for name, entry in (
                    kube_quarantine.entries(self._kube) if self._kube else {}
                ).items()
                if entry.expired
            ]
            for name in over:
                self._release(name, self._kube)
            return self._report(
                ", ".join(over),
                bool(over),
                f"released: {', '.join(over)}" if over else "no quarantine has expired",
            )
        kube = self._kube_for(node)
        changed = self._release(node, kube)
        return self._report(
            node,
            changed,
            f"{node} may be used again" if changed else f"{node} is not in quarantine",
        )

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
