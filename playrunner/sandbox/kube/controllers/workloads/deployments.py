"""Deployments: a ReplicaSet for each version of the template, the newest growing as the older ones
shrink."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from hashlib import sha256

from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.controller_context import now, seconds_since
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Key,
    Object,
    annotations_of,
    is_leaving,
    labels_of,
    owned,
    uid_of,
)

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"


def template_hash(template: Object) -> str:
    """A short name for what a template says."""
    return sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


class DeploymentController(Controller):
    name = "deployments"

    def watches(self) -> Iterable[Watch]:
        return ((DEPLOYMENTS, by_itself), (REPLICA_SETS, by_owner("Deployment")))

    def reconcile(self, key: Key) -> float | None:
        deployment = self.context.see(DEPLOYMENTS).get(*key)
        if deployment is None or is_leaving(deployment):
            return None
        sets = [
            each
            for each in self.context.see(REPLICA_SETS).owned_by(uid_of(deployment))
            if not is_leaving(each)
        ]
        number = template_hash(deployment["spec"]["template"])
        old = [each for each in sets if labels_of(each).get(HASH) != number]
        new = next((each for each in sets if each not in old), None)
        if deployment["spec"].get("paused") and new is None:
            return None
        new = self._newest(deployment, new, old, number)
        if not deployment["spec"].get("paused"):
            self._roll(deployment, new, old)
        self._forget_old(deployment, old)
        return self._tell(deployment, new, old)

    def _newest(
        self, deployment: Object, new: Object | None, old: list[Object], number: str
    ) -> Object:
        revision = max((int(annotations_of(each).get(REVISION, 0)) for each in old), default=0) + 1
        if new is None:
            new = self.context.create(REPLICA_SETS, _replica_set(deployment, number, revision))
        elif int(annotations_of(new).get(REVISION, 0)) < revision:
            new = self.context.patch(
                REPLICA_SETS, new, {"metadata": {"annotations": {REVISION: str(revision)}}}
            )
        current = annotations_of(new)[REVISION]
        if annotations_of(deployment).get(REVISION) != current:
            self.context.patch(
                DEPLOYMENTS, deployment, {"metadata": {"annotations": {REVISION: current}}}
            )
        return new

    def _roll(self, deployment: Object, new: Object, old: list[Object]) -> None:
        wanted = deployment["spec"].get("replicas", 1)
        strategy = deployment["spec"].get("strategy") or {}
        living = [each for each in old if each["spec"].get("replicas")]
        if strategy.get("type") == "Recreate":
            for each in living:
                self._scale(each, 0)
            if any(self.context.see(PODS).owned_by(uid_of(each)) for each in old):
                return  # each pod that goes changes its set, which brings us back
            self._scale(new, wanted)
            return
        rolling = strategy.get("rollingUpdate") or {}
        surge = _share(rolling.get("maxSurge", "25%"), wanted, math.ceil)
        missing = _share(rolling.get("maxUnavailable", "25%"), wanted, math.floor)
        if not surge and not missing:
            missing = 1
        holding = sum(each["spec"].get("replicas", 0) for each in living)
        self._scale(
            new,
            min(wanted, max(min(new["spec"].get("replicas", 0), wanted), wanted + surge - holding)),
        )
        spare = _available(new) + sum(map(_available, living)) - (wanted - missing)
        for each in living:
            idle = each["spec"]["replicas"] - _available(each)
            fewer = min(each["spec"]["replicas"], idle + max(0, spare))
            spare -= max(0, fewer - idle)
            self._scale(each, each["spec"]["replicas"] - fewer)

    def _scale(self, one: Object, count: int) -> None:
        if one["spec"].get("replicas") != count:
            self.context.patch(REPLICA_SETS, one, {"spec": {"replicas": count}})

    def _forget_old(self, deployment: Object, old: list[Object]) -> None:
        empty = [
            each
            for each in old
            if not each["spec"].get("replicas") and not (each.get("status") or {}).get("replicas")
        ]
        empty.sort(key=lambda each: int(annotations_of(each).get(REVISION, 0)))
        for each in empty[
            : max(0, len(empty) - deployment["spec"].get("revisionHistoryLimit", 10))
        ]:
            self.context.delete(REPLICA_SETS, each)

    def _tell(self, deployment: Object, new: Object, old: list[Object]) -> float | None:
        wanted = deployment["spec"].get("replicas", 1)
        counts = {name: sum((each.get("status") or {}).get(name, 0) for each in (new, *old))
                  for name in ("replicas", "readyReplicas", "availableReplicas")}  # fmt: skip
        counts["updatedReplicas"] = (new.get("status") or {}).get("replicas", 0)
        counts["unavailableReplicas"] = max(
            0, max(wanted, counts["replicas"]) - counts["availableReplicas"]
        )
        before = deployment.get("status") or {}
        moved = any((before.get(name) or 0) != count for name, count in counts.items())
        done = (
            counts["updatedReplicas"] == counts["replicas"] == counts["availableReplicas"] == wanted
        )
        progressing, left = _progressing(deployment, new, done, moved)
        rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
        missing = _share(rolling.get("maxUnavailable", 0), wanted, math.floor)
        enough = counts["availableReplicas"] >= wanted - missing
        available = (
            "Available",
            "True" if enough else "False",
            "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
            f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        )
        conditions = [
            _condition(before, *available, moved=False),
            _condition(before, *progressing, moved=moved),
        ]
        status = {
            **counts,
            "observedGeneration": deployment["metadata"].get("generation", 1),
            "conditions": conditions,
        }
        self.context.patch_status(DEPLOYMENTS, deployment, status)
        return left


def _replica_set(deployment: Object, number: str, revision: int) -> Object:
    labels = {**(deployment["spec"]["template"]["metadata"].get("labels") or {}), HASH: number}
    selector = deployment["spec"]["selector"]
    template = {
        **deployment["spec"]["template"],
        "metadata": {**deployment["spec"]["template"]["metadata"], "labels": labels},
    }
    metadata = {
        "name": f"{deployment['metadata']['name']}-{number}",
        "namespace": deployment["metadata"]["namespace"],
        "labels": labels,
        "annotations": {REVISION: str(revision)},
        "ownerReferences": owned(deployment),
    }
    chosen = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: number}}
    spec = {
        "replicas": 0,
        "selector": chosen,
        "template": template,
        "minReadySeconds": deployment["spec"].get("minReadySeconds", 0),
    }
    return {"metadata": metadata, "spec": spec}


def _progressing(
    deployment: Object, new: Object, done: bool, moved: bool
) -> tuple[tuple[str, str, str, str], float | None]:
    name = new["metadata"]["name"]
    if done:
        return (
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{name}" has successfully progressed.',
        ), None
    conditions = (deployment.get("status") or {}).get("conditions") or ()
    known = next((each for each in conditions if each["type"] == "Progressing"), None)
    patience = float(deployment["spec"].get("progressDeadlineSeconds", 600))
    # A rollout that had ended starts its deadline again.
    fresh = known is None or moved or known["reason"] == "NewReplicaSetAvailable"
    left = patience if fresh or known is None else patience - seconds_since(known["lastUpdateTime"])
    if left <= 0 or (known and known["reason"] == "ProgressDeadlineExceeded" and not moved):
        return (
            "Progressing",
            "False",
            "ProgressDeadlineExceeded",
            f'ReplicaSet "{name}" has timed out progressing.',
        ), None
    return (
        "Progressing",
        "True",
        "ReplicaSetUpdated",
        f'ReplicaSet "{name}" is progressing.',
    ), left + 0.1


def _condition(
    status: Object, kind: str, value: str, reason: str, message: str, *, moved: bool
) -> Object:
    conditions: list[Object] = status.get("conditions") or []
    known = next((one for one in conditions if one["type"] == kind), None)
    same = known is not None and (known["status"], known.get("reason"), known.get("message")) == (
        value,
        reason,
        message,
    )
    if known is not None and same and not moved:
        return known
    since = known["lastTransitionTime"] if known is not None and known["status"] == value else now()
    said = {"type": kind, "status": value, "reason": reason, "message": message}
    return {**said, "lastUpdateTime": now(), "lastTransitionTime": since}


def _share(amount: int | str, whole: int, rounded: Callable[[float], int]) -> int:
    return amount if isinstance(amount, int) else rounded(int(amount.rstrip("%")) * whole / 100)


def _available(one: Object) -> int:
    return int((one.get("status") or {}).get("availableReplicas") or 0)
