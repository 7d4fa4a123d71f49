"""The variables that a device, its network cards and the number of processes call for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playrunner.training.environment.machine_facts import MachineFacts, older
from playrunner.training.environment.variable import Variable

_CARDS = "the network cards (EFA)"
_WHO_HUNG = "each rank's last collectives are kept, to tell who hung"


def decided(profile: Mapping[str, Any], machines: MachineFacts) -> Iterator[Variable]:
    yield from _everywhere()
    yield _threads(machines)
    yield from _interfaces(machines)
    if _deepspeed_on_cpu(profile, machines):
        yield Variable(
            "DS_ACCELERATOR",
            "cpu",
            "left to itself DeepSpeed looks for a GPU first",
            "the device (cpu)",
        )
    if machines.device == "cpu":
        yield Variable("TORCH_FR_BUFFER_SIZE", "64", _WHO_HUNG, "the device (cpu)")
    if machines.device == "cuda":
        yield from _nccl(profile, machines)
        yield from _efa(machines)
    if machines.device == "neuron":
        yield from _neuron(machines)


def _everywhere() -> Iterator[Variable]:
    yield Variable(
        "RES_OPTIONS",
        "timeout:1 attempts:2",
        "torch looks up the name of every address it meets; a name server that does not answer"
        " costs 5 s each time",
        "default",
    )
    yield Variable(
        "PYTHONUNBUFFERED",
        "1",
        "lines reach the log as they are written, not 8 KiB at a time",
        "default",
    )
    yield Variable(
        "PYTHONFAULTHANDLER",
        "1",
        "a crash in native code leaves the Python stack in the log",
        "default",
    )
    yield Variable(
        "TOKENIZERS_PARALLELISM",
        "true",
        "the trainer tokenises in threads and does not fork after",
        "default",
    )
    yield Variable(
        "HF_HUB_DISABLE_PROGRESS_BARS", "1", "a bar in a log file is thousands of lines", "default"
    )
    yield Variable(
        "HF_HUB_DISABLE_TELEMETRY",
        "1",
        "nodes often have no way out, and a blocked request only waits",
        "default",
    )


def _threads(machines: MachineFacts) -> Variable:
    # Loopback nodes are one machine: their processes share its cores.
    processes = machines.processes_per_node * (machines.nodes if machines.loopback else 1)
    if machines.device == "cpu" and machines.cores <= 2 * processes:
        reason = (
            f"{processes} processes on {machines.cores} cores: a second thread each makes training"
            " several times slower"
        )
        return Variable("OMP_NUM_THREADS", "1", reason, "cores and processes")
    share = max(1, machines.cores // processes)
    return Variable(
        "OMP_NUM_THREADS",
        str(share),
        f"{machines.cores} cores shared by {processes} processes",
        "cores and processes",
    )


def _interfaces(machines: MachineFacts) -> Iterator[Variable]:
    interface = machines.interface or ("lo" if machines.loopback else "")
    origin = "the loopback nodes" if machines.loopback else f"the network interface ({interface})"
    if interface:
        why = (
            "every node is this machine"
            if machines.loopback
            else "the nodes reach each other by it"
        )
        reason = (
            f"{why}; left alone, gloo takes the address of the host's name, which others may not"
            " reach"
        )
        yield Variable("GLOO_SOCKET_IFNAME", interface, reason, origin)
        yield Variable("TP_SOCKET_IFNAME", interface, "torch's RPC chooses as gloo does", origin)
    if machines.device == "cuda" and interface:
        yield Variable(
            "NCCL_SOCKET_IFNAME",
            f"={interface}",
            "the same interface as gloo, by its exact name",
            origin,
        )
    elif machines.device == "cuda":
        reason = (
            "the interface is not known: any but loopback, containers' own and the link-local one"
            " of EKS Pod Identity"
        )
        yield Variable("NCCL_SOCKET_IFNAME", "^lo,docker,veth,pod-id-link", reason, "default")
    if machines.device == "neuron" and interface:
        yield Variable(
            "CCOM_SOCKET_IFNAME", interface, "the Neuron collectives meet over it", origin
        )


def _nccl(profile: Mapping[str, Any], machines: MachineFacts) -> Iterator[Variable]:
    origin = "the device (cuda)"
    yield Variable(
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "1",
        "a failed collective ends the process, else others wait",
        origin,
    )
    yield Variable(
        "TORCH_NCCL_ENABLE_MONITORING", "1", "ends a process whose watchdog itself is stuck", origin
    )
    yield Variable("TORCH_FR_BUFFER_SIZE", "20000", _WHO_HUNG, origin)
    yield Variable(
        "TORCH_NCCL_DUMP_ON_TIMEOUT",
        "1",
        "that history is written to a file when a collective times out",
        origin,
    )
    if machines.dumps:
        path = f"{machines.dumps.rstrip('/')}/nccl_trace_rank_"
        yield Variable(
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
            path,
            "where that history goes; the rank is added",
            origin,
        )
    if machines.efa:
        reason = (
            "the log then names the provider; a run that fell back to sockets looks healthy and is"
            " many times slower"
        )
        yield Variable("NCCL_DEBUG", "INFO", reason, _CARDS)
        yield Variable(
            "NCCL_DEBUG_SUBSYS",
            "INIT,NET",
            "only start-up and network lines, which name the provider",
            _CARDS,
        )
    else:
        yield Variable("NCCL_DEBUG", "WARN", "an error comes with its explanation", origin)
    if setting(profile, "train.strategy.name") == "fsdp":
        reason = (
            "gathered layers of uneven size leave holes in the memory pool; segments that grow have"
            " none"
        )
        yield Variable(
            "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", reason, "the strategy (fsdp)"
        )
    machine = machines.instance
    if (
        machine
        and machine.accelerators > 1
        and machines.instance_type.partition(".")[0] in {"g5", "g6"}
    ):
        reason = (
            "these GPUs exchange through host memory, and the copy engines do it about twice as"
            " fast"
        )
        yield Variable(
            "NCCL_SHM_USE_CUDA_MEMCPY", "1", reason, f"the instance type ({machines.instance_type})"
        )


def _efa(machines: MachineFacts) -> Iterator[Variable]:
    """Newer plugins set up EFA themselves; older ones need to be told, and only on machines whose
    GPUs the cards can reach."""
    if not machines.efa:
        return
    yield Variable(
        "FI_EFA_USE_HUGE_PAGE",
        "0",
        "a fork fails with 'Cannot allocate memory' once huge pages run out",
        _CARDS,
    )
    if older(machines.efa_installer, 1, 29, 1) and older(machines.nccl, 2, 19) is False:
        reason = (
            f"with EFA installer {machines.efa_installer}, NCCL {machines.nccl} cannot register"
            " memory (RC:"
            " -22)"
        )
        yield Variable("FI_EFA_SET_CUDA_SYNC_MEMOPS", "0", reason, _CARDS)
    machine = machines.instance
    if not (machine and machine.rdma_read and machine.nvlink):
        return
    plugin = (
        f"aws-ofi-nccl {machines.aws_ofi_nccl}"
        if machines.aws_ofi_nccl
        else f"libfabric {machines.libfabric}"
    )
    if older(machines.aws_ofi_nccl, 1, 7) or (
        not machines.aws_ofi_nccl and older(machines.libfabric, 1, 18)
    ):
        yield Variable(
            "FI_EFA_USE_DEVICE_RDMA", "1", f"{plugin} does not turn it on by itself", _CARDS
        )
    if older(machines.aws_ofi_nccl, 1, 6):
        yield Variable("FI_PROVIDER", "efa", f"{plugin} may choose another provider", _CARDS)
        yield Variable(
            "NCCL_PROTO", "simple", f"{plugin} is not safe with the low-latency protocols", _CARDS
        )


def _neuron(machines: MachineFacts) -> Iterator[Variable]:
    yield Variable(
        "NEURON_RT_RESET_CORES",
        "1",
        "cores that a killed run left busy are taken back",
        "the device (neuron)",
    )
    yield Variable(
        "XLA_TRANSFER_SEED_ASYNC",
        "1",
        "the step does not wait for its random seed",
        "the device (neuron)",
    )
    if machines.efa:
        yield Variable(
            "FI_PROVIDER",
            "efa",
            "the Neuron collectives use what libfabric offers first, which may be TCP",
            _CARDS,
        )
        yield Variable(
            "FI_EFA_USE_DEVICE_RDMA",
            "1",
            "cards and Neuron devices exchange without the host's memory",
            _CARDS,
        )
        yield Variable(
            "FI_EFA_FORK_SAFE",
            "1",
            "data loaders fork; kernels before 5.15 need it, later ones ignore it",
            _CARDS,
        )


def _deepspeed_on_cpu(profile: Mapping[str, Any], machines: MachineFacts) -> bool:
    return machines.device == "cpu" and "deepspeed" in (
        machines.launcher,
        setting(profile, "train.strategy.name"),
    )


def setting(profile: Mapping[str, Any], path: str) -> Any:
    """A value of the profile by its dotted path, None wvalue it does not reach that far."""
    value: Any = profile
    for word in path.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    return value
