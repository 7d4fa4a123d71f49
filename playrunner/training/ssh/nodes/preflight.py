"""Preflight: every node is inspected in parallel, and what would fail later is reported now."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from playrunner.project import install_extra, program
from playrunner.ssh.fleet import AgentStep, Fleet
from playrunner.training.ssh.job import MASTER_PORT, Job, NodeSlot
from playrunner.training.ssh.launchers import LAUNCHERS

PORTS = 3  # the ranks', the supervisors', the gate's: next to each other
PORT_STEP, PORT_TRIES = 10, 50  # a run has ports of its own; below 30000, where Kubernetes' begin
LEAST_FREE_GIB = 1.0
MOST_SKEW_SECONDS = 5.0  # certificates, tokens and log times suffer beyond that
PACKAGES = ("torch", "deepspeed", "transformers", "numpy")

Facts = dict[str, dict[str, Any]]


def look(fleet: Fleet, job: Job, before: Mapping[str, AgentStep] | None = None) -> Facts:
    """What every node reports of itself; a step may go to it `before`."""
    nodes = {node.host: node for node in job.nodes}
    ports = candidate_ports()

    def asked(host: str) -> dict[str, Any]:
        node = nodes[host]
        return {
            "root": node.root,
            "python": node.python,
            "host": host,
            "run": job.name,
            "packages": list(PACKAGES),
            "peer": (
                job.nodes[1].address
                if node is job.master and len(nodes) > 1
                else job.master.address
            ),
            "listen": node.address if node is job.master else "",
            "ports": ports if node is job.master else [],
        }

    began = time.time()
    facts = fleet.ask(nodes, "train.node", asked, before)
    ended = time.time()
    return {host: {**said, "skew": skew(said, began, ended)} for host, said in facts.items()}


def skew(answer: Mapping[str, Any], began: float, ended: float) -> float:
    """How far a node's clock is from this machine's, at least: its answer was made in between, and
    a busy node takes its time."""
    told = float(answer.get("time", began))
    return max(0.0, began - told, told - ended)


def candidate_ports() -> list[int]:
    return [
        MASTER_PORT + PORT_STEP * number + offset
        for number in range(PORT_TRIES)
        for offset in range(PORTS)
    ]


def with_free_ports(job: Job, facts: Facts) -> Job:
    """The job on ports that are free on its first node. The search begins where the run's id says:
    of launches at the same moment, each finds the same ports free."""
    busy = set(facts[job.master.host].get("busy_ports", ()))
    first = zlib.crc32(job.run_id.encode())
    for number in range(first, first + PORT_TRIES):
        port = MASTER_PORT + PORT_STEP * (number % PORT_TRIES)
        if not busy.intersection(range(port, port + PORTS)):
            return replace(job, port=port, link_port=port + 1)
    return job


def complaints(job: Job, facts: Facts) -> list[str]:
    """What prevents the launch, one sentence each, with the node and the remedy."""
    silent = [
        f"{host}: {answer['msg']}" for host, answer in facts.items() if answer.get("unreachable")
    ]
    if silent:
        return silent
    broken = [f"{host}: {answer['msg']}" for host, answer in facts.items() if answer.get("failed")]
    if broken:
        return broken
    found = [each for host, answer in facts.items() for each in _own(job, host, answer)]
    return found + _disagreements(facts) + _ports(job, facts)


def _missing_packages(node: NodeSlot, missing: list[str]) -> str:
    remedy = (
        "set train_python to an interpreter that has it, or train_venv and run:"
        f" {program()} train.prepare"
    )
    if node.python == sys.executable:  # the nodes of a sandbox use this program's own
        remedy = f"install it with: {install_extra('train')}, or {remedy}"
    return f"{node.host}: {node.python} has no {' and no '.join(missing)}; {remedy}"


def _own(job: Job, host: str, answer: Mapping[str, Any]) -> list[str]:
    problems = []
    node = job.nodes[job.places[host]]
    packages = set(LAUNCHERS[job.launcher].packages)
    if job.profile.train.strategy.name == "deepspeed":
        packages.add("deepspeed")
    needed = ["torch", *sorted(packages)]
    if job.profile.script and job.launcher == "direct" and not job.proves:
        needed = []  # it may train with another library
    missing = [name for name in needed if not answer["packages"].get(name)]
    if missing:
        problems.append(_missing_packages(node, missing))
    devices = answer["devices"]
    if (
        devices["kind"] != "cpu"
        and job.profile.train.device != "cpu"
        and devices["count"] < node.slots
    ):
        problems.append(
            f"{host}: {devices['count']} {devices['kind']} devices for {node.slots} processes;"
            f" set launch.processes_per_node={devices['count']}"
        )
    if not answer["writable"]:
        problems.append(
            f"{host}: {answer['root']} cannot be written; set train_root to a folder that can"
        )
    if answer["free_gib"] < LEAST_FREE_GIB:
        problems.append(
            f"{host}: only {answer['free_gib']:.2f} GiB are free under {answer['root']}; a"
            " checkpoint"
            " would not fit"
        )
    if answer.get("skew", 0.0) > MOST_SKEW_SECONDS:
        problems.append(
            f"{host}: its clock is {answer['skew']:.0f} s away from this machine's; start its time"
            " service"
        )
    trains_there = (
        devices["kind"] != "cpu" and job.profile.train.device != "cpu" and not job.share_devices
    )
    if answer["occupants"] and trains_there:
        problems.append(
            f"{host}: its devices are held by {', '.join(answer['occupants'])}; stop that run first"
            f" ({program()} train.stop --name {answer['occupants'][0]})"
        )
    elif answer["holders"] and trains_there:
        who = ", ".join(
            f"pid {each['pid']} ({each['name'] or 'ended'}, {each['mib']} MiB)"
            for each in answer["holders"][:3]
        )
        problems.append(
            f"{host}: its devices are held by {who}; end that first, or set train_share_devices:"
            " true"
        )
    return problems


def _disagreements(facts: Facts) -> list[str]:
    """Versions that differ between nodes: a run would fail, or worse, differ."""
    problems = []
    values = {
        "Python": {host: ".".join(said["python"].split(".")[:2]) for host, said in facts.items()}
    }
    for package in PACKAGES:
        values[package] = {
            host: said["packages"].get(package) or "none" for host, said in facts.items()
        }
    for what, by_host in values.items():
        if len(set(by_host.values())) > 1:
            versions = _grouped(by_host)
            problems.append(
                f"the nodes do not agree on {what}: {versions}; install the same on all"
            )
    return problems


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
