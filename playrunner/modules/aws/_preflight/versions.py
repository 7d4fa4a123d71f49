"""Versions of Kubernetes: whether EKS still takes one, and whether it costs extra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.cloud.preflight_findings import Finding, problem, warning
from playrunner.modules.aws._preflight.planned import Cluster

if TYPE_CHECKING:
    from playrunner.run.context import Context

_EXTENDED = "EXTENDED_SUPPORT"


def offered(ctx: Context) -> dict[str, dict[str, Any]]:
    """Every version that a cluster can be made with."""
    versions = ctx.aws.read("eks", "describe_cluster_versions")["clusterVersions"]
    return {
        str(version["clusterVersion"]): version
        for version in versions
        if _status(version) != "UNSUPPORTED"
    }


def in_extended_support(cluster: Cluster, versions: Mapping[str, Mapping[str, Any]]) -> bool:
    return _status(versions.get(cluster.version, {})) == _EXTENDED


def complaints(cluster: Cluster, versions: Mapping[str, Mapping[str, Any]]) -> Iterable[Finding]:
    if not cluster.version or not versions:
        return
    newest = sorted(versions, key=_number, reverse=True)
    standard = [version for version in newest if _status(versions[version]) != _EXTENDED]
    if cluster.version not in versions:
        yield problem(
            f"Kubernetes {cluster.version} is wanted for {cluster.name}, and EKS has"
            f" {', '.join(newest)}: choose one of"
            f" these{f', best {standard[0]}' if standard else ''}"
        )
    elif in_extended_support(cluster, versions):
        yield warning(
            f"Kubernetes {cluster.version} of {cluster.name} is out of standard support and costs"
            f" six times as much for the control plane: {', '.join(standard)} are not"
        )


def _status(version: Mapping[str, Any]) -> str:
    return (
        str(version.get("versionStatus") or version.get("status") or "").upper().replace("-", "_")
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
