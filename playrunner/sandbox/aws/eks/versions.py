"""The Kubernetes versions that EKS takes, with the end of their support (as published in November
2025)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call

DEFAULT = "1.34"
# version: released, end of standard support, end of extended support
VERSIONS = {
    "1.34": ("2025-10-02", "2026-12-02", "2027-12-02"),
    "1.33": ("2025-05-29", "2026-07-29", "2027-07-29"),
    "1.32": ("2025-01-23", "2026-03-23", "2027-03-23"),
    "1.31": ("2024-09-26", "2025-11-26", "2026-11-26"),
    "1.30": ("2024-05-23", "2025-07-23", "2026-07-23"),
    "1.29": ("2024-01-23", "2025-03-23", "2026-03-23"),
}
STANDARD = (
    "1.34",
    "1.33",
    "1.32",
    "1.31",
)  # held still, so that a rehearsal does not depend on the day


def check(version: str) -> str:
    """The version, when EKS would take it."""
    if version not in VERSIONS:
        raise AwsError("InvalidParameterException", f"unsupported Kubernetes version {version}")
    return version


def describe_cluster_versions(call: Call) -> dict[str, Any]:
    wanted = call.params.get("clusterVersions")
    status = call.params.get("status") or call.params.get("versionStatus")
    versions = [_described(version) for version in VERSIONS if not wanted or version in wanted]
    if call.params.get("defaultOnly"):
        versions = [version for version in versions if version["defaultVersion"]]
    return {
        "clusterVersions": [
            version
            for version in versions
            if not status or status in (version["status"], version["versionStatus"])
        ]
    }


def _described(version: str) -> dict[str, Any]:
    released, standard, extended = (
        datetime.fromisoformat(day).replace(tzinfo=UTC) for day in VERSIONS[version]
    )
    support = "standard" if version in STANDARD else "extended"
    return {
        "clusterVersion": version,
        "clusterType": "eks",
        "defaultPlatformVersion": "eks.1",
        "defaultVersion": version == DEFAULT,
        "releaseDate": released,
        "endOfStandardSupportDate": standard,
        "endOfExtendedSupportDate": extended,
        "status": f"{support}-support",
        "versionStatus": f"{support.upper()}_SUPPORT",
        "kubernetesPatchVersion": f"{version}.1",
    }
