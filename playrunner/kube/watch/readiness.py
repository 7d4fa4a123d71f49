"""What ready means, kind by kind: from an object as the API server shows it to its readiness. No
request is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playrunner.frozen import frozen

KubeObject = Mapping[str, Any]


@frozen
class Readiness:
    """Ready when nothing is missing; broken when it will never be."""

    missing: str = ""
    broken: str = ""

    @property
    def ready(self) -> bool:
        return not self.missing and not self.broken


READY = Readiness()


def readiness_of(thing: KubeObject) -> Readiness:
    """The readiness of an object; a kind without a rule is ready once it exists."""
    if (thing.get("metadata") or {}).get("deletionTimestamp"):
        return Readiness("is being deleted")
    judge = _KINDS.get(str(thing.get("kind")))
    return judge(thing) if judge else READY


def condition(thing: KubeObject, wanted: str) -> Readiness:
    """A condition by name (`Available`), or with its expected status (`Progressing=False`)."""
    name, _, status = wanted.partition("=")
    current = conditions(thing).get(name)
    if current is None:
        return Readiness(f"has no condition {name} yet")
    if str(current.get("status")).lower() == (status or "True").lower():
        return READY
    return Readiness(f"{name} is {current.get('status')}{_because(current)}")


def conditions(thing: KubeObject) -> dict[str, KubeObject]:
    return {str(one.get("type")): one for one in _status(thing).get("conditions") or ()}


def allocatable(node: KubeObject, device: str) -> int:
    """How many of a device (nvidia.com/gpu) a node has for pods."""
    told = (_status(node).get("allocatable") or {}).get(device, 0)
    try:
        return int(str(told))
    except ValueError:
        return 0


def addresses(thing: KubeObject) -> int:
    """The number of ready addresses in an Endpoints object or an EndpointSlice."""
    if thing.get("kind") == "EndpointSlice":
        return sum(
            len(one.get("addresses") or ())
            for one in thing.get("endpoints") or ()
            if (one.get("conditions") or {}).get("ready") is not False
        )
    return sum(len(subset.get("addresses") or ()) for subset in thing.get("subsets") or ())


def _deployment(thing: KubeObject) -> Readiness:
    status, replicas = _status(thing), _number(_spec(thing).get("replicas"), 1)
    progressing = conditions(thing).get("Progressing") or {}
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Readiness(
            "makes no progress", f"made no progress in its time{_because(progressing)}"
        )
    updated, available = (
        _number(status.get("updatedReplicas")),
        _number(status.get("availableReplicas")),
    )
    refused = _refused(thing)
    if not _seen(thing) or updated < replicas:
        return Readiness(f"{updated} of {replicas} pods are of the newest kind{refused}")
    if _number(status.get("replicas")) > updated:
        return Readiness(
            f"{_number(status.get('replicas')) - updated} old pods are still terminating"
        )
    enough = _enough(available, replicas, "available")
    return enough if enough.ready else Readiness(f"{enough.missing}{refused}")


def _refused(thing: KubeObject) -> str:
    """What the rule says that does not let its pods be made."""
    failure = conditions(thing).get("ReplicaFailure") or {}
    if str(failure.get("status")) != "True":
        return ""
    return f"; its pods are refused: {failure.get('message') or failure.get('reason')}"


def _enough(pods: int, wanted: int, state: str) -> Readiness:
    return READY if pods >= wanted else Readiness(f"{pods} of {wanted} pods are {state}")


def _daemon_set(thing: KubeObject) -> Readiness:
    status = _status(thing)
    nodes, available = (
        _number(status.get("desiredNumberScheduled")),
        _number(status.get("numberAvailable")),
    )
    if not _seen(thing):
        return Readiness("the cluster has not looked at it yet")
    by_itself = (_spec(thing).get("updateStrategy") or {}).get("type") != "OnDelete"
    if by_itself and _number(status.get("updatedNumberScheduled")) < nodes:
        return Readiness(
            f"{_number(status.get('updatedNumberScheduled'))} of {nodes} pods are of the newest"
            " kind"
        )
    # No node that it belongs on is no fault: a pool may be at size 0.
    return _enough(available, nodes, "available")


def _stateful_set(thing: KubeObject) -> Readiness:
    status, spec = _status(thing), _spec(thing)
    replicas, ready = _number(spec.get("replicas"), 1), _number(status.get("readyReplicas"))
    if not _seen(thing):
        return Readiness("the cluster has not looked at it yet")
    strategy = spec.get("updateStrategy") or {}
    partition = _number((strategy.get("rollingUpdate") or {}).get("partition"))
    if (
        strategy.get("type") != "OnDelete"
        and _number(status.get("updatedReplicas")) < replicas - partition
        and status.get("currentRevision") != status.get("updateRevision")
    ):
        return Readiness(
            f"{_number(status.get('updatedReplicas'))} of {replicas - partition} pods are of the"
            " newest kind"
        )
    return _enough(ready, replicas, "ready")


def _replica_set(thing: KubeObject) -> Readiness:
    replicas, available = (
        _number(_spec(thing).get("replicas"), 1),
        _number(_status(thing).get("availableReplicas")),
    )
    return (
        READY
        if _seen(thing) and available >= replicas
        else Readiness(f"{available} of {replicas} pods are available")
    )


def _job(thing: KubeObject) -> Readiness:
    found = conditions(thing)
    failed = found.get("Failed") or {}
    if failed.get("status") == "True":
        return Readiness("has failed", f"has failed{_because(failed)}")
    if (found.get("Complete") or {}).get("status") == "True" or _spec(thing).get("suspend"):
        return READY
    done, wanted = (
        _number(_status(thing).get("succeeded")),
        _number(_spec(thing).get("completions"), 1),
    )
    return Readiness(f"{done} of {wanted} pods have succeeded")


def _pod(thing: KubeObject) -> Readiness:
    phase = _status(thing).get("phase")
    if phase == "Succeeded":
        return READY
    if phase == "Failed":
        return Readiness(
            "has failed",
            f"has failed: {_status(thing).get('message') or _status(thing).get('reason') or phase}",
        )
    return (
        condition(thing, "Ready")
        if phase == "Running"
        else Readiness(f"is {phase or 'not seen yet'}")
    )


def _definition(thing: KubeObject) -> Readiness:
    names = conditions(thing).get("NamesAccepted") or {}
    if names.get("status") == "False" and names.get("reason"):
        return Readiness("its names are taken", f"its names are not accepted{_because(names)}")
    found = condition(thing, "Established")
    return found if found.ready else Readiness(f"not served yet: {found.missing}")


def _claim(thing: KubeObject) -> Readiness:
    phase = _status(thing).get("phase")
    if phase == "Lost":
        return Readiness(
            "has lost its volume", "has lost its volume: the PersistentVolume behind it is gone"
        )
    return READY if phase == "Bound" else Readiness(f"is {phase or 'not seen yet'}")


def _volume(thing: KubeObject) -> Readiness:
    phase = _status(thing).get("phase")
    return (
        Readiness("has failed", f"has failed: {_status(thing).get('message', '')}")
        if phase == "Failed"
        else READY
    )


def _service(thing: KubeObject) -> Readiness:
    if _spec(thing).get("type") != "LoadBalancer" or (_status(thing).get("loadBalancer") or {}).get(
        "ingress"
    ):
        return READY
    return Readiness("has no address outside the cluster yet")


def _endpoints(thing: KubeObject) -> Readiness:
    return READY if addresses(thing) else Readiness("no pod stands behind it yet")


def _namespace(thing: KubeObject) -> Readiness:
    phase = _status(thing).get("phase", "Active")
    return READY if phase == "Active" else Readiness(f"is {phase}")


def _api_service(thing: KubeObject) -> Readiness:
    return condition(thing, "Available")


def _node(thing: KubeObject) -> Readiness:
    return condition(thing, "Ready")


_KINDS: dict[str, Callable[[KubeObject], Readiness]] = {
    "Deployment": _deployment,
    "DaemonSet": _daemon_set,
    "StatefulSet": _stateful_set,
    "ReplicaSet": _replica_set,
    "Job": _job,
    "Pod": _pod,
    "CustomResourceDefinition": _definition,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "Service": _service,
    "Endpoints": _endpoints,
    "EndpointSlice": _endpoints,
    "Namespace": _namespace,
    "APIService": _api_service,
    "Node": _node,
}


def _seen(thing: KubeObject) -> bool:
    """Whether the controller has looked at the newest declaration."""
    generation = _number((thing.get("metadata") or {}).get("generation"))
    return _number(_status(thing).get("observedGeneration")) >= generation


def _because(current: KubeObject) -> str:
    text = current.get("message") or current.get("reason")
    return f": {text}" if text else ""


def _status(thing: KubeObject) -> KubeObject:
    return thing.get("status") or {}


def _spec(thing: KubeObject) -> KubeObject:
    return thing.get("spec") or {}


def _number(value: Any, default: int = 0) -> int:
    return default if value is None else int(value)
