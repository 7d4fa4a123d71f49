"""Wait for objects until they are ready, and when they do not come, say why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube
from playrunner.kube.client.resource import Resource
from playrunner.kube.objects.applyset import Live
from playrunner.kube.objects.manifest import title
from playrunner.kube.watch.explain import PODS, selector_of, why
from playrunner.kube.watch.readiness import verdict
from playrunner.kube.watch.watch import Collection, Objects, key_of, watch_until

CLASSES = Resource("storage.k8s.io/v1", "StorageClass", "storageclasses", False)


def unready(kube: Kube, things: Sequence[Live]) -> list[Live]:
    """Those that are still on their way; one that will never come is an error."""
    found = []
    for one in things:
        said = verdict(one.thing)
        if said.broken:
            raise Failed(explained(kube, f"{one.title} {said.broken}", [one.thing]))
        if not said.ready and not _waits_for_a_pod(kube, one.thing):
            found.append(one)
    return found


def wait_ready(
    kube: Kube,
    things: Sequence[Live],
    seconds: float,
    progress: Callable[[str], None],
    hopeless: Sequence[str] = (),
) -> list[str]:
    """Until all of them are ready; a failure tells what the cluster says about those that are not.

    With `hopeless`, reasons for which a pod may be held up, it ends as soon as one is, and says
    whose pods those are.
    """
    waiting = unready(kube, things)
    if not waiting:
        return []
    homes: dict[Collection, list[Live]] = {}
    alone = {(one.resource, one.namespace): 0 for one in waiting}
    for one in waiting:
        alone[one.resource, one.namespace] += 1
    for one in waiting:
        fields = f"metadata.name={one.name}" if alone[one.resource, one.namespace] == 1 else ""
        homes.setdefault(Collection(one.resource, one.namespace, fields=fields), []).append(one)
    left: list[dict[str, Any]] = []
    pods = {
        Collection(PODS, one.namespace, chosen): one
        for one in waiting
        if hopeless and (chosen := selector_of(one.thing))
    }
    held: list[str] = []

    def judge(seen: dict[Collection, Objects]) -> str:
        left.clear()
        held[:] = [
            one.key
            for home, one in pods.items()
            if any(_held(pod, one, hopeless) for pod in seen[home].values())
        ]
        if held:
            return ""
        texts = []
        for home, group in homes.items():
            for one in group:
                thing = seen[home].get(key_of(one.thing))
                if thing is None:
                    left.append(one.thing)
                    texts.append(f"{one.title} is gone")
                    continue
                thing = {"apiVersion": one.api_version, "kind": one.kind, **thing}
                said = verdict(thing)
                if said.broken:
                    raise Failed(explained(kube, f"{one.title} {said.broken}", [thing]))
                if not said.ready and not _waits_for_a_pod(kube, thing):
                    left.append(thing)
                    texts.append(f"{one.title}: {said.missing}")
        return _listed(texts)

    missing = watch_until(kube, [*homes, *pods], judge, seconds, progress)
    if missing:
        raise Failed(explained(kube, f"not ready within {seconds:g} seconds: {missing}", left))
    return held


def explained(kube: Kube, message: str, things: Sequence[dict[str, Any]]) -> str:
    """A failure with what the cluster says about these, or where to look when it says nothing."""
    reasons = why(kube, things)
    if reasons:
        return f"{message}. {reasons}"
    see = title(things[0]).partition(" ")[2].rpartition("/") if things else ("", "", "")
    where = f" -n {see[0]}" if see[0] else ""
    return (
        f"{message}; see: kubectl describe {str(things[0].get('kind')).lower()} {see[2]}{where}"
        if things
        else message
    )


def _held(pod: dict[str, Any], workload: Live, reasons: Sequence[str]) -> bool:
    meta, status = pod.get("metadata") or {}, pod.get("status") or {}
    owners = [
        owner.get("uid")
        for owner in meta.get("ownerReferences") or ()
        if owner.get("kind") == workload.kind
    ]
    if meta.get("deletionTimestamp") or (
        owners and workload.thing["metadata"].get("uid") not in owners
    ):
        return False  # on its way out, or left by the workload that was there before
    return any(
        ((container.get("state") or {}).get("waiting") or {}).get("reason") in reasons
        for kind in ("initContainerStatuses", "containerStatuses")
        for container in status.get(kind) or ()
    )


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")


def _waits_for_a_pod(kube: Kube, thing: dict[str, Any]) -> bool:
    """A claim of a class that binds with the first pod is as ready as it can be without one."""
    if (
        thing.get("kind") != "PersistentVolumeClaim"
        or (thing.get("status") or {}).get("phase", "Pending") != "Pending"
    ):
        return False
    name = (thing.get("spec") or {}).get("storageClassName")
    chosen = kube.get(CLASSES, "", name) if name else None
    return bool(chosen) and (chosen or {}).get("volumeBindingMode") == "WaitForFirstConsumer"
