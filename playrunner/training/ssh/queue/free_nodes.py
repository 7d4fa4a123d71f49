"""Which nodes are free for a launch: no run is on them, and their devices suffice and are idle."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.request import Request, read_request
from playrunner.training.runs.record import Record
from playrunner.training.ssh.nodes.hosts import python_of, root_of, usable_hosts


@frozen
class FreeNodes:
    hosts: list[str]  # those of an earlier launch of the run first: they have its checkpoints
    why_not: dict[str, str]  # the other nodes, each with what keeps it

    def note(self, wanted: int) -> str:
        kept = "; ".join(f"{host}: {why}" for host, why in self.why_not.items())
        return f"{len(self.hosts)} of {wanted} nodes are free" + (f" ({kept})" if kept else "")


def address_of(fleet: Fleet, host: str) -> str:
    target = fleet.target(host)
    return f"{target.address}:{target.port}"


def free_nodes(
    fleet: Fleet, request: Request, options: Options, taken: Collection[str]
) -> FreeNodes:
    hosts = usable_hosts(fleet, options)
    profile = read_request(request)
    on_cpu = profile.train.device == "cpu"

    def arguments(host: str) -> dict[str, Any]:
        return {
            "root": root_of(fleet, host),
            "python": python_of(fleet, host),
            "host": host,
            "run": request.name,
            "packages": [],
        }

    why_not: dict[str, str] = {}
    for host, answer in fleet.ask(hosts, "train.node", arguments).items():
        if address_of(fleet, host) in taken:
            why_not[host] = "another launch starts there"
            continue
        if answer.get("failed"):
            continue  # preflight refuses it with its remedy; waiting would not help
        if "occupants" not in answer:
            why_not[host] = str(answer.get("msg", "it does not answer"))
            fleet.forget(host)
            continue
        slots = int(fleet.variable(host, "train_slots", profile.launch.processes_per_node))
        shared = bool(fleet.variable(host, "train_share_devices", False))
        if reason := _kept_by(answer, slots, on_cpu, shared):
            why_not[host] = reason
    before = [node["host"] for node in Record(request.name).job().get("nodes", ())]
    free = [host for host in hosts if host not in why_not]
    return FreeNodes(sorted(free, key=lambda host: host not in before), why_not)


def _kept_by(answer: dict[str, Any], slots: int, on_cpu: bool, shared: bool) -> str:
    if answer["occupants"]:
        return f"{', '.join(answer['occupants'])} runs there"
    devices = answer["devices"]
    if devices["kind"] == "cpu" or on_cpu:
        return ""
    if devices["count"] < slots:
        return f"{devices['count']} {devices['kind']} devices for {slots} processes"
    if answer["holders"] and not shared:
        return "its devices are held by " + ", ".join(
            f"pid {each['pid']}" for each in answer["holders"][:3]
        )
    return ""
