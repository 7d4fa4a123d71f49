"""One cacheset, one job: two that compile into the same folder at once spoil it for both. A Lease
says who has it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import PODS
from playrunner.project import program
from playrunner.training.kube.job_spec.names import ID
from playrunner.training.request import LaunchRefused

LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases", True)
BEGINNING_SECONDS = 120.0  # from taking it until there must be pods
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def hold(kube: Kube, namespace: str, cacheset: str, run_id: str) -> None:
    """Take it for a run, or refuse; one whose holder has ended is free."""
    if not _NAME.fullmatch(cacheset):
        raise BadInput(f'train_cacheset "{cacheset}": letters, digits, - and _ only')
    kube.refresh()
    lease = kube.get(LEASES, namespace, _name(cacheset))
    try:
        if lease is None:
            kube.call("POST", LEASES.path(namespace), _lease(namespace, cacheset, run_id))
            return
        holder = str(lease["spec"].get("holderIdentity") or "")
        if holder != run_id and _holds(kube, namespace, lease, holder):
            raise _taken(cacheset, holder)
        kube.call(
            "PUT",
            LEASES.path(namespace, _name(cacheset)),
            _lease(namespace, cacheset, run_id, str(lease["metadata"]["resourceVersion"])),
        )
    except KubeError as error:
        if error.status == 409:  # another job was quicker
            raise _taken(cacheset, "another job that begins right now") from None
        raise


def release(kube: Kube, namespace: str, run_id: str) -> None:
    """Whatever a run holds is free."""
    for lease in kube.listing(LEASES, namespace, f"{ID}={run_id}").items:
        kube.delete(
            LEASES, namespace, str(lease["metadata"]["name"]), str(lease["metadata"].get("uid", ""))
        )


def _holds(kube: Kube, namespace: str, lease: dict[str, Any], holder: str) -> bool:
    pods = kube.listing(PODS, namespace, f"{ID}={holder}").items
    if any((pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed") for pod in pods):
        return True
    since = datetime.fromisoformat(str(lease["spec"]["acquireTime"]))
    return not pods and (datetime.now(UTC) - since).total_seconds() < BEGINNING_SECONDS


def _taken(cacheset: str, holder: str) -> LaunchRefused:
    return LaunchRefused(
        f'the cacheset "{cacheset}" is in use by {holder}, and two jobs at once would spoil it:'
        f" wait for it ({program()} train.status), or give this one its own with --extra-vars"
        " train_cacheset=NAME"
    )


def _name(cacheset: str) -> str:
    return f"cacheset-{cacheset.lower().replace('_', '.')}".rstrip("-.")


def _lease(namespace: str, cacheset: str, run_id: str, version: str = "") -> dict[str, Any]:
    meta: dict[str, Any] = {
        "name": _name(cacheset),
        "namespace": namespace,
        "labels": {"app.kubernetes.io/managed-by": "playrunner", ID: run_id},
    }
    if version:
        meta["resourceVersion"] = version
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta,
        "spec": {"holderIdentity": run_id, "acquireTime": now, "renewTime": now},
    }
