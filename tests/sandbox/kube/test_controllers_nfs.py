"""An NFS server inside the cluster: what pods see of it is what is on its volume, by whatever
address it has now."""

from __future__ import annotations

import pytest

from tests.support.kube.moving import Cluster, Object
from tests.support.until import until

MOUNT = {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}


@pytest.fixture
def served(either: Cluster) -> Cluster:
    """A server on a disk of its own, with the Service `nfs` in front of it."""
    container = {
        "image": "volume-nfs:1",
        "ports": [{"containerPort": 2049}],
        "volumeMounts": [{"name": "disk", "mountPath": "/exports"}],
    }
    disk = {
        "name": "disk",
        "gcePersistentDisk": {"pdName": f"disk-{either.namespace}", "fsType": "ext4"},
    }
    either.create(
        "deployments",
        "nfs",
        spec={"replicas": 1, **either.workload([], container=container, volumes=[disk])},
    )
    _service(either)
    return either


def test_what_is_written_is_on_the_disk_and_not_at_the_address(served: Cluster) -> None:
    before = _address(served)
    served.said(
        "writes", "sh", "-c", "echo kept > /data/file", container=MOUNT, volumes=[_volume(before)]
    )
    served.delete("services", "nfs")
    served.create("services", "decoy", spec={"clusterIP": before, "ports": [{"port": 2049}]})
    _service(served)
    now = _address(served)
    assert now != before
    assert (
        served.said("reads", "cat", "/data/file", container=MOUNT, volumes=[_volume(now)])
        == "kept\n"
    )
    served.pod("stale", "true", container=MOUNT, volumes=[_volume(before)])
    assert "Connection refused" in _failed(served, "stale")


def test_a_mount_is_refused_as_a_server_would(served: Cluster) -> None:
    here = _address(served)
    served.said("writes", "mkdir", "/data/part", container=MOUNT, volumes=[_volume(here)])
    for path in (
        "/part",
        "/exports/part",
    ):  # below the root of what is exported, and by the server's own path
        served.said(
            f"mounts{path.count('/')}", "true", container=MOUNT, volumes=[_volume(here, path)]
        )
    served.pod("missing", "true", container=MOUNT, volumes=[_volume(here, "/nowhere")])
    assert "No such file or directory" in _failed(served, "missing")
    served.pod("nobody", "true", container=MOUNT, volumes=[_volume("10.96.255.254")])
    assert "Connection timed out" in _failed(served, "nobody")


def _service(cluster: Cluster) -> None:
    cluster.create(
        "services", "nfs", spec={"selector": {"app": cluster.namespace}, "ports": [{"port": 2049}]}
    )
    until(
        lambda: cluster.get("endpoints", "nfs") or {},
        lambda found: any(subset.get("addresses") for subset in found.get("subsets") or ()),
    )


def _address(cluster: Cluster) -> str:
    return str((cluster.get("services", "nfs") or {})["spec"]["clusterIP"])


def _volume(server: str, path: str = "/") -> Object:
    return {"name": "v", "nfs": {"server": server, "path": path}}


def _failed(cluster: Cluster, pod: str) -> str:
    """Why it cannot start."""
    return until(lambda: cluster.reasons(pod), lambda told: "FailedMount" in told)["FailedMount"]
