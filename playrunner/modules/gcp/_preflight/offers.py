"""Whether the zone is there and has the machines and accelerators that are declared, and GKE the
version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from playrunner.cloud.preflight_findings import Finding, problem
from playrunner.modules.gcp._base import short
from playrunner.modules.gcp._pool import Pool
from playrunner.modules.gcp._preflight.plan import PlannedCluster
from playrunner.text.did_you_mean import nearest

if TYPE_CHECKING:
    from playrunner.run.context import Context


def complaints(ctx: Context, planned: PlannedCluster) -> Iterable[Finding]:
    """All that the zones of the plan lack."""
    known = [
        str(item["name"])
        for item in ctx.gcp.listing("compute", f"projects/{ctx.gcp.project}/zones", "items")
    ]
    location = planned.location or ctx.gcp.zone
    zones = [
        zone
        for zone in known
        if zone == location or (planned.is_regional and zone.rpartition("-")[0] == location)
    ]
    if not zones:
        yield problem(
            f'there is no zone or region "{location}"{_meant(location, known)}; set gcp_zone or'
            " gke_location"
        )
        return
    for pool in planned.pools:
        # A region's pools are in three of its zones, which GKE chooses; one that is wrong in all of
        # them is wrong.
        where = list(pool.locations) or zones
        lacking = [
            finding
            for zone in where[: 1 if not planned.is_regional else None]
            for finding in _lacking(ctx, pool, zone)
        ]
        if lacking and (not planned.is_regional or len(lacking) >= len(where)):
            yield lacking[0]


def version_complaints(ctx: Context, planned: PlannedCluster) -> Iterable[Finding]:
    location = planned.location or ctx.gcp.zone
    if not planned.version or not planned.cluster:
        return
    answer = (
        ctx.gcp.read("container", f"projects/{ctx.gcp.project}/locations/{location}/serverConfig")
        or {}
    )
    valid = [str(version) for version in answer.get("validMasterVersions") or ()]
    if valid and not any(
        version == planned.version
        or version.startswith((f"{planned.version}.", f"{planned.version}-"))
        for version in valid
    ):
        minors = sorted(
            {".".join(version.split(".")[:2]) for version in valid},
            key=lambda version: int(version.split(".")[1]),
        )
        yield problem(
            f"GKE has no Kubernetes {planned.version} in {location}; it has"
            f" {', '.join(minors)}: set gke_version"
        )


def _lacking(ctx: Context, pool: Pool, zone: str) -> Iterable[Finding]:
    project = ctx.gcp.project
    if pool.accelerator:
        offered = {
            item["name"]
            for item in ctx.gcp.listing(
                "compute", f"projects/{project}/zones/{zone}/acceleratorTypes", "items"
            )
        }
        if pool.accelerator not in offered:
            yield problem(
                f"zone {zone} has no {pool.accelerator}, which the pool {pool.name} asks for; zones"
                f" that have it: {_where(ctx, pool.accelerator)}: set gcp_zone"
            )
            return
    if (
        ctx.gcp.read("compute", f"projects/{project}/zones/{zone}/machineTypes/{pool.machine_type}")
        is None
    ):
        kinds = [
            str(item["name"])
            for item in ctx.gcp.listing(
                "compute", f"projects/{project}/zones/{zone}/machineTypes", "items"
            )
        ]
        yield problem(
            f"zone {zone} has no machines of type {pool.machine_type}, which the pool {pool.name}"
            f" asks for{_meant(pool.machine_type, kinds)}"
        )


def _where(ctx: Context, accelerator: str) -> str:
    every = ctx.gcp.listing(
        "compute", f"projects/{ctx.gcp.project}/aggregated/acceleratorTypes", "items"
    )
    zones = sorted(
        {short(item["zone"]) for item in every if item["name"] == accelerator},
        key=lambda zone: (not zone.startswith(ctx.gcp.region), zone),
    )
    return ", ".join(zones[:6]) or "none"


def _meant(word: str, known: list[str]) -> str:
    close = nearest(word, known, 0.7)
    return f"; did you mean {close}?" if close else ""
