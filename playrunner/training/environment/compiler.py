"""The environment compiler: every variable a launched process gets, decided here, the same for
every launcher.

What this file decides gives way to the profile's `launch.environment`, and that to the inventory's
`train_environment`. Each variable says why it has its value and who asked for it; values that are
known to go wrong together are in quarrels.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from playrunner.errors import BadInput
from playrunner.text.did_you_mean import did_you_mean
from playrunner.training.environment.conflicts import RENAMED, quarrels
from playrunner.training.environment.site import Site, older
from playrunner.training.environment.variable import Variable

__all__ = ["Site", "Variable", "as_json", "compile_environment", "quarrels", "show_environment"]


def compile_environment(
    profile: Mapping[str, Any],
    site: Site,
    given: Mapping[str, str],
    given_origin: Callable[[str], str] | None = None,
    profile_name: str = "",
) -> list[Variable]:
    """All variables of a run, sorted; `given` is the inventory's `train_environment`,
    `given_origin` where a name was written."""
    found = {each.name: each for each in _decided(profile, site)}
    by_profile = (
        f"profile {profile_name}: launch.environment"
        if profile_name
        else "profile: launch.environment"
    )
    by_inventory = given_origin or (lambda name: "inventory: train_environment")
    found = _overlaid(found, _setting(profile, "launch.environment") or {}, lambda name: by_profile)
    found = _overlaid(found, given, by_inventory)
    return [found[name] for name in sorted(found)]


def show_environment(variables: Sequence[Variable], why: str = "") -> str:
    """A table of all variables, or everything about the one named by `why`."""
    if why:
        return _everything_about(_named(variables, why))
    rows = [
        ("variable", "value", "from", "why"),
        *((each.name, each.shown, each.origin, each.reason) for each in variables),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )


def as_json(variables: Iterable[Variable]) -> list[dict[str, Any]]:
    """The same as plain values, secrets hidden."""
    return [
        {
            "name": each.name,
            "value": each.shown,
            "secret": each.secret,
            "reason": each.reason,
            "origin": each.origin,
            "beaten": as_json(each.beaten),
        }
        for each in variables
    ]


def _overlaid(
    below: Mapping[str, Variable], asked: Mapping[str, Any], origin: Callable[[str], str]
) -> dict[str, Variable]:
    """What is asked for put over what was there; a setting with two names is overruled under
    either."""
    other_name = RENAMED | {old: new for new, old in RENAMED.items()}
    found = {name: each for name, each in below.items() if other_name.get(name) not in asked}
    for name, value in asked.items():
        found[name] = _asked(
            name, value, origin(name), below.get(name) or below.get(other_name.get(name, ""))
        )
    return found


def _asked(name: str, value: object, origin: str, loser: Variable | None) -> Variable:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise BadInput(
            f'{origin}: "{name}" cannot be a variable\'s name; write NAME: value, without "export"'
            ' or "="'
        )
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        kind = (
            "nothing"
            if value is None
            else f"{value}"
            if isinstance(value, bool)
            else f"a {type(value).__name__}"
        )
        raise BadInput(
            f"{origin}: {name} is {kind}, which programs read differently; write the text they"
            " should see, in quotes"
        )
    text = str(value)
    if "\n" in text or "\0" in text:
        raise BadInput(
            f"{origin}: {name} has a line break in it, which does not survive every launcher; write"
            " it as one line"
        )
    if loser is None:
        return Variable(name, text, "asked for", origin)
    renamed = "" if loser.name == name else f"{loser.name}="
    verdict = (
        f"as {loser.origin} has it"
        if text == loser.value
        else f"beats {renamed}'{loser.shown}' from {loser.origin}"
    )
    return Variable(name, text, f"asked for; {verdict}", origin, (loser, *loser.beaten))


def _decided(profile: Mapping[str, Any], site: Site) -> Iterator[Variable]:
    yield from _everywhere()
    yield _threads(profile, site)
    yield from _interfaces(site)
    if _deepspeed_on_cpu(profile, site):
        yield Variable(
            "DS_ACCELERATOR",
            "cpu",
            "left to itself DeepSpeed looks for a GPU first",
            "the device (cpu)",
        )
    if site.device == "cpu":
        yield Variable("TORCH_FR_BUFFER_SIZE", "64", _WHO_HUNG, "the device (cpu)")
    if site.device == "cuda":
        yield from _nccl(profile, site)
        yield from _efa(site)
    if site.device == "neuron":
        yield from _neuron(site)


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


def _threads(profile: Mapping[str, Any], site: Site) -> Variable:
    # Loopback nodes are one machine: their processes share its cores.
    processes = site.processes_per_node * (
        int(_setting(profile, "launch.nodes") or 1) if site.loopback else 1
    )
    if site.device == "cpu" and site.cores <= 2 * processes:
        reason = (
            f"{processes} processes on {site.cores} cores: a second thread each makes training"
            " several times slower"
        )
        return Variable("OMP_NUM_THREADS", "1", reason, "cores and processes")
    share = max(1, site.cores // processes)
    return Variable(
        "OMP_NUM_THREADS",
        str(share),
        f"{site.cores} cores shared by {processes} processes",
        "cores and processes",
    )


def _interfaces(site: Site) -> Iterator[Variable]:
    interface = site.interface or ("lo" if site.loopback else "")
    origin = "the loopback nodes" if site.loopback else f"the network interface ({interface})"
    if interface:
        told = "every node is this machine" if site.loopback else "the nodes reach each other by it"
        reason = (
            f"{told}; left alone, gloo takes the address of the host's name, which others may not"
            " reach"
        )
        yield Variable("GLOO_SOCKET_IFNAME", interface, reason, origin)
        yield Variable("TP_SOCKET_IFNAME", interface, "torch's RPC chooses as gloo does", origin)
    if site.device == "cuda" and interface:
        yield Variable(
            "NCCL_SOCKET_IFNAME",
            f"={interface}",
            "the same interface as gloo, by its exact name",
            origin,
        )
    elif site.device == "cuda":
        reason = (
            "the interface is not known: any but loopback, containers' own and the link-local one"
            " of EKS Pod Identity"
        )
        yield Variable("NCCL_SOCKET_IFNAME", "^lo,docker,veth,pod-id-link", reason, "default")
    if site.device == "neuron" and interface:
        yield Variable(
            "CCOM_SOCKET_IFNAME", interface, "the Neuron collectives meet over it", origin
        )


def _nccl(profile: Mapping[str, Any], site: Site) -> Iterator[Variable]:
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
    if site.dumps:
        path = f"{site.dumps.rstrip('/')}/nccl_trace_rank_"
        yield Variable(
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
            path,
            "where that history goes; the rank is added",
            origin,
        )
    if site.efa:
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
    if _setting(profile, "train.strategy.name") == "fsdp" and not _setting(
        profile, "train.fast.cuda_graphs"
    ):
        reason = (
            "gathered layers of uneven size leave holes in the memory pool; segments that grow have"
            " none"
        )
        yield Variable(
            "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", reason, "the strategy (fsdp)"
        )
    machine = site.instance
    if (
        machine
        and machine.accelerators > 1
        and site.instance_type.partition(".")[0] in {"g5", "g6"}
    ):
        reason = (
            "these GPUs exchange through host memory, and the copy engines do it about twice as"
            " fast"
        )
        yield Variable(
            "NCCL_SHM_USE_CUDA_MEMCPY", "1", reason, f"the instance type ({site.instance_type})"
        )


def _efa(site: Site) -> Iterator[Variable]:
    """Newer plugins set up EFA themselves; older ones need to be told, and only on machines whose
    GPUs the cards can reach."""
    if not site.efa:
        return
    yield Variable(
        "FI_EFA_USE_HUGE_PAGE",
        "0",
        "a fork fails with 'Cannot allocate memory' once huge pages run out",
        _CARDS,
    )
    if older(site.efa_installer, 1, 29, 1) and older(site.nccl, 2, 19) is False:
        reason = (
            f"with EFA installer {site.efa_installer}, NCCL {site.nccl} cannot register memory (RC:"
            " -22)"
        )
        yield Variable("FI_EFA_SET_CUDA_SYNC_MEMOPS", "0", reason, _CARDS)
    machine = site.instance
    if not (machine and machine.rdma_read and machine.nvlink):
        return
    plugin = (
        f"aws-ofi-nccl {site.aws_ofi_nccl}" if site.aws_ofi_nccl else f"libfabric {site.libfabric}"
    )
    if older(site.aws_ofi_nccl, 1, 7) or (not site.aws_ofi_nccl and older(site.libfabric, 1, 18)):
        yield Variable(
            "FI_EFA_USE_DEVICE_RDMA", "1", f"{plugin} does not turn it on by itself", _CARDS
        )
    if older(site.aws_ofi_nccl, 1, 6):
        yield Variable("FI_PROVIDER", "efa", f"{plugin} may choose another provider", _CARDS)
        yield Variable(
            "NCCL_PROTO", "simple", f"{plugin} is not safe with the low-latency protocols", _CARDS
        )


def _neuron(site: Site) -> Iterator[Variable]:
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
    if site.efa:
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


def _deepspeed_on_cpu(profile: Mapping[str, Any], site: Site) -> bool:
    return site.device == "cpu" and "deepspeed" in (
        site.launcher,
        _setting(profile, "train.strategy.name"),
    )


def _everything_about(found: Variable) -> str:
    lines = [f"{found.name}={found.shown}", f"  why   {found.reason}", f"  from  {found.origin}"]
    lines += [f"  else  '{each.shown}' from {each.origin}: {each.reason}" for each in found.beaten]
    return "\n".join(lines)


def _named(variables: Sequence[Variable], name: str) -> Variable:
    for each in variables:
        if each.name == name:
            return each
    advice = did_you_mean(
        name.upper(),
        [each.name for each in variables],
        "run train.env without --why for all of them",
    )
    raise BadInput(f'no variable "{name}" is set for this run{advice}')


def _setting(profile: Mapping[str, Any], path: str) -> Any:
    """A value of the profile by its dotted path, None where it does not reach that far."""
    here: Any = profile
    for word in path.split("."):
        here = here.get(word) if isinstance(here, Mapping) else None
    return here


_WHO_HUNG = "each rank's last collectives are kept, to tell who hung"
_CARDS = "the network cards (EFA)"
