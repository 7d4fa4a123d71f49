"""gcp.preflight: whether a plan can be carried out in Google Cloud, and what it costs by the hour,
before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from playrunner.cloud.preflight_findings import Finding, findings, problem, warning
from playrunner.hostside.module import Failed, Probe
from playrunner.modules.gcp._preflight import offers, quotas
from playrunner.modules.gcp._preflight import plan as _preflight_plan
from playrunner.modules.gcp._preflight.plan import PlannedCluster
from playrunner.project import program

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Preflight(Probe):
    """Asks Google Cloud whether what is declared can be had: the project, its APIs, the zone and
    what it offers, versions, quotas. All problems are reported together, each with its
    remedy."""

    cluster: dict[str, Any] = {}  # name, location, version
    pools: list[Any] = []  # as gcp.gke_nodepool has them
    disks: list[Any] = []  # name, type, size_gib, zone, role
    stored: list[
        Any
    ] = []  # what costs by what is put into it: name, role, what (objects or images)
    prices: dict[str, Any] = {}  # dollars an hour by machine type, before those of the table
    max_hourly: float | None = None  # refuse a plan that may cost more dollars an hour
    project: str = ""  # refuse any other project

    def look(self, ctx: Context) -> dict[str, Any]:
        planned, _ = (
            self.planned(),
            ctx.gcp.project,
        )  # known before questions are asked side by side
        plan = _preflight_plan.priced(planned, self._own_prices())
        reported = [
            *self._identity(ctx),
            *findings(
                {
                    "what the zone offers": lambda: offers.complaints(ctx, planned),
                    "the versions of Kubernetes": lambda: offers.version_complaints(ctx, planned),
                    "the quotas": lambda: quotas.complaints(ctx, planned),
                }
            ),
            *self._too_dear(plan),
            *_elsewhere(ctx, plan),
        ]
        return self._report(ctx, plan, reported)

    def planned(self) -> PlannedCluster:
        """The declaration; what cannot be understood is a failure."""
        try:
            return _preflight_plan.planned_of(self.cluster, self.pools, self.disks, self.stored)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Failed(f"the plan cannot be understood: {error}") from None

    def plan(self) -> list[PlanItem]:
        """What the price table alone says of it."""
        return _preflight_plan.priced(self.planned(), self._own_prices())

    def _own_prices(self) -> dict[str, float]:
        try:
            return {str(kind): float(price) for kind, price in self.prices.items()}
        except (TypeError, ValueError) as error:
            raise Failed(
                f"preflight_prices takes dollars an hour by machine type: {error}"
            ) from None

    def _identity(self, ctx: Context) -> Iterable[Finding]:
        if self.project and ctx.gcp.project != self.project:
            yield problem(
                f"the project is {ctx.gcp.project} and {self.project} is wanted: see gcp_project"
                " and preflight_account"
            )

    def _too_dear(self, plan: Sequence[PlanItem]) -> Iterable[Finding]:
        if self.max_hourly is None:
            return
        if hourly(plan) > self.max_hourly:
            at_most = "at most " * is_at_most(plan)
            yield problem(
                f"the plan costs {at_most}{dollars(hourly(plan))} an hour and max_hourly allows"
                f" {dollars(self.max_hourly)}: choose fewer or smaller machines, or allow more"
                f' ("{program()} cost" shows'
                " what costs what)"
            )
        for thing in unpriced(plan):
            if thing.unlisted:
                yield problem(
                    f"max_hourly cannot be kept, since the price of {thing.thing} is not known:"
                    f" {thing.note}"
                )

    def _report(
        self, ctx: Context, plan: Sequence[PlanItem], reported: Sequence[Finding]
    ) -> dict[str, Any]:
        kinds = {
            kind: [finding.text for finding in reported if finding.kind == kind]
            for kind in ("problem", "unknown", "warning")
        }
        for text in (*kinds["warning"], *kinds["unknown"]):
            ctx.warn(text)
        values = {
            **as_data(plan),
            "project": ctx.gcp.project,
            "region": ctx.gcp.region,
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
        if any(thing.hourly for thing in plan):
            ctx.show(as_table(plan) if ctx.check else in_one_line(plan))
        return {**values, "msg": in_one_line(plan)}


def _elsewhere(ctx: Context, plan: Sequence[PlanItem]) -> Iterable[Finding]:
    if ctx.gcp.region not in price_list.GCP_REGIONS and any(thing.hourly for thing in plan):
        yield warning(
            f"the prices are those of {price_list.GCP_REGIONS[0]}; in {ctx.gcp.region} they differ"
        )
