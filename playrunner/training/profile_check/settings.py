"""Sizes, batches at every number of nodes, schedule and precision of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import lcm

from playrunner.cloud.instance_types import NEURON
from playrunner.training.profile_check.finding import OK, PROBLEM, UNKNOWN, Finding
from playrunner.training.profile_check.machines import Machines, device_of
from trainer import errors as trainer_errors
from trainer.config import Profile, Train
from trainer.memory import parameter_count
from trainer.validate import check, sequence_length


def node_counts(profile: Profile, nodes: int = 0) -> list[int]:
    """Every number of nodes that the profile allows, or the one that is asked for."""
    launch = profile.launch
    if nodes:
        return [nodes]
    if launch.min_nodes and launch.max_nodes:
        return list(range(launch.min_nodes, max(launch.min_nodes, launch.max_nodes) + 1))
    return [launch.nodes]


def sizes(profile: Profile) -> Finding:
    """Whether the settings agree with one another, whatever the number of processes."""
    train = profile.train
    alone = replace(train, batch_size=train.device_batch_size)
    try:
        check(replace(profile, train=alone), 1)
    except trainer_errors.TrainerError as error:
        return Finding("sizes", PROBLEM, str(error), "change one of the two with --set")
    model = train.model
    shape = f"{model.kind}, {parameter_count(train):,} parameters"
    if model.kind != "mlp":
        shape += (
            f": {model.layers} layers of width {model.width}, {model.heads} heads, sequences of"
            f" {sequence_length(train)}"
        )
    return Finding("sizes", OK, shape)


def batches(profile: Profile, counts: list[int], processes: int) -> Finding:
    """The global batch has to come out even at every number of nodes."""
    train, bad = profile.train, []
    for nodes in counts:
        try:
            check(profile, nodes * processes)
        except trainer_errors.TrainerError:
            bad.append(nodes)
    if bad:
        together = [train.device_batch_size * nodes * processes for nodes in counts]
        common = lcm(*together)
        fitting = max(common, train.batch_size // common * common)
        return Finding(
            "batch",
            PROBLEM,
            f"batch_size {train.batch_size} does not divide by device_batch_size"
            f" {train.device_batch_size} x {processes} processes at {_listed(bad)} nodes",
            f"set train.batch_size={fitting}, or launch.min_nodes and launch.max_nodes to numbers"
            " that divide it"
            if len(counts) > 1
            else f"set train.batch_size={fitting} or change train.device_batch_size",
        )
    parts = train.batch_size // train.device_batch_size
    text = "; ".join(
        f"{nodes} nodes: {train.device_batch_size} x {nodes * processes} processes x"
        f" {-(-parts // (nodes * processes))}"
        for nodes in dict.fromkeys((counts[0], counts[-1]))
    )
    return Finding("batch", OK, f"{train.batch_size} samples a step; {text}")


def schedule(train: Train) -> Iterator[Finding]:
    plan, end = train.schedule, train.schedule.decay_steps or train.steps
    warmup = plan.warmup_steps or round(plan.warmup_fraction * end)
    if warmup > end:
        yield Finding(
            "schedule",
            PROBLEM,
            f"a warm-up of {warmup} steps is longer than the {end} steps it is a part of",
            f"set train.schedule.warmup_steps={end // 10} or train.schedule.decay_steps",
        )
    elif plan.min_lr > train.optimizer.lr:
        yield Finding(
            "schedule",
            PROBLEM,
            f"min_lr {plan.min_lr:g} is above the peak {train.optimizer.lr:g}",
            f"set train.schedule.min_lr={train.optimizer.lr / 10:g}",
        )
    else:
        yield Finding(
            "schedule",
            OK,
            f"{plan.name}, {warmup} of {train.steps} steps of warm-up, lr {train.optimizer.lr:g}",
        )
    every = train.evaluate.every
    if every > train.steps:
        yield Finding(
            "schedule",
            PROBLEM,
            f"evaluate.every {every} is never reached in {train.steps} steps",
            f"set train.evaluate.every={train.steps}, or 0 for the end only",
        )


def precision(profile: Profile, machines: Machines) -> Finding:
    train, device = profile.train, device_of(profile)
    memory = machines.memory
    low = train.precision != "fp32"
    if not device and (train.device == "cpu" or (memory and not memory.chip)):
        if train.precision == "fp16":
            return Finding(
                "precision", PROBLEM, "fp16 is for GPUs", "set train.precision=fp32 or bf16"
            )
        return Finding("precision", OK, f"{train.precision} on CPUs")
    if device == NEURON and train.precision == "fp16":
        return Finding("precision", PROBLEM, "fp16 is not for Trainium", "set train.precision=bf16")
    if memory is None or not memory.chip:
        return Finding("precision", UNKNOWN, f"{train.precision}: the chip is not known")
    if low and train.precision != "fp16" and not memory.bf16:
        return Finding(
            "precision",
            PROBLEM,
            f"a {memory.chip} does not compute in bf16, it only emulates it",
            "set train.precision=fp16",
        )
    return Finding("precision", OK, f"{train.precision} on {memory.chip}")


def _listed(numbers: list[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last
