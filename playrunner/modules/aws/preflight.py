"""aws.preflight: whether a plan can be carried out, and what it costs by the hour, before anything
is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from playrunner.cloud import prices as price_list
from playrunner.cloud.costs import (
    PlanItem,
    as_data,
    as_table,
    dollars,
    hourly,
    in_one_line,
    is_at_most,
    unpriced,
)
from playrunner.cloud.preflight_findings import Finding, answers, findings, problem, warning
from playrunner.errors import RunRefused
from playrunner.hostside.module import Failed, Probe
from playrunner.modules.aws._ec2_rules import WORLD
from playrunner.modules.aws._preflight import (
    network as _preflight_network,
)
from playrunner.modules.aws._preflight import (
    offerings,
    quotas,
    rights,
    schemas,
)
from playrunner.modules.aws._preflight import (
    versions as _preflight_versions,
)
from playrunner.modules.aws._preflight.plan import Knowledge, priced
from playrunner.modules.aws._preflight.planned import (
    Cluster,
    PlannedResources,
    Stored,
    cluster_of,
    lustre_of,
    machines_of,
    network_of,
    node_group_of,
)
from playrunner.modules.aws._preflight.seen import ObservedAccount, look_around
from playrunner.modules.aws._preflight.spot import spot_prices
from playrunner.project import program

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Preflight(Probe):
    """Asks AWS, in seconds and all at once, whether what is declared can be had: the caller and its
    permissions, zones and what they offer, quotas, addresses, versions. All problems are reported
    together, each with its remedy."""

    cluster: dict[str, Any] = {}  # the control plane: name, version
    node_groups: list[
        Any
    ] = []  # name, instance_types, desired_size or min_size, capacity_type, disk_gib, zones
    node_defaults: dict[
        str, Any
    ] = {}  # what holds for every node group that does not say otherwise; also cluster, its name
    machines: list[
        Any
    ] = []  # those that stand alone: name, type, disk_gib, zones, public_addresses
    network: dict[
        str, Any
    ] = {}  # vpc_id and subnet_ids of one that is there, else nat_gateways, endpoint_interfaces
    lustre: list[Any] = []  # name, deployment, throughput_per_tib, capacity_gib
    stored: list[
        Any
    ] = []  # what costs by what is put into it: name, role, what (efs, images or objects)
    prices: dict[str, Any] = {}  # dollars an hour by instance type, before those of the table
    max_hourly: float | None = None  # refuse a plan that costs more dollars an hour
    cost_limit: float | None = None  # ask before a plan that costs more dollars an hour is begun
    account: str = ""  # refuse any other account
    # Structured variables by name, as roles take them: unknown keys, wrong types and what does not
    # go together are refused
    declared: dict[str, Any] = {}

    def look(self, ctx: Context) -> dict[str, Any]:
        self._refuse_malformed(ctx)
        planned = self.planned()
        seen, reported = look_around(ctx, planned)
        learnt, refused = answers(
            {
                "the spot prices": lambda: spot_prices(ctx, planned),
                "the versions of Kubernetes": lambda: (
                    _preflight_versions.offered(ctx) if planned.cluster else {}
                ),
                "the rest": lambda: findings(self._checks(ctx, planned, seen)),
            }
        )
        versions = learnt.get("the versions of Kubernetes", {})
        known = Knowledge(
            self._own_prices(),
            learnt.get("the spot prices", {}),
            bool(
                planned.cluster
                and _preflight_versions.in_extended_support(planned.cluster, versions)
            ),
        )
        plan = priced(planned, known)
        reported = [
            *self._identity(seen),
            *reported,
            *refused,
            *learnt.get("the rest", ()),
            *(_preflight_versions.complaints(planned.cluster, versions) if planned.cluster else ()),
            *self._too_dear(plan),
            *_elsewhere(ctx, plan),
        ]
        return self._report(ctx, seen, planned, plan, reported)

    def _refuse_malformed(self, ctx: Context) -> None:
        wrong = list(schemas.complaints(self.declared))
        if wrong:
            place = ctx.scope.origin(wrong[0][0])
            raise RunRefused("; ".join(f"{name}: {text}" for name, text in wrong), place)

    def planned(self) -> PlannedResources:
        """The declaration; what cannot be understood is a failure."""
        try:
            cluster = cluster_of(self.cluster)
            groups = [
                node_group_of({**self.node_defaults, **given}, cluster)
                for given in self.node_groups
            ]
            alone = [
                machines_of(given, str(given.get("role") or "jumphost")) for given in self.machines
            ]
            return PlannedResources(
                cluster,
                (*groups, *alone),
                network_of(self.network),
                tuple(map(lustre_of, self.lustre)),
                tuple(_stored(given) for given in self.stored),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Failed(f"the plan cannot be understood: {error}") from None

    def plan(self) -> list[PlanItem]:
        """What the price table alone says of it."""
        return priced(self.planned(), Knowledge(self._own_prices()))

    def _checks(
        self, ctx: Context, planned: PlannedResources, seen: ObservedAccount
    ) -> dict[str, Callable[[], Iterable[Finding]]]:
        return {
            "what the zones offer": lambda: offerings.missing_offers(ctx, planned, seen),
            **quotas.checks(ctx, planned, seen),
            **_preflight_network.checks(ctx, planned, seen),
            **rights.checks(ctx, planned, seen),
        }

    def _own_prices(self) -> dict[str, float]:
        try:
            return {str(kind): float(price) for kind, price in self.prices.items()}
        except (TypeError, ValueError) as error:
            raise Failed(
                f"preflight_prices takes dollars an hour by instance type: {error}"
            ) from None

    def _identity(self, seen: ObservedAccount) -> Iterable[Finding]:
        if self.account and str(seen.identity["Account"]) != self.account:
            yield problem(
                f"the account is {seen.identity['Account']} ({seen.identity['Arn']}) and"
                f" {self.account} is wanted: see aws_profile and preflight_account"
            )

    def _too_dear(self, plan: Sequence[PlanItem]) -> Iterable[Finding]:
        if self.max_hourly is None:
            return
        cost = hourly(plan)
        if cost > self.max_hourly:
            at_most = "at most " * is_at_most(plan)
            yield problem(
                f"the plan costs {at_most}{dollars(cost)} an hour and max_hourly allows"
                f" {dollars(self.max_hourly)}: choose fewer or smaller machines, or allow more"
                f' ("{program()} cost" shows what costs what)'
            )
        for thing in unpriced(plan):
            if thing.unlisted:
                yield problem(
                    f"max_hourly cannot be kept, since the price of {thing.thing} is not known:"
                    f" {thing.note}"
                )

    def _ask_about(self, ctx: Context, plan: Sequence[PlanItem]) -> None:
        cost = hourly(plan)
        if self.cost_limit is None or cost <= self.cost_limit:
            return
        text = (
            f"the plan costs {dollars(cost)} an hour, more than cost_limit"
            f" ({dollars(self.cost_limit)})"
        )
        if not sys.stdin.isatty():
            raise Failed(f"{text}, and there is no terminal to ask on; raise cost_limit to go on")
        if ctx.ask(f"{text}; create it all the same? [y/N]", True).strip().lower() not in (
            "y",
            "yes",
        ):
            raise Failed(f"{text}: nothing was made")

    def _report(
        self,
        ctx: Context,
        seen: ObservedAccount,
        planned: PlannedResources,
        plan: Sequence[PlanItem],
        reported: Sequence[Finding],
    ) -> dict[str, Any]:
        kinds = {
            kind: [finding.text for finding in reported if finding.kind == kind]
            for kind in ("problem", "unknown", "warning")
        }
        for text in (*kinds["warning"], *kinds["unknown"]):
            ctx.warn(text)
        values = {
            **as_data(plan),
            "account": seen.identity["Account"],
            "arn": seen.identity["Arn"],
            "region": ctx.aws.region,
            "zones": list(seen.zones or ()),
            "problems": kinds["problem"],
            "not_known": kinds["unknown"],
        }
        if kinds["problem"]:
            many = len(kinds["problem"])
            raise Failed(
                "\n".join(
                    kinds["problem"]
                    if many == 1
                    else [
                        f"{many} problems:",
                        *(f"- {text}" for text in kinds["problem"]),
                    ]
                ),
                **values,
            )
        creates = seen.our_networks == 0 or any(seen.missing(group) for group in planned.machines)
        ctx.show(f"account {values['account']}, {values['arn']}, {values['region']}")
        if (creates or ctx.check) and planned.cluster:
            for text in _openness(planned.cluster):
                ctx.show(text)
        if creates and not ctx.check:
            self._ask_about(ctx, plan)
        if any(thing.hourly for thing in plan):
            ctx.show(as_table(plan) if creates or ctx.check else in_one_line(plan))
        return {**values, "msg": in_one_line(plan)}


def _stored(given: Any) -> Stored:
    what = str(given["what"])
    return Stored(
        str(given["name"]), str(given.get("role") or what), _STORED[what][0], _STORED[what][1]
    )


def _openness(cluster: Cluster) -> Iterable[str]:
    if {*cluster.open_to} & {*WORLD}:
        yield (
            f"the API of {cluster.name} can be reached from the whole internet (it still wants"
            " credentials), and pods can ask their node's metadata service: eks_closed: true closes"
            " both, eks_public_cidrs names who may reach the API"
        )


def _elsewhere(ctx: Context, plan: Sequence[PlanItem]) -> Iterable[Finding]:
    if ctx.aws.region not in price_list.REGIONS and any(thing.hourly for thing in plan):
        yield warning(
            f"the prices are those of {' and '.join(price_list.REGIONS)}; in {ctx.aws.region} they"
            " differ"
        )


_STORED = {
    "efs": ("file system", price_list.EFS_GIB["regional"]),
    "images": ("repository", price_list.IMAGE_GIB),
    "objects": ("bucket", price_list.BUCKET_GIB),
}
