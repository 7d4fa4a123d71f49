"""Kubernetes' versions as GKE offers them."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.gcp.messages import GcpError

MASTER = ("1.34.1-gke.1829001", "1.33.5-gke.1162000", "1.32.9-gke.1130000", "1.31.13-gke.1023000")
DEFAULT = MASTER[1]
CHANNELS = {"RAPID": MASTER[0], "REGULAR": MASTER[1], "STABLE": MASTER[2], "EXTENDED": MASTER[2]}


def resolved(requested: str) -> str:
    """The whole version that is meant by `-`, `latest`, `1.33` or all of it."""
    if requested in ("", "-"):
        return DEFAULT
    if requested == "latest":
        return MASTER[0]
    version = next(
        (
            one
            for one in MASTER
            if one == requested or one.startswith((f"{requested}.", f"{requested}-"))
        ),
        None,
    )
    if version is None:
        raise GcpError(400, f'Master version "{requested}" is unsupported.')
    return version


def server_config() -> dict[str, Any]:
    channels = [
        {"channel": name, "defaultVersion": version, "validVersions": list(MASTER)}
        for name, version in CHANNELS.items()
    ]
    return {
        "defaultClusterVersion": DEFAULT,
        "validMasterVersions": list(MASTER),
        "validNodeVersions": list(MASTER),
        "defaultImageType": "COS_CONTAINERD",
        "channels": channels,
        "validImageTypes": ["COS_CONTAINERD", "UBUNTU_CONTAINERD"],
    }
