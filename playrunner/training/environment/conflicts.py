"""Variables that are known to go wrong, alone or together; a run with any of them is not started.

Only what is certain is here: each rule says what happens, and needs the fact it leans on to be
known of the site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from playrunner.training.environment.site import Site, older
from playrunner.training.environment.variable import Variable

Found = Mapping[str, Variable]
Rule = Callable[[Found, Site], Iterator[str]]


# One setting under the name torch prefers and the one it still reads.
RENAMED = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_BLOCKING_WAIT": "NCCL_BLOCKING_WAIT",
    "TORCH_FR_BUFFER_SIZE": "TORCH_NCCL_TRACE_BUFFER_SIZE",
    "PYTORCH_ALLOC_CONF": "PYTORCH_CUDA_ALLOC_CONF",
}


def quarrels(variables: Iterable[Variable], site: Site) -> list[str]:
    """A sentence for each: the variables, what would happen, what to do instead."""
    found = {each.name: each for each in variables}
    return [sentence for rule in _RULES for sentence in rule(found, site)]


def _set_by_the_launcher(found: Found, site: Site) -> Iterator[str]:
    for name in found:
        if name in _PLACES or name.startswith("PET_"):
            yield (
                f"{_said(found, name)} is set by the launcher for each process; one value for all"
                " of them breaks the run. Remove it"
            )
    if "PYTHONPATH" in found:
        yield (
            f"{_said(found, 'PYTHONPATH')} would hide the staged trainer code. "
            "Remove it, and install what it adds into the nodes' Python"
        )
    if site.launcher == "deepspeed" and "CUDA_VISIBLE_DEVICES" in found:
        yield (
            f"{_said(found, 'CUDA_VISIBLE_DEVICES')} is lost: DeepSpeed's launcher writes it from"
            " the hostfile. Remove it and lower the node's slots, or use --launcher torchrun"
        )


def _rdma_core(found: Found, site: Site) -> Iterator[str]:
    for name in found:
        if name.startswith("RDMAV_"):
            yield (
                f"{_said(found, name)} reaches below libfabric and breaks EFA on newer kernels. "
                "Remove it; FI_EFA_FORK_SAFE=1 is what was meant"
            )


def _no_such_card(found: Found, site: Site) -> Iterator[str]:
    if site.device != "cpu" and site.efa == 0 and _value(found, "FI_PROVIDER").lower() == "efa":
        yield (
            f"{_said(found, 'FI_PROVIDER')} asks for EFA, and {site.instance_type or 'the node'}"
            " has no EFA card: no provider is found. Remove it, or use an instance type that"
            " has one"
        )


def _device_rdma(found: Found, site: Site) -> Iterator[str]:
    name = "FI_EFA_USE_DEVICE_RDMA"
    machine = site.instance
    if name not in found or site.device == "cpu":
        return
    if _on(found, name) and machine and not machine.rdma_read:
        yield (
            f"{_said(found, name)}: the cards of {site.instance_type} cannot read remote memory, "
            "and libfabric aborts every process. Remove it"
        )
    elif site.device == "cuda" and older(site.aws_ofi_nccl, 1, 7) is False:
        yield (
            f"{_said(found, name)} overrules aws-ofi-nccl {site.aws_ofi_nccl}, "
            "which since 1.7 turns it on where the cards can do it. Remove it"
        )


def _simple_protocol(found: Found, site: Site) -> Iterator[str]:
    if (
        _value(found, "NCCL_PROTO").lower() == "simple"
        and site.efa
        and older(site.aws_ofi_nccl, 1, 6) is False
    ):
        yield (
            f"{_said(found, 'NCCL_PROTO')} was needed up to aws-ofi-nccl 1.5; with"
            f" {site.aws_ofi_nccl} it only takes the low-latency protocols away from small"
            " messages. Remove it"
        )


def _sockets_instead(found: Found, site: Site) -> Iterator[str]:
    if _value(found, "FI_PROVIDER").lower() != "efa":
        return
    for name, bypass in (("NCCL_NET", "socket"), ("NCCL_NET_PLUGIN", "none")):
        if _value(found, name).lower() == bypass:
            yield (
                f"{_said(found, name)} keeps NCCL on plain sockets, so"
                f" {_said(found, 'FI_PROVIDER')} does nothing. Remove one of them"
            )


def _one_name_for_gloo(found: Found, site: Site) -> Iterator[str]:
    for name in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"):
        if _value(found, name)[:1] in ("^", "="):
            yield (
                f"{_said(found, name)} is NCCL's notation; torch looks for an interface of that"
                " very name and fails. Write the name alone, as eth0"
            )


def _excluded_interface(found: Found, site: Site) -> Iterator[str]:
    nccl = _value(found, "NCCL_SOCKET_IFNAME")
    if not nccl:
        return
    for interface in filter(None, _value(found, "GLOO_SOCKET_IFNAME").split(",")):
        if nccl.startswith("^") and not admits(nccl, interface):
            yield (
                f"{_said(found, 'NCCL_SOCKET_IFNAME')} leaves out {interface}, which"
                f" {_said(found, 'GLOO_SOCKET_IFNAME')} names: one of them meets the wrong network."
                " Name the same interface in both"
            )
            return
    if site.loopback and site.device == "cuda" and not admits(nccl, site.interface or "lo"):
        yield (
            f"{_said(found, 'NCCL_SOCKET_IFNAME')} leaves out loopback, and these nodes have"
            " nothing else: NCCL finds no interface. Write =lo"
        )


def _two_ways_to_wait(found: Found, site: Site) -> Iterator[str]:
    waiting = next(
        (each for each in ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT") if _on(found, each)),
        "",
    )
    for name in ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"):
        if waiting and name in found and _value(found, name) != "0":
            yield (
                f"{_said(found, waiting)} and {_said(found, name)} are two ways to notice a failed"
                " collective, and torch drops the second: no watchdog ends the process. Remove"
                f" {waiting}, or set {name}=0"
            )


def _two_names_of_one_setting(found: Found, site: Site) -> Iterator[str]:
    for new, old in RENAMED.items():
        if new in found and old in found and _value(found, new) != _value(found, old):
            yield (
                f"{_said(found, new)} and {_said(found, old)} are two names of one setting and"
                f" disagree. Keep one of them, {new} where torch knows it"
            )


def _dump_of_nothing(found: Found, site: Site) -> Iterator[str]:
    for size in ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"):
        if _on(found, "TORCH_NCCL_DUMP_ON_TIMEOUT") and _value(found, size) == "0":
            yield (
                f"{_said(found, 'TORCH_NCCL_DUMP_ON_TIMEOUT')} has nothing to dump with"
                f" {_said(found, size)}. Set {size}=20000, or the dump to 0"
            )


def _blocking_launches(found: Found, site: Site) -> Iterator[str]:
    if site.device == "cuda" and _on(found, "CUDA_LAUNCH_BLOCKING") and older(site.nccl, 2, 18):
        yield (
            f"{_said(found, 'CUDA_LAUNCH_BLOCKING')} makes NCCL {site.nccl} wait for a kernel that"
            " waits for NCCL's own thread: collectives between nodes hang. Remove it, or use a"
            " newer NCCL"
        )


def _slow_way_round(found: Found, site: Site) -> Iterator[str]:
    if (
        site.device == "cuda"
        and site.instance
        and site.instance.nvlink
        and _on(found, "NCCL_P2P_DISABLE")
    ):
        yield (
            f"{_said(found, 'NCCL_P2P_DISABLE')} sends everything between the GPUs of"
            f" {site.instance_type} through host memory instead of NVLink, many times slower."
            " Remove it"
        )


def _registered_segments(found: Found, site: Site) -> Iterator[str]:
    hook = "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        if _on(found, hook) and "expandable_segments:true" in _value(found, name).lower().replace(
            " ", ""
        ):
            yield (
                f"{_said(found, hook)} does not work with {_said(found, name)}: segments that grow"
                " cannot be registered. Remove one of them"
            )


def _too_many_threads(found: Found, site: Site) -> Iterator[str]:
    text = _value(found, "OMP_NUM_THREADS")
    if text and not all(part.strip().isdigit() and int(part) > 0 for part in text.split(",")):
        yield (
            f"{_said(found, 'OMP_NUM_THREADS')} is no count of threads, and OpenMP then takes every"
            " core in every process. Write a number"
        )
        return
    threads = int(text) * site.processes_per_node if text.isdigit() else 0
    if site.cores > 1 and threads > 2 * site.cores:
        yield (
            f"{_said(found, 'OMP_NUM_THREADS')} in {site.processes_per_node} processes is {threads}"
            f" threads on {site.cores} cores, and they wait for each other. Set it to"
            f" {max(1, site.cores // site.processes_per_node)} or less"
        )


def _hidden_devices(found: Found, site: Site) -> Iterator[str]:
    name = "CUDA_VISIBLE_DEVICES"
    if site.device != "cuda" or name not in found or site.launcher == "deepspeed":
        return
    visible = len([each for each in _value(found, name).split(",") if each.strip()])
    if visible < site.processes_per_node:
        yield (
            f"{_said(found, name)} shows {visible} GPUs to {site.processes_per_node} processes: the"
            f" later ones find no device. Name as many, or set launch.processes_per_node={visible}"
        )


def _other_accelerator(found: Found, site: Site) -> Iterator[str]:
    name = "DS_ACCELERATOR"
    if site.device in ("cpu", "cuda") and name in found and _value(found, name) != site.device:
        yield (
            f"{_said(found, name)}, but the run's device is {site.device}: "
            "DeepSpeed and the trainer put tensors in different places. Remove it"
        )


def admits(pattern: str, interface: str) -> bool:
    """Whether NCCL_SOCKET_IFNAME lets an interface through: prefixes, `=` for exact names, `^` for
    all but these."""
    negated = pattern.startswith("^")
    names = pattern.removeprefix("^")
    exact = names.startswith("=")
    listed = [each for each in names.removeprefix("=").split(",") if each]
    matched = interface in listed if exact else any(interface.startswith(each) for each in listed)
    return matched is not negated


def _said(found: Found, name: str) -> str:
    return f"{name}={found[name].shown} ({found[name].origin})"


def _value(found: Found, name: str) -> str:
    return found[name].value if name in found else ""


def _on(found: Found, name: str) -> bool:
    return _value(found, name).lower() in {"1", "y", "yes", "t", "true", "on"}


# What a process learns of its place from whoever starts it.
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
    _rdma_core,
    _no_such_card,
    _device_rdma,
    _simple_protocol,
    _sockets_instead,
    _one_name_for_gloo,
    _excluded_interface,
    _two_ways_to_wait,
    _two_names_of_one_setting,
    _dump_of_nothing,
    _blocking_launches,
    _slow_way_round,
    _registered_segments,
    _too_many_threads,
    _hidden_devices,
    _other_accelerator,
)
