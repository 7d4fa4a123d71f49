"""Variables that are known to go wrong, alone or together; a run with any of them is not started.

Only what is certain is here: each rule says what happens, and needs the fact it leans on to be
known of the site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from playrunner.training.environment.machine_facts import MachineFacts, older
from playrunner.training.environment.network_conflicts import NETWORK_RULES
from playrunner.training.environment.rule import Rule, Variables, is_on, quoted, value_in
from playrunner.training.environment.variable import Variable

# One setting under the name torch prefers and the one it still reads.
RENAMED = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_BLOCKING_WAIT": "NCCL_BLOCKING_WAIT",
    "TORCH_FR_BUFFER_SIZE": "TORCH_NCCL_TRACE_BUFFER_SIZE",
    "PYTORCH_ALLOC_CONF": "PYTORCH_CUDA_ALLOC_CONF",
}


def conflicting_settings(variables: Iterable[Variable], machines: MachineFacts) -> list[str]:
    """A sentence for each: the variables, what would happen, what to do instead."""
    named = {variable.name: variable for variable in variables}
    return [sentence for rule in _RULES for sentence in rule(named, machines)]


def _set_by_the_launcher(env: Variables, machines: MachineFacts) -> Iterator[str]:
    for name in env:
        if name in _PLACES or name.startswith("PET_"):
            yield (
                f"{quoted(env, name)} is set by the launcher for each process; one value for all"
                " of them breaks the run. Remove it"
            )
    if "PYTHONPATH" in env:
        yield (
            f"{quoted(env, 'PYTHONPATH')} would hide the staged trainer code. "
            "Remove it, and install what it adds into the nodes' Python"
        )
    if machines.launcher == "deepspeed" and "CUDA_VISIBLE_DEVICES" in env:
        yield (
            f"{quoted(env, 'CUDA_VISIBLE_DEVICES')} is lost: DeepSpeed's launcher writes it from"
            " the hostfile. Remove it and lower the node's slots, or use --launcher torchrun"
        )


def _two_ways_to_wait(env: Variables, machines: MachineFacts) -> Iterator[str]:
    waiting = next(
        (each for each in ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT") if is_on(env, each)),
        "",
    )
    for name in ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"):
        if waiting and name in env and value_in(env, name) != "0":
            yield (
                f"{quoted(env, waiting)} and {quoted(env, name)} are two ways to notice a failed"
                " collective, and torch drops the second: no watchdog ends the process. Remove"
                f" {waiting}, or set {name}=0"
            )


def _two_names_of_one_setting(env: Variables, machines: MachineFacts) -> Iterator[str]:
    for new, old in RENAMED.items():
        if new in env and old in env and value_in(env, new) != value_in(env, old):
            yield (
                f"{quoted(env, new)} and {quoted(env, old)} are two names of one setting and"
                f" disagree. Keep one of them, {new} where torch knows it"
            )


def _dump_of_nothing(env: Variables, machines: MachineFacts) -> Iterator[str]:
    for size in ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"):
        if is_on(env, "TORCH_NCCL_DUMP_ON_TIMEOUT") and value_in(env, size) == "0":
            yield (
                f"{quoted(env, 'TORCH_NCCL_DUMP_ON_TIMEOUT')} has nothing to dump with"
                f" {quoted(env, size)}. Set {size}=20000, or the dump to 0"
            )


def _blocking_launches(env: Variables, machines: MachineFacts) -> Iterator[str]:
    if (
        machines.device == "cuda"
        and is_on(env, "CUDA_LAUNCH_BLOCKING")
        and older(machines.nccl, 2, 18)
    ):
        yield (
            f"{quoted(env, 'CUDA_LAUNCH_BLOCKING')} makes NCCL {machines.nccl} wait for a kernel"
            " that"
            " waits for NCCL's own thread: collectives between nodes hang. Remove it, or use a"
            " newer NCCL"
        )


def _too_many_threads(env: Variables, machines: MachineFacts) -> Iterator[str]:
    text = value_in(env, "OMP_NUM_THREADS")
    if text and not all(part.strip().isdigit() and int(part) > 0 for part in text.split(",")):
        yield (
            f"{quoted(env, 'OMP_NUM_THREADS')} is no count of threads, and OpenMP then takes every"
            " core in every process. Write a number"
        )
        return
    if not text.isdigit() or int(text) == 1:
        return  # fewer than one is not to be had, however many processes there are
    threads = int(text) * machines.processes_per_node
    if machines.cores > 1 and threads > 2 * machines.cores:
        yield (
            f"{quoted(env, 'OMP_NUM_THREADS')} in {machines.processes_per_node} processes is"
            f" {threads}"
            f" threads on {machines.cores} cores, and they wait for each other. Set it to"
            f" {max(1, machines.cores // machines.processes_per_node)} or less"
        )


def _hidden_devices(env: Variables, machines: MachineFacts) -> Iterator[str]:
    name = "CUDA_VISIBLE_DEVICES"
    if machines.device != "cuda" or name not in env or machines.launcher == "deepspeed":
        return
    visible = len([each for each in value_in(env, name).split(",") if each.strip()])
    if visible < machines.processes_per_node:
        yield (
            f"{quoted(env, name)} shows {visible} GPUs to {machines.processes_per_node}"
            " processes: the"
            f" later ones find no device. Name as many, or set launch.processes_per_node={visible}"
        )


def _other_accelerator(env: Variables, machines: MachineFacts) -> Iterator[str]:
    name = "DS_ACCELERATOR"
    if (
        machines.device in ("cpu", "cuda")
        and name in env
        and value_in(env, name) != machines.device
    ):
        yield (
            f"{quoted(env, name)}, but the run's device is {machines.device}: "
            "DeepSpeed and the trainer put tensors in different places. Remove it"
        )


# What a process learns of its place from its launcher.
_PLACES = frozenset(
    {
        *(
            "RANK",
            "LOCAL_RANK",
            "GROUP_RANK",
            "NODE_RANK",
            "CROSS_RANK",
            "ROLE_RANK",
            "ROLE_NAME",
            "MASTER_ADDR",
            "MASTER_PORT",
        ),
        *(
            "WORLD_SIZE",
            "LOCAL_WORLD_SIZE",
            "GROUP_WORLD_SIZE",
            "ROLE_WORLD_SIZE",
            "LOCAL_SIZE",
            "CROSS_SIZE",
        ),
        *(
            "TORCHELASTIC_RUN_ID",
            "TORCHELASTIC_RESTART_COUNT",
            "TORCHELASTIC_MAX_RESTARTS",
            "TORCHELASTIC_USE_AGENT_STORE",
        ),
        "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
    }
)

_RULES: tuple[Rule, ...] = (
    _set_by_the_launcher,
    *NETWORK_RULES,
    _two_ways_to_wait,
    _two_names_of_one_setting,
    _dump_of_nothing,
    _blocking_launches,
    _too_many_threads,
    _hidden_devices,
    _other_accelerator,
)
