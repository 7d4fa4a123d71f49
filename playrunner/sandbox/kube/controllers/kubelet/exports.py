"""What an NFS server inside the cluster exports: from the address of its Service over its endpoints
to a volume of its pod.

Nothing is served here, so a mount leads to the folder behind that volume; what it needs to work
elsewhere, it needs here too: a Service with this address, a ready pod behind it, and a volume
there.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import PurePosixPath

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import (
    ENDPOINTS,
    PODS,
    SERVICES,
    Object,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.kubelet.folders import NotMounted

PORT = 2049
SERVICE_RANGE = ip_network("10.96.0.0/16")  # of both flavours of the API
_NO_STORAGE = ("configMap", "secret", "projected", "downwardAPI", "nfs")


@dataclass(frozen=True)
class Export:
    """A volume of the server's pod, and the part of it that is mounted."""

    pod: Object
    volume: Object
    part: PurePosixPath


def is_inside(server: str) -> bool:
    """Whether an address is one of the cluster's services; all others are taken for servers
    elsewhere."""
    try:
        return ip_address(server) in SERVICE_RANGE
    except ValueError:  # a name; nodes do not know those of the cluster
        return False


def export_of(context: ControllerContext, server: str, path: str) -> Export:
    """May raise NotMounted, with what mount.nfs would say."""
    service = next(
        (one for one in context.see(SERVICES).all() if one["spec"].get("clusterIP") == server), None
    )
    if service is None:
        raise _failed(server, path, "Connection timed out")
    pod = _server(context, service)
    if pod is None:
        raise _failed(server, path, "Connection refused")
    found = _exported(pod, PurePosixPath(path))
    if found is None:
        raise _failed(server, path, "access denied by server")
    return found


def _server(context: ControllerContext, service: Object) -> Object | None:
    """The first ready pod that answers behind the port of NFS."""
    if PORT not in [port["port"] for port in service["spec"].get("ports") or ()]:
        return None
    endpoints = context.see(ENDPOINTS).get(*key_of(service)) or {}
    ready = [
        one.get("targetRef") or {}
        for subset in endpoints.get("subsets") or ()
        for one in subset.get("addresses") or ()
    ]
    for target in ready:
        pod = context.see(PODS).get(target.get("namespace", ""), target.get("name", ""))
        if pod is not None and uid_of(pod) == target.get("uid"):
            return pod
    return None


def _exported(pod: Object, path: PurePosixPath) -> Export | None:
    """By a path of the server's own, or below what it exports as its root, which is the first
    volume that it mounts."""
    volumes = {
        one["name"]: one
        for one in pod["spec"].get("volumes") or ()
        if not any(kind in one for kind in _NO_STORAGE)
    }
    mounts = [
        (PurePosixPath(mount["mountPath"]), volumes[mount["name"]])
        for container in pod["spec"]["containers"]
        for mount in container.get("volumeMounts") or ()
        if mount["name"] in volumes
    ]
    for place, volume in mounts:
        if path.is_relative_to(place):
            return Export(pod, volume, path.relative_to(place))
    return Export(pod, mounts[0][1], path.relative_to("/")) if mounts else None


def _failed(server: str, path: str, cause: str) -> NotMounted:
    return NotMounted(
        f'MountVolume.SetUp failed for volume "{server}:{path}" : mount failed: exit status 32,'
        f" mount.nfs: {cause}"
    )
