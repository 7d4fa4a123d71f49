"""Google's cluster with Kubernetes in it: the NFS server and its address, and a pool of GPUs that
comes and goes with pods."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "google.auth", reason='Google Cloud needs google-auth: pip install "playrunner[gcp]"'
)

from playrunner.sandbox.kube.process import process as kube_process
from tests.support.aws.cli import Operator
from tests.support.gcp.role_stage import moving_gcp, written  # noqa: F401
from tests.support.gcp.sandbox import PretendGcp
from tests.support.kube.module_stage import Api
from tests.support.until import until

PATIENCE_SECONDS = 90
PODS = "/api/v1/namespaces/default/pods"
GPU_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "needs-gpus"},
    "spec": {
        "restartPolicy": "Never",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [
            {
                "name": "main",
                "image": "trainer",
                "command": ["sleep", "600"],
                "resources": {"limits": {"nvidia.com/gpu": 8}},
            }
        ],
    },
}


def test_from_nothing_to_a_trainers_cluster_and_back(
    moving_gcp: PretendGcp, tmp_path: Path
) -> None:
    gcp, inventory = moving_gcp, written(moving_gcp, tmp_path, nfs_disk="pd-tutorial")
    api = Api(kube_process.kubeconfig_file(gcp.root))
    until(
        lambda: gcp.control("GET", "settings")["gke_endpoint"], bool
    )  # from now on clusters lead to the API
    operator = Operator(gcp, tmp_path, ("gke", str(inventory)))  # type: ignore[arg-type]
    for verb in ("gke.create", "nfs.create"):
        assert "failed" not in operator.results(verb).values()
        again = operator.results(verb)
        assert "changed" not in again.values(), again
    (disk,) = gcp.gcloud("compute", "disks", "list")
    assert (disk["name"], disk["sizeGb"], disk["type"].rpartition("/")[2]) == (
        "pd-tutorial",
        "1000",
        "pd-ssd",
    )
    _the_context_lets_kubectl_in(tmp_path)
    _a_new_address_is_followed(operator, api, disk)
    _gpus_come_and_go(gcp, api)
    gone = operator.invoke("teardown", "--yes")
    assert gone.code == 0, gone.out + gone.err
    assert gcp.everything() == {}


def _the_context_lets_kubectl_in(home: Path) -> None:
    """The token that kubectl asks us for is one that the cluster takes."""
    ran = subprocess.run(
        ["kubectl", "--kubeconfig", str(home / "kubeconfig"), "get", "nodes", "-o", "name"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert ran.returncode == 0 and ran.stdout.count("node/gke-drill-main-") == 2, ran.stderr


def _a_new_address_is_followed(operator: Operator, api: Api, disk: dict[str, Any]) -> None:
    """A Service that was made anew has another address, and the volume is brought to it; what pods
    wrote is still there."""
    service = "/api/v1/namespaces/default/services"
    before = api.get(f"{service}/nfs-server")["spec"]["clusterIP"]
    assert (
        _said(api, "writes", "echo step 500 > /data/checkpoint; cat /data/checkpoint")
        == "step 500\n"
    )
    api.call("DELETE", f"{service}/nfs-server")
    # Whoever takes the old address meanwhile.
    taken = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "decoy"},
        "spec": {"clusterIP": before, "ports": [{"port": 80}]},
    }
    until(lambda: api.call("POST", service, taken)["kind"], lambda kind: kind == "Service")
    _cannot_mount(api, f"{before}:/")
    mended = operator.results("nfs.create")
    assert mended["nfs : nfs volume"] == "changed" and mended["nfs : nfs disk"] == "ok"
    now = api.get(f"{service}/nfs-server")["spec"]["clusterIP"]
    volume = api.get("/api/v1/persistentvolumes/pv-tutorial")
    assert now != before and volume["spec"]["nfs"]["server"] == now
    assert _said(api, "reads", "cat /data/checkpoint") == "step 500\n"
    assert [one["id"] for one in operator.aws.gcloud("compute", "disks", "list")] == [disk["id"]]
    assert "changed" not in operator.results("nfs.create").values()


def _pod(api: Api, name: str, script: str) -> None:
    """One that mounts the claim at /data."""
    container = {
        "name": "main",
        "image": "trainer",
        "command": ["sh", "-c", script],
        "volumeMounts": [{"name": "nfs", "mountPath": "/data"}],
    }
    volumes = [{"name": "nfs", "persistentVolumeClaim": {"claimName": "pvc-tutorial"}}]
    made = api.call(
        "POST",
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [container], "volumes": volumes},
        },
    )
    assert made["kind"] == "Pod", made


def _said(api: Api, name: str, script: str) -> str:
    """By a pod of its own, which is gone afterwards."""
    _pod(api, name, script)
    until(
        lambda: api.get(f"{PODS}/{name}")["status"].get("phase"),
        lambda phase: phase in ("Succeeded", "Failed"),
    )
    text = str(api.call("GET", f"{PODS}/{name}/log")["message"])
    _gone(api, name)
    return text


def _cannot_mount(api: Api, source: str) -> None:
    """A pod that comes while the volume names an address behind which is no NFS server does not
    start, and says why."""
    _pod(api, "stuck", "cat /data/checkpoint")
    events = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=stuck"
    told = until(
        lambda: [
            one["message"] for one in api.get(events)["items"] if one["reason"] == "FailedMount"
        ],
        bool,
    )
    assert source in told[0] and "mount.nfs" in told[0]
    _gone(api, "stuck")


def _gone(api: Api, name: str) -> None:
    api.call("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    until(lambda: api.get(f"{PODS}/{name}"), lambda pod: pod is None)


def _gpus_come_and_go(gcp: PretendGcp, api: Api) -> None:
    """A pool at nothing grows for a pod that waits for GPUs, and shrinks when nobody needs it."""

    def machines() -> int:
        return len(
            next(
                one["nodes"]
                for one in gcp.control("GET", "pools")["pools"]
                if one["pool"] == "pool-1"
            )
        )

    def phase() -> str:
        return str((api.get(f"{PODS}/needs-gpus") or {}).get("status", {}).get("phase"))

    gcp.control("POST", "settings", {"idle_seconds": 1.0})
    assert machines() == 0
    api.call("POST", PODS, GPU_POD)
    until(phase, lambda found: found == "Running")
    assert machines() == 1
    api.call("DELETE", f"{PODS}/needs-gpus?gracePeriodSeconds=0")
    until(machines, lambda count: count == 0)
