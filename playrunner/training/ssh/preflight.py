"""Preflight: every node is looked at once, all together, and what would go wrong later is said now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from playrunner.ssh.fleet import Fleet
from playrunner.training.ssh.job import MASTER_PORT, Job

PORTS = 3  # the ranks', the keepers', the gate's: next to each other
PORT_STEP, PORT_TRIES = 10, 20  # ports to try when the usual one is taken by another run
LEAST_FREE_GIB = 1.0
MOST_SKEW_SECONDS = 5.0  # certificates, tokens and log times suffer beyond that
PACKAGES = ("torch", "deepspeed", "transformers", "numpy")

Facts = dict[str, dict[str, Any]]


def look(fleet: Fleet, job: Job) -> Facts:
    """What every node says of itself."""
    seats = {seat.host: seat for seat in job.seats}
    ports = candidate_ports()

    def asked(host: str) -> dict[str, Any]:
        seat = seats[host]
        return {
            "root": seat.root,
            "python": seat.python,
            "host": host,
            "run": job.name,
            "packages": list(PACKAGES),
            "peer": (
                job.seats[1].address
                if seat is job.master and len(seats) > 1
                else job.master.address
            ),
            "listen": seat.address if seat is job.master else "",
            "ports": ports if seat is job.master else [],
        }

    return fleet.ask(seats, "train.node", asked)


def candidate_ports() -> list[int]:
    return [
        MASTER_PORT + PORT_STEP * number + offset
        for number in range(PORT_TRIES)
        for offset in range(PORTS)
    ]


def with_free_ports(job: Job, facts: Facts) -> Job:
    """The job on the first ports that nobody holds on its first node."""
    busy = set(facts[job.master.host].get("busy_ports", ()))
    for number in range(PORT_TRIES):
        port = MASTER_PORT + PORT_STEP * number
        if not busy.intersection(range(port, port + PORTS)):
            return replace(job, port=port, link_port=port + 1)
    return job


def complaints(job: Job, facts: Facts, now: float) -> list[str]:
    """What stands in the way, one sentence each, naming the node and the remedy."""
    silent = [f"{host}: {said['msg']}" for host, said in facts.items() if said.get("unreachable")]
    if silent:
        return silent
    broken = [f"{host}: {said['msg']}" for host, said in facts.items() if said.get("failed")]
    if broken:
        return broken
    found = [each for host, said in facts.items() for each in _own(job, host, said, now)]
    return found + _disagreements(facts) + _ports(job, facts)


def _own(job: Job, host: str, said: Mapping[str, Any], now: float) -> list[str]:
    found = []
    seat = next(seat for seat in job.seats if seat.host == host)
    needed = [
        "torch",
        *(
            ["deepspeed"]
            if job.profile.train.strategy.name == "deepspeed" or job.launcher == "deepspeed"
            else []
        ),
    ]
    missing = [name for name in needed if not said["packages"].get(name)]
    if missing:
        found.append(
            f"{host}: {seat.python} has no {' and no '.join(missing)}; set train_python to an"
            " interpreter that has it, or train_venv and run: invoke train.prepare"
        )
    devices = said["devices"]
    if (
        devices["kind"] != "cpu"
        and job.profile.train.device != "cpu"
        and devices["count"] < seat.slots
    ):
        found.append(
            f"{host}: {devices['count']} {devices['kind']} devices for {seat.slots} processes;"
            f" set launch.processes_per_node={devices['count']}"
        )
    if not said["writable"]:
        found.append(
            f"{host}: {said['root']} cannot be written; set train_root to a folder that can"
        )
    if said["free_gib"] < LEAST_FREE_GIB:
        found.append(
            f"{host}: only {said['free_gib']:.2f} GiB are free under {said['root']}; a checkpoint"
            " would not fit"
        )
    skew = abs(said["time"] - now)
    if skew > MOST_SKEW_SECONDS:
        found.append(
            f"{host}: its clock is {skew:.0f} s away from this machine's; start its time service"
        )
    trains_there = (
        devices["kind"] != "cpu" and job.profile.train.device != "cpu" and not job.share_devices
    )
    if said["occupants"] and trains_there:
        found.append(
            f"{host}: its devices are held by {', '.join(said['occupants'])}; stop that run first"
            f" (invoke train.stop --name {said['occupants'][0]})"
        )
    elif said["holders"] and trains_there:
        who = ", ".join(
            f"pid {each['pid']} ({each['name'] or 'ended'}, {each['mib']} MiB)"
            for each in said["holders"][:3]
        )
        found.append(
            f"{host}: its devices are held by {who}; end that first, or set train_share_devices:"
            " true"
        )
    return found


def _disagreements(facts: Facts) -> list[str]:
    """Versions that differ between nodes: a run would fail, or worse, differ."""
    found = []
    values = {
        "Python": {host: ".".join(said["python"].split(".")[:2]) for host, said in facts.items()}
    }
    for package in PACKAGES:
        values[package] = {
            host: said["packages"].get(package) or "none" for host, said in facts.items()
        }
    for what, by_host in values.items():
        if len(set(by_host.values())) > 1:
            told = _grouped(by_host)
            found.append(f"the nodes do not agree on {what}: {told}; install the same on all")
    return found


def _grouped(by_host: Mapping[str, str]) -> str:
    groups: dict[str, list[str]] = {}
    for host, value in by_host.items():
        groups.setdefault(value, []).append(host)
    most = sorted(groups.items(), key=lambda item: -len(item[1]))
    return ", ".join(f"{value} on {_some(hosts)}" for value, hosts in most)


def _some(hosts: Sequence[str]) -> str:
    return (
        ", ".join(hosts) if len(hosts) <= 3 else f"{hosts[0]}, {hosts[1]} and {len(hosts) - 2} more"
    )


def _ports(job: Job, facts: Facts) -> list[str]:
    busy = {job.port, job.link_port, job.gate_port} & set(
        facts[job.master.host].get("busy_ports", ())
    )
    return [
        f"{job.master.host}: port {port} is taken on {job.master.address}" for port in sorted(busy)
    ]
