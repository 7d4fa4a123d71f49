"""Wait until objects are ready, and explain why they are not when the time is over."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube
from playrunner.kube.client.resource import Resource
from playrunner.kube.objects.manifest import title
from playrunner.kube.objects.set_objects import LiveObject
from playrunner.kube.watch.explain import PODS, selector_of, why
from playrunner.kube.watch.readiness import Readiness, readiness_of
from playrunner.kube.watch.watch import Collection, Objects, key_of, watch_until

CLASSES = Resource("storage.k8s.io/v1", "StorageClass", "storageclasses", False)
# A wait that lasts is told with what the cluster reports: from when on, and how often it is asked
REASON_SECONDS = 10.0


def wait_ready(
    kube: Kube,
    objects: Sequence[LiveObject],
    seconds: float,
    progress: Callable[[str], None],
    give_up_on: Sequence[str] = (),
) -> list[str]:
    """Wait until all of them are ready; the failure says what the cluster reports about the others.

    `give_up_on` are reasons for which a container may be waiting: as soon as one is, the wait ends
    and returns the keys of the workloads whose pods these are.
    """
    waiting = [live for live in objects if not _checked(kube, live.body).ready]
    return _Wait(kube, waiting, give_up_on).run(seconds, progress) if waiting else []


class _Wait:
    """The objects that are waited for, and the collections they are watched in."""

    def __init__(
        self, kube: Kube, waiting: Sequence[LiveObject], give_up_on: Sequence[str]
    ) -> None:
        self.kube, self.give_up_on = kube, give_up_on
        self.watched: dict[Collection, list[LiveObject]] = {}
        counts = Counter((live.resource, live.namespace) for live in waiting)
        for live in waiting:
            alone = counts[live.resource, live.namespace] == 1
            fields = f"metadata.name={live.name}" if alone else ""
            collection = Collection(live.resource, live.namespace, fields=fields)
            self.watched.setdefault(collection, []).append(live)
        self.pods = {
            Collection(PODS, live.namespace, selector): live
            for live in waiting
            if give_up_on and (selector := selector_of(live.body))
        }
        self.unready: list[dict[str, Any]] = []
        self.stuck: list[str] = []
        self.asked_at, self.reasons = time.monotonic(), ""

    def run(self, seconds: float, progress: Callable[[str], None]) -> list[str]:
        collections = [*self.watched, *self.pods]
        missing = watch_until(
            self.kube,
            collections,
            self._missing,
            seconds,
            lambda text: progress(self._with_reasons(text)),
        )
        if missing:
            message = f"not ready within {seconds:g} seconds: {missing}"
            raise Failed(explained(self.kube, message, self.unready))
        return self.stuck

    def _with_reasons(self, text: str) -> str:
        """A wait that cannot end must say why before its time is over."""
        if time.monotonic() - self.asked_at > REASON_SECONDS:
            self.reasons = why(self.kube, self.unready)
            self.asked_at = time.monotonic()
        return f"{text}. {self.reasons}" if self.reasons else text

    def _missing(self, seen: dict[Collection, Objects]) -> str:
        """What is not ready yet; empty ends the wait."""
        self.stuck = [
            live.key
            for pods, live in self.pods.items()
            if any(_is_stuck(pod, live, self.give_up_on) for pod in seen[pods].values())
        ]
        if self.stuck:
            return ""
        self.unready, texts = [], []
        for collection, group in self.watched.items():
            for live in group:
                body = seen[collection].get(key_of(live.body))
                if body is None:
                    self.unready.append(live.body)
                    texts.append(f"{live.title} is gone")
                    continue
                body = {"apiVersion": live.api_version, "kind": live.kind, **body}
                readiness = _checked(self.kube, body)
                if not readiness.ready:
                    self.unready.append(body)
                    texts.append(f"{live.title}: {readiness.missing}")
        return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")


def explained(kube: Kube, message: str, objects: Sequence[dict[str, Any]]) -> str:
    """A failure with what the cluster reports about these objects, or where to look."""
    reasons = why(kube, objects)
    if reasons:
        return f"{message}. {reasons}"
    if not objects:
        return message
    namespace, _, name = title(objects[0]).partition(" ")[2].rpartition("/")
    where = f" -n {namespace}" if namespace else ""
    kind = str(objects[0].get("kind")).lower()
    return f"{message}; see: kubectl describe {kind} {name}{where}"


def _checked(kube: Kube, body: dict[str, Any]) -> Readiness:
    """Whether an object is ready; raises when it never will be."""
    readiness = readiness_of(body)
    if readiness.broken:
        raise Failed(explained(kube, f"{title(body)} {readiness.broken}", [body]))
    return Readiness() if not readiness.ready and _waits_for_a_pod(kube, body) else readiness


def _is_stuck(pod: dict[str, Any], workload: LiveObject, reasons: Sequence[str]) -> bool:
    meta, status = pod.get("metadata") or {}, pod.get("status") or {}
    owners = [
        owner.get("uid")
        for owner in meta.get("ownerReferences") or ()
        if owner.get("kind") == workload.kind
    ]
    if meta.get("deletionTimestamp") or (owners and workload.uid not in owners):
        return False  # terminating, or left by an earlier workload of this name
    return any(
        ((container.get("state") or {}).get("waiting") or {}).get("reason") in reasons
        for kind in ("initContainerStatuses", "containerStatuses")
        for container in status.get(kind) or ()
    )


def _waits_for_a_pod(kube: Kube, body: dict[str, Any]) -> bool:
    """A claim whose class binds with the first pod is as ready as it can be without one."""
    if (
        body.get("kind") != "PersistentVolumeClaim"
        or (body.get("status") or {}).get("phase", "Pending") != "Pending"
    ):
        return False
    name = (body.get("spec") or {}).get("storageClassName")
    storage_class = kube.get(CLASSES, "", name) if name else None
    return bool(storage_class and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer")
