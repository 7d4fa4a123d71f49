"""Whether a bandwidth is what it should be: provider and cards, devices, right sums, and the
figures others have."""

from __future__ import annotations

from playrunner.frozen import frozen
from playrunner.training.environment.machine_facts import instance
from playrunner.training.netcheck.perf_table import Measured
from playrunner.training.netcheck.references import GOOD_SHARE, comparable, reference


@frozen
class ExpectedBandwidth:
    """What is known of the machines; what is not is not judged."""

    instance_type: str = ""
    hosts: int = 0
    bus_gbytes: float | None = None  # the inventory's own expectation
    over_nccl: bool = True  # NCCL tells of its provider; gloo has none


@frozen
class Judgement:
    ok: bool
    lines: tuple[str, ...]


def judge_bandwidth(measured: Measured, wanted: ExpectedBandwidth) -> Judgement:
    """What is wrong first; without that, what was found."""
    if not measured.rows:
        return Judgement(
            False, ("nothing was measured: the output has no table; see it in the run's folder",)
        )
    lines = [
        *_ending(measured),
        *_fabric(measured, wanted),
        *_devices(measured, wanted),
        *_figures(measured, wanted),
    ]
    return Judgement(not lines, tuple(lines) or (_good_news(measured, wanted),))


def _ending(measured: Measured) -> list[str]:
    lines = (
        [f"{measured.wrong} wrong values: memory, a card or a driver is broken; look at dmesg"]
        if measured.wrong
        else []
    )
    if measured.out_of_bounds is None:
        lines.append(f"it ended after {measured.rows[-1].bytes} bytes without its last word")
    return lines


def _fabric(measured: Measured, wanted: ExpectedBandwidth) -> list[str]:
    """Without an error a job can run at a hundredth of its bandwidth, when EFA was not asked for or
    not found."""
    kind = instance(wanted.instance_type)
    if not kind or not kind.efa or not wanted.over_nccl or wanted.hosts == 1:
        return []
    if measured.provider != "efa":
        used = measured.provider or measured.transport or "a transport it does not tell of"
        return [
            f"NCCL went over {used} and not over EFA: ask for vpc.amazonaws.com/efa: {kind.efa},"
            " look whether fi_info -p efa finds the cards and the OFI plugin is on the library"
            " path; NCCL_DEBUG=INFO must be set"
        ]
    if measured.cards is not None and measured.cards < kind.efa:
        return [
            f"NCCL found {measured.cards} of the {kind.efa} EFA cards of {wanted.instance_type}"
        ]
    return []


def _devices(measured: Measured, wanted: ExpectedBandwidth) -> list[str]:
    kind = instance(wanted.instance_type)
    lines = []
    if kind and kind.accelerators and wanted.over_nccl:
        lines += [
            f"{host} took part with {count} of the {kind.accelerators} devices of"
            f" {wanted.instance_type}"
            for host, count in sorted(measured.devices.items())
            if count != kind.accelerators
        ]
    if wanted.hosts and measured.devices and len(measured.devices) != wanted.hosts:
        lines.append(
            f"{len(measured.devices)} of {wanted.hosts} nodes took part:"
            f" {', '.join(sorted(measured.devices))}"
        )
    return lines


def _figures(measured: Measured, wanted: ExpectedBandwidth) -> list[str]:
    best = max(row.bus_gbytes for row in measured.rows)
    if wanted.bus_gbytes is not None and best < wanted.bus_gbytes:
        return [f"{best:.2f} GB/s at best, expected {wanted.bus_gbytes:g} GB/s"]
    known = reference(wanted.instance_type)
    row = comparable(measured.rows, known) if known else None
    if known and row and row.bus_gbytes < GOOD_SHARE * known.bus_gbytes:
        return [
            f"{row.bus_gbytes:.1f} GB/s at {row.bytes} bytes; two {wanted.instance_type} have"
            f" {known.bus_gbytes:g} GB/s"
        ]
    return []


def _good_news(measured: Measured, wanted: ExpectedBandwidth) -> str:
    best = max(measured.rows, key=lambda row: row.bus_gbytes)
    known = reference(wanted.instance_type)
    row = comparable(measured.rows, known) if known else None
    text = f"{best.bus_gbytes:.2f} GB/s at {best.bytes} bytes, no wrong values"
    if measured.provider:
        text += f", over {measured.provider}" + (
            f" with {measured.cards} cards" if measured.cards else ""
        )
    if known and row:
        text += f"; {row.bus_gbytes / known.bus_gbytes:.0%} of what others have measured"
    return text + (
        f"; not compared: the reference is at {known.bytes} bytes" if known and not row else ""
    )
