"""Variables of EFA, NCCL and gloo that are known to go wrong."""

from __future__ import annotations

from collections.abc import Iterator

from playrunner.training.environment.machine_facts import MachineFacts, older
from playrunner.training.environment.rule import Rule, Variables, admits, is_on, quoted, value_in


def _rdma_core(env: Variables, machines: MachineFacts) -> Iterator[str]:
    for name in env:
        if name.startswith("RDMAV_"):
            yield (
                f"{quoted(env, name)} reaches below libfabric and breaks EFA on newer kernels. "
                "Remove it; FI_EFA_FORK_SAFE=1 is what was meant"
            )


def _no_such_card(env: Variables, machines: MachineFacts) -> Iterator[str]:
    if (
        machines.device != "cpu"
        and machines.efa == 0
        and value_in(env, "FI_PROVIDER").lower() == "efa"
    ):
        yield (
            f"{quoted(env, 'FI_PROVIDER')} asks for EFA, and {machines.instance_type or 'the node'}"
            " has no EFA card: no provider is found. Remove it, or use an instance type that"
            " has one"
        )


def _device_rdma(env: Variables, machines: MachineFacts) -> Iterator[str]:
    name = "FI_EFA_USE_DEVICE_RDMA"
    machine = machines.instance
    if name not in env or machines.device == "cpu":
        return
    if is_on(env, name) and machine and not machine.rdma_read:
        yield (
            f"{quoted(env, name)}: the cards of {machines.instance_type} cannot read remote"
            " memory, "
            "and libfabric aborts every process. Remove it"
        )
    elif machines.device == "cuda" and older(machines.aws_ofi_nccl, 1, 7) is False:
        yield (
            f"{quoted(env, name)} overrules aws-ofi-nccl {machines.aws_ofi_nccl}, "
            "which since 1.7 turns it on where the cards can do it. Remove it"
        )


def _simple_protocol(env: Variables, machines: MachineFacts) -> Iterator[str]:
    if (
        value_in(env, "NCCL_PROTO").lower() == "simple"
        and machines.efa
        and older(machines.aws_ofi_nccl, 1, 6) is False
    ):
        yield (
            f"{quoted(env, 'NCCL_PROTO')} was needed up to aws-ofi-nccl 1.5; with"
            f" {machines.aws_ofi_nccl} it only takes the low-latency protocols away from small"
            " messages. Remove it"
        )


def _sockets_instead(env: Variables, machines: MachineFacts) -> Iterator[str]:
    if value_in(env, "FI_PROVIDER").lower() != "efa":
        return
    for name, bypass in (("NCCL_NET", "socket"), ("NCCL_NET_PLUGIN", "none")):
        if value_in(env, name).lower() == bypass:
            yield (
                f"{quoted(env, name)} keeps NCCL on plain sockets, so"
                f" {quoted(env, 'FI_PROVIDER')} does nothing. Remove one of them"
            )


def _one_name_for_gloo(env: Variables, machines: MachineFacts) -> Iterator[str]:
    for name in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"):
        if value_in(env, name)[:1] in ("^", "="):
            yield (
                f"{quoted(env, name)} is NCCL's notation; torch looks for an interface of that"
                " very name and fails. Write the name alone, as eth0"
            )


def _excluded_interface(env: Variables, machines: MachineFacts) -> Iterator[str]:
    nccl = value_in(env, "NCCL_SOCKET_IFNAME")
    if not nccl:
        return
    for interface in filter(None, value_in(env, "GLOO_SOCKET_IFNAME").split(",")):
        if nccl.startswith("^") and not admits(nccl, interface):
            yield (
                f"{quoted(env, 'NCCL_SOCKET_IFNAME')} leaves out {interface}, which"
                f" {quoted(env, 'GLOO_SOCKET_IFNAME')} names: one of them meets the wrong network."
                " Name the same interface in both"
            )
            return
    if (
        machines.loopback
        and machines.device == "cuda"
        and not admits(nccl, machines.interface or "lo")
    ):
        yield (
            f"{quoted(env, 'NCCL_SOCKET_IFNAME')} leaves out loopback, and these nodes have"
            " nothing else: NCCL finds no interface. Write =lo"
        )


def _slow_way_round(env: Variables, machines: MachineFacts) -> Iterator[str]:
    if (
        machines.device == "cuda"
        and machines.instance
        and machines.instance.nvlink
        and is_on(env, "NCCL_P2P_DISABLE")
    ):
        yield (
            f"{quoted(env, 'NCCL_P2P_DISABLE')} sends everything between the GPUs of"
            f" {machines.instance_type} through host memory instead of NVLink, many times slower."
            " Remove it"
        )


def _registered_segments(env: Variables, machines: MachineFacts) -> Iterator[str]:
    hook = "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        if is_on(env, hook) and "expandable_segments:true" in value_in(env, name).lower().replace(
            " ", ""
        ):
            yield (
                f"{quoted(env, hook)} does not work with {quoted(env, name)}: segments that grow"
                " cannot be registered. Remove one of them"
            )


NETWORK_RULES: tuple[Rule, ...] = (
    _rdma_core,
    _no_such_card,
    _device_rdma,
    _simple_protocol,
    _sockets_instead,
    _one_name_for_gloo,
    _excluded_interface,
    _slow_way_round,
    _registered_segments,
)
