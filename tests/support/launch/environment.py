"""Machines to compile an environment for, and what is compiled for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.training.environment.compiler import compile_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.environment.variable import Variable

P4D = MachineFacts(
    device="cuda",
    launcher="torchrun",
    instance_type="p4d.24xlarge",
    interface="ens32",
    cores=96,
    processes_per_node=8,
)


NEW_PLUGIN = replace(P4D, libfabric="1.20.0amzn1.0", aws_ofi_nccl="v1.8.1-aws", nccl="2.20.3")


OLD_PLUGIN = replace(P4D, aws_ofi_nccl="1.5.0")


G5 = replace(P4D, instance_type="g5.12xlarge", processes_per_node=4)


TRN1 = MachineFacts(
    device="neuron",
    instance_type="trn1.32xlarge",
    interface="eth0",
    cores=128,
    processes_per_node=32,
)


SANDBOX = MachineFacts(loopback=True, cores=2)


def compiled(
    machines: MachineFacts, given: dict[str, str] | None = None, **profile: Any
) -> dict[str, Variable]:
    return {each.name: each for each in compile_environment(profile, machines, given or {})}


def values(
    machines: MachineFacts, given: dict[str, str] | None = None, **profile: Any
) -> dict[str, str]:
    return {name: each.value for name, each in compiled(machines, given, **profile).items()}


def fabric(machines: MachineFacts) -> dict[str, str]:
    return {
        name: value
        for name, value in values(machines).items()
        if name.startswith(("FI_", "NCCL_PROTO"))
    }


def refused(machines: MachineFacts, **given: str) -> list[str]:
    return conflicting_settings(compile_environment({}, machines, given), machines)
