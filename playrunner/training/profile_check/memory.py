"""The memory estimate of a profile against the device of its machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from playrunner.cloud.instance_memory import InstanceMemory
from playrunner.training.profile_check.finding import OK, PROBLEM, UNKNOWN, Finding
from playrunner.training.profile_check.machines import Machines, device_of
from trainer.config import Profile, Train
from trainer.fast import Chip, decided
from trainer.memory import GIB, Estimate, estimate

USABLE = 0.92  # of a device's memory: the allocator's fragments have the rest
_HOST_USABLE = 0.9  # of a node's: the system and the pods that every node has


def memory(profile: Profile, machines: Machines, counts: list[int]) -> list[Finding]:
    """At the smallest number of nodes, where every process has most to hold."""
    nodes, processes = min(counts), machines.processes(profile)
    table, on_cpu = machines.memory, not device_of(profile)
    train = _as_run(profile.train, nodes * processes, table)
    needed = estimate(train, nodes * processes, processes, on_cpu)
    text = f"{_amounts(needed)} per process at {nodes} nodes"
    if table is None or (not on_cpu and not table.chip):
        return [
            Finding(
                "memory",
                UNKNOWN,
                f"{text}; the machine's memory is not known",
                "set instance_type in the inventory",
            )
        ]
    return list(_judged(train, needed, text, table, (nodes, processes), on_cpu))


def as_json(profile: Profile, machines: Machines, counts: list[int]) -> dict[str, Any]:
    nodes, processes = min(counts), machines.processes(profile)
    train = _as_run(profile.train, nodes * processes, machines.memory)
    needed = estimate(train, nodes * processes, processes, not device_of(profile))
    parts = ("weights", "gradients", "optimizer", "gathered", "activations", "overhead", "host")
    figures = {f"{name}_gib": round(getattr(needed, name) / GIB, 3) for name in parts}
    table = machines.memory
    return {
        "nodes": nodes,
        "parameters": needed.parameters,
        **figures,
        "total_gib": round(needed.total / GIB, 3),
        "device_gib": table.device_gib if table and table.chip else None,
    }


def _as_run(train: Train, world_size: int, table: InstanceMemory | None) -> Train:
    """As the trainer decides on such a chip; a larger micro-batch is only taken where it fits."""
    given = replace(train, fast=replace(train.fast, micro_batch="as-given"))
    chip = Chip()
    if table is not None and table.chip and not table.chip.startswith("Trainium"):
        chip = Chip("cuda", table.chip, table.bf16, int(table.device_gib * GIB))
    return decided(given, world_size, chip)[0]


def _judged(
    train: Train,
    needed: Estimate,
    text: str,
    table: InstanceMemory,
    size: tuple[int, int],
    on_cpu: bool,
) -> Iterator[Finding]:
    nodes, processes = size
    if on_cpu:
        whole, has = needed.total * processes, table.host_gib * GIB * _HOST_USABLE
        name = f"{processes} processes of a node with {table.host_gib:g} GiB"
    else:
        whole, has = needed.total, table.device_gib * GIB * USABLE
        name = f"{table.chip} with {table.device_gib:g} GiB"
    if whole > has:
        remedy = _remedy(train, nodes, processes, has / (processes if on_cpu else 1), on_cpu)
        yield Finding("memory", PROBLEM, f"{text} does not fit {name}", remedy)
    else:
        yield Finding("memory", OK, f"{text}, on {name}")
    if not on_cpu and needed.host:
        offloaded = needed.host * processes
        fits = offloaded <= table.host_gib * GIB * _HOST_USABLE
        yield Finding(
            "memory",
            OK if fits else PROBLEM,
            f"{offloaded / GIB:.1f} GiB are offloaded to a node's {table.host_gib:g} GiB",
            "" if fits else "set train.strategy.activation_offload=false or use more nodes",
        )


def _amounts(needed: Estimate) -> str:
    named = ("weights", "gradients", "optimizer", "gathered", "activations", "overhead")
    parts = [
        f"{name} {getattr(needed, name) / GIB:.1f}"
        for name in named
        if getattr(needed, name) >= 0.05 * GIB
    ]
    return f"about {needed.total / GIB:.1f} GiB ({', '.join(parts)})"


def _remedy(train: Train, nodes: int, processes: int, has: float, on_cpu: bool) -> str:
    """The first change that fits by the same estimate."""
    for setting, changed in _changes(train):
        if estimate(changed, nodes * processes, processes, on_cpu).total <= has:
            return f"set {setting}"
    most = nodes
    while most < 4096:
        most *= 2
        if estimate(train, most * processes, processes, on_cpu).total <= has:
            return f"use --nodes {most}"
    return "use a machine with more memory"


def _changes(train: Train) -> Iterator[tuple[str, Train]]:
    strategy = train.strategy
    size = train.device_batch_size
    while size > 1 and size % 2 == 0:
        size //= 2
        yield f"train.device_batch_size={size}", replace(train, device_batch_size=size)
    recomputed = replace(strategy, activation_checkpointing=True)
    if train.model.kind != "mlp" and not strategy.activation_checkpointing:
        yield (
            "train.strategy.activation_checkpointing=true",
            replace(train, strategy=recomputed),
        )
    if strategy.name == "ddp" and train.model.kind != "mlp":
        sharded = replace(recomputed, name="fsdp")
        yield (
            "train.strategy.name=fsdp and train.strategy.activation_checkpointing=true",
            replace(train, strategy=sharded, precision=_sharded_precision(train)),
        )
    if strategy.name == "deepspeed" and strategy.zero_stage < 3:
        yield (
            "train.strategy.zero_stage=3 and train.strategy.activation_checkpointing=true",
            replace(train, strategy=replace(recomputed, zero_stage=3)),
        )
    if strategy.name == "fsdp" and not strategy.cpu_offload:
        yield (
            "train.strategy.cpu_offload=true",
            replace(train, strategy=replace(recomputed, cpu_offload=True)),
        )


def _sharded_precision(train: Train) -> Any:
    return "fp32" if train.precision == "fp32" else "bf16"
