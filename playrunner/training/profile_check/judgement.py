"""All findings of one profile on one inventory's machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from playrunner.cloud.instance_types import instance
from playrunner.options import Options
from playrunner.training.profile_check import data, memory, settings
from playrunner.training.profile_check.finding import OK, PROBLEM, UNKNOWN, Finding
from playrunner.training.profile_check.machines import Machines, device_of, machines_of
from playrunner.training.profile_check.own_inventory import with_own_inventory
from playrunner.training.request import Request, read_request, wanted_nodes
from trainer.config import Profile

EXIT_PROBLEM = 5


def check_profile(request: Request, options: Options) -> tuple[int, dict[str, Any], str]:
    """The exit code, the judgement as JSON, and as lines."""
    profile = read_request(request)
    options = with_own_inventory(options, request.profile)
    wanted_nodes(request, profile)
    machines = machines_of(options, profile)
    counts = settings.node_counts(profile, request.nodes)
    findings = list(_findings(profile, machines, counts))
    problems = sum(finding.verdict == PROBLEM for finding in findings)
    code = EXIT_PROBLEM if problems else 0
    sizes_hold = all(each.verdict == OK for each in findings if each.topic == "sizes")
    described = {
        "profile": request.profile,
        "inventory": list(options.inventory),
        "ok": not problems,
        "nodes": counts,
        "machine": machines.group.type or None if machines.group else None,
        "processes_per_node": machines.processes(profile),
        "memory": memory.as_json(profile, machines, counts) if sizes_hold else None,
        "findings": [asdict(finding) for finding in findings],
    }
    where = ", ".join(Path(each).stem for each in options.inventory) or "the default inventory"
    return code, described, _lines(f"{Path(request.profile).stem} on {where}", findings)


def _findings(profile: Profile, machines: Machines, counts: list[int]) -> Iterator[Finding]:
    sizes = settings.sizes(profile)
    yield sizes
    if sizes.verdict == PROBLEM:
        return  # nothing can be counted from sizes that contradict one another
    yield from _machines(profile, machines, counts)
    yield settings.batches(profile, counts, machines.processes(profile))
    yield from settings.schedule(profile.train)
    yield settings.precision(profile, machines)
    yield from memory.memory(profile, machines, counts)
    yield from data.data(profile.train, machines)


def _machines(profile: Profile, machines: Machines, counts: list[int]) -> Iterator[Finding]:
    group, device = machines.group, device_of(profile)
    if group is None:
        need = f"with {device}" if device else "to train on"
        yield Finding(
            "machines",
            UNKNOWN if not device else PROBLEM,
            f"the inventory has no machines {need}",
            "add a node group to eks_nodegroups, or set instance_type",
        )
        return
    shown = f"{max(counts)} x {group.type or 'machines of unknown type'}"
    if group.most is not None and max(counts) > group.most:
        yield Finding(
            "machines",
            PROBLEM,
            f"{max(counts)} nodes are wanted and {group.setting} has at most {group.most}",
            f"raise its number of nodes, or use --nodes {group.most}",
        )
        return
    processes, table = machines.processes(profile), machines.memory
    if table and not device and processes > table.cores:
        yield Finding(
            "machines",
            PROBLEM,
            f"{processes} processes on the {table.cores} cores of a {group.type}",
            f"set launch.processes_per_node={table.cores}",
        )
        return
    if group.type and instance(group.type) is None:
        yield Finding("machines", UNKNOWN, f"{shown} ({group.setting}): not in the table of types")
        return
    yield Finding("machines", OK, f"{shown} ({group.setting}), {processes} processes each")


def _lines(name: str, findings: list[Finding]) -> str:
    verdicts = [finding.verdict for finding in findings]
    problems, unknown = verdicts.count(PROBLEM), verdicts.count(UNKNOWN)
    last = f"{name}: {problems or 'nothing'} to change, {unknown} unknown"
    return "\n".join([*(finding.line() for finding in findings), last])
