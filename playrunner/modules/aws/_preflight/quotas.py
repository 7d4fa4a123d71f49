"""Quotas: how many vCPUs of a family may run, on demand and as spot, against what runs and what is
wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.cloud.preflight_findings import Finding, problem, unknown
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.frozen import frozen
from playrunner.modules.aws._preflight.planned import Machines, PlannedResources
from playrunner.modules.aws._preflight.seen import ObservedAccount, types_of

if TYPE_CHECKING:
    from playrunner.run.context import Context


_OPEN = ("PENDING", "CASE_OPENED")


@frozen
class Family:
    """Instance types that share a quota."""

    name: str
    on_demand: str
    spot: str = ""  # empty: no such quota is known


STANDARD = Family("Standard (A, C, D, H, I, M, R, T, Z)", "L-1216C47A", "L-34B43A08")
_G, _INF = Family("G and VT", "L-DB2E81BA", "L-3819A6DF"), Family("Inf", "L-1945791B", "L-B5D1601B")
_P, _P5 = Family("P", "L-417A185B", "L-7212CCBC"), Family("P", "L-417A185B", "L-C4BD4855")
_BY_LETTERS = {
    "g": _G,
    "gr": _G,
    "vt": _G,
    "p": _P,
    "trn": Family("Trn", "L-2C3B7624", "L-6B0D517C"),
    "inf": _INF,
    "dl": Family("DL", "L-6E869C2A", "L-85EED4F7"),
    "f": Family("F", "L-74FC7D96", "L-88CF9481"),
    "x": Family("X", "L-7295265B", "L-E3A00192"),
    "hpc": Family("HPC", "L-F7808C92"),
}
_STANDARD_LETTERS = ("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z")


def family_of(instance_type: str) -> Family | None:
    """The family that a type is counted in; None when it is not known here."""
    match = re.match(r"([a-z]+)(\d*)", instance_type)
    letters, generation = (match[1], match[2]) if match else ("", "")
    if letters == "p" and generation.startswith("5"):
        return _P5
    if letters in _BY_LETTERS:
        return _BY_LETTERS[letters]
    return STANDARD if letters in _STANDARD_LETTERS else None


@frozen
class Demand:
    """Machines still to be started that count against one quota."""

    code: str  # empty: it is not known which
    family: Family | None
    spot: bool
    machines: list[tuple[Machines, int]]

    @property
    def text(self) -> str:
        return ", ".join(
            f"{count} x {group.type} for {group.name}" for group, count in self.machines
        )


def checks(
    ctx: Context, planned: PlannedResources, seen: ObservedAccount
) -> dict[str, Callable[[], Iterable[Finding]]]:
    """One check for each quota that machines still to be started count against."""

    def check(demand: Demand) -> Callable[[], Iterable[Finding]]:
        return lambda: _enough(ctx, seen, demand)

    return {
        f"the quota {demand.code or 'of machines'}": check(demand)
        for demand in _demands(planned, seen)
    }


def quota(ctx: Context, service: str, code: str) -> float:
    """What the account may have; the default where it never asked for more."""
    missing = ("NoSuchResourceException",)
    answer = ctx.aws.read(
        "service-quotas", "get_service_quota", missing=missing, ServiceCode=service, QuotaCode=code
    )
    answer = answer or ctx.aws.read(
        "service-quotas", "get_aws_default_service_quota", ServiceCode=service, QuotaCode=code
    )
    return float(answer["Quota"]["Value"])


def where_to_ask(ctx: Context, service: str, code: str) -> str:
    return f"https://{ctx.aws.region}.console.aws.amazon.com/servicequotas/home/services/{service}/quotas/{code}"


def how_to_ask(ctx: Context, service: str, code: str, wanted: float) -> str:
    """What is asked for already, or how to ask for more."""
    try:
        history = ctx.aws.read(
            "service-quotas",
            "list_requested_service_quota_change_history_by_quota",
            missing=("NoSuchResourceException",),
            ServiceCode=service,
            QuotaCode=code,
        )
    except (Refused, Unanswered):
        history = None  # a request may be open all the same; asking twice is refused
    for request in (history or {}).get("RequestedQuotas") or ():
        if request["Status"] in _OPEN:
            return (
                f"{request['DesiredValue']:g} were asked for on {request['Created']:%Y-%m-%d}"
                f" ({request['Status']}), see {where_to_ask(ctx, service, code)}"
            )
    return (
        f"ask for more at {where_to_ask(ctx, service, code)} or with: aws service-quotas"
        f" request-service-quota-increase --region {ctx.aws.region} --service-code {service}"
        f" --quota-code {code} --desired-value {wanted:g}"
    )


def _demands(planned: PlannedResources, seen: ObservedAccount) -> Iterable[Demand]:
    demands: dict[str, Demand] = {}
    for group in planned.machines:
        family, missing = family_of(group.type), seen.missing(group)
        code = "" if family is None else family.spot if group.spot else family.on_demand
        if missing and not group.reserved:
            demands.setdefault(code, Demand(code, family, group.spot, [])).machines.append(
                (group, missing)
            )
    return demands.values()


def _enough(ctx: Context, seen: ObservedAccount, demand: Demand) -> Iterable[Finding]:
    code, family = demand.code, demand.family
    if not family or not code:
        yield unknown(f"which quota {demand.text} count against is not known")
        return
    if seen.types is None or seen.instances is None:
        yield unknown(f"whether the quota {code} has room for {demand.text} cannot be known")
        return
    sizes = {name: _vcpus(one) for name, one in seen.types.items()}
    if any(group.type not in sizes for group, _ in demand.machines):
        return  # the offerings report a type that does not exist
    needed = sum(count * sizes[group.type] for group, count in demand.machines)
    used, limit = _used(ctx, seen.instances, code, demand.spot, sizes), quota(ctx, "ec2", code)
    if needed + used > limit:
        yield problem(
            f"{needed} vCPUs of {family.name} {'spot ' * demand.spot}instances are wanted"
            f" ({demand.text}), the quota {code} is {limit:g} and {used} are in use:"
            f" {how_to_ask(ctx, 'ec2', code, needed + used)}, or choose fewer or smaller machines"
        )


def _used(
    ctx: Context, instances: list[dict[str, Any]], code: str, spot: bool, sizes: Mapping[str, int]
) -> int:
    """vCPUs that run and count against this quota."""
    counted = []
    for instance in instances:
        family = family_of(instance["InstanceType"])
        if (
            family
            and (instance.get("InstanceLifecycle") == "spot") == spot
            and code in (family.spot, family.on_demand)
        ):
            counted.append(instance)
    unsized = {
        running["InstanceType"] for running in counted if not running.get("CpuOptions")
    } - set(sizes)
    more = (
        {name: _vcpus(running) for name, running in types_of(ctx, sorted(unsized)).items()}
        if unsized
        else {}
    )
    known = {**sizes, **more}
    return sum(_own_vcpus(running) or known.get(running["InstanceType"], 0) for running in counted)


def _own_vcpus(instance: Mapping[str, Any]) -> int:
    options = instance.get("CpuOptions") or {}
    return int(options.get("CoreCount", 0)) * int(options.get("ThreadsPerCore", 1))


def _vcpus(instance_type: Mapping[str, Any]) -> int:
    return int(instance_type["VCpuInfo"]["DefaultVCpus"])
