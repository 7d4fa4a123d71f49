"""Whether the zone is there and has the machines and accelerators that are declared, and GKE the
version."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from playrunner.cloud.preflight_findings import Finding, problem
from playrunner.modules.gcp._base import short
from playrunner.modules.gcp._pool import Pool
from playrunner.modules.gcp._preflight.plan import Wish


def complaints(ctx: Any, wish: Wish) -> Iterable[Finding]:
    """All that the zones of the plan lack."""
    known = [
        str(one["name"])
        for one in ctx.gcp.listing("compute", f"projects/{ctx.gcp.project}/zones", "items")
    ]
    location = wish.location or ctx.gcp.zone
    zones = [
        zone
        for zone in known
        if zone == location or (wish.is_regional and zone.rpartition("-")[0] == location)
    ]
    if not zones:
        yield problem(
            f'there is no zone or region "{location}"{_meant(location, known)}; set gcp_zone or'
            " gke_location"
        )
        return
    for pool in wish.pools:
        # A region's pools are in three of its zones, which GKE chooses; one that is wrong in all of
        # them is wrong.
        where = list(pool.locations) or zones
        lacking = [
            found
            for zone in where[: 1 if not wish.is_regional else None]
            for found in _lacking(ctx, pool, zone)
        ]
        if lacking and (not wish.is_regional or len(lacking) >= len(where)):
            yield lacking[0]


def version_complaints(ctx: Any, wish: Wish) -> Iterable[Finding]:
    location = wish.location or ctx.gcp.zone
    if not wish.version or not wish.cluster:
        return
    said = (
        ctx.gcp.read("container", f"projects/{ctx.gcp.project}/locations/{location}/serverConfig")
        or {}
    )
    valid = [str(one) for one in said.get("validMasterVersions") or ()]
    if valid and not any(
        one == wish.version or one.startswith((f"{wish.version}.", f"{wish.version}-"))
        for one in valid
    ):
        minors = sorted(
            {".".join(one.split(".")[:2]) for one in valid}, key=lambda one: int(one.split(".")[1])
        )
        yield problem(
            f"GKE has no Kubernetes {wish.version} in {location}; it has {', '.join(minors)}: set"
            " gke_version"
        )


def _lacking(ctx: Any, pool: Pool, zone: str) -> Iterable[Finding]:
    project = ctx.gcp.project
    if pool.accelerator:
        here = {
            one["name"]
            for one in ctx.gcp.listing(
                "compute", f"projects/{project}/zones/{zone}/acceleratorTypes", "items"
            )
        }
        if pool.accelerator not in here:
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
            str(one["name"])
            for one in ctx.gcp.listing(
                "compute", f"projects/{project}/zones/{zone}/machineTypes", "items"
            )
        ]
        yield problem(
            f"zone {zone} has no machines of type {pool.machine_type}, which the pool {pool.name}"
            f" asks for{_meant(pool.machine_type, kinds)}"
        )


def _where(ctx: Any, accelerator: str) -> str:
    every = ctx.gcp.listing(
        "compute", f"projects/{ctx.gcp.project}/aggregated/acceleratorTypes", "items"
    )
    zones = sorted(
        {short(one["zone"]) for one in every if one["name"] == accelerator},
        key=lambda zone: (not zone.startswith(ctx.gcp.region), zone),
    )
    return ", ".join(zones[:6]) or "none"


def _meant(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""
