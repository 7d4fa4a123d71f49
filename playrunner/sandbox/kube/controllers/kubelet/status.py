"""The status of a pod, from what its containers do."""

from __future__ import annotations

from collections.abc import Sequence

from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving, uid_of
from playrunner.sandbox.kube.controllers.framework.world import now
from playrunner.sandbox.kube.controllers.kubelet.container import Ended
from playrunner.sandbox.kube.controllers.kubelet.container_history import Slot


def pod_status(
    pod: Object,
    inits: Sequence[Slot],
    mains: Sequence[Slot],
    address: str,
    failed_as: tuple[str, str] | None,
) -> Object:
    """All of it that a kubelet tells; `failed_as` is the reason and message of a pod that was made
    to fail."""
    now_in = "Failed" if failed_as is not None else phase(pod, inits, mains)
    initialized = all(_succeeded(slot) or slot.started for slot in inits)
    found: Object = {
        "phase": now_in, "podIP": address, "podIPs": [{"ip": address}], "hostIP": "127.0.0.1",
        "startTime": (pod.get("status") or {}).get("startTime") or now(),
        "conditions": conditions(pod, mains, initialized, now_in),
        "containerStatuses": [container_status(slot, pod) for slot in mains],
    }  # fmt: skip
    if inits:
        found["initContainerStatuses"] = [container_status(slot, pod) for slot in inits]
    if failed_as is not None:
        found["reason"], found["message"] = failed_as
    return found


def phase(pod: Object, inits: Sequence[Slot], mains: Sequence[Slot]) -> str:
    if is_leaving(pod) and not is_over(pod) and not any(slot.runs for slot in [*inits, *mains]):
        return (
            "Succeeded"
            if all(slot.last is not None and slot.last.code == 0 for slot in mains)
            else "Failed"
        )
    if any(slot.over and not _succeeded(slot) for slot in inits):
        return "Failed"
    if not all(slot.over or slot.started for slot in inits):
        return "Pending"
    if all(slot.over for slot in mains):
        return "Succeeded" if all(map(_succeeded, mains)) else "Failed"
    return "Running" if any(slot.runs or slot.last is not None for slot in mains) else "Pending"


def _succeeded(slot: Slot) -> bool:
    return slot.over and slot.last is not None and slot.last.code == 0


def container_status(slot: Slot, pod: Object) -> Object:
    image = slot.container.get("image", "")
    found: Object = {
        "name": slot.name, "image": image, "imageID": f"sandbox://{image}", "restartCount": slot.restarts, "ready": slot.ready,
        "started": slot.started, "containerID": f"sandbox://{uid_of(pod)}/{slot.name}/{slot.restarts}", "lastState": {},
    }  # fmt: skip
    if slot.runs and slot.run is not None:
        found["state"] = {"running": {"startedAt": slot.run.started}}
    elif slot.over and slot.last is not None:
        found["state"] = {"terminated": _terminated(slot.last, found["containerID"])}
        found["ready"] = False
    else:
        reason, message = slot.waiting
        found["state"] = {
            "waiting": {"reason": reason, **({"message": message} if message else {})}
        }
    if slot.restarts and slot.last is not None and not slot.over:
        before = f"sandbox://{uid_of(pod)}/{slot.name}/{slot.restarts - 1}"
        found["lastState"] = {"terminated": _terminated(slot.last, before)}
    return found


def _terminated(ended: Ended, container: str) -> Object:
    return {"exitCode": ended.code, "reason": ended.reason, "startedAt": ended.started, "finishedAt": ended.finished,
            "containerID": container}  # fmt: skip


def conditions(pod: Object, slots: Sequence[Slot], initialized: bool, phase: str) -> list[Object]:
    """As kubelets write them; those of others are kept."""
    names = [slot.name for slot in slots if not slot.ready]
    done = phase == "Succeeded"
    unready = (
        ("PodCompleted", "")
        if done
        else ("ContainersNotReady", f"containers with unready status: [{' '.join(names)}]")
    )
    ready = not names and phase == "Running"
    wanted: list[tuple[str, bool, str, str]] = [
        ("PodReadyToStartContainers", phase not in ("Succeeded", "Failed"), "", ""),
        ("Initialized", initialized, "" if not done else "PodCompleted", ""),
        ("Ready", ready, *(("", "") if ready else unready)),
        ("ContainersReady", ready, *(("", "") if ready else unready)),
        ("PodScheduled", True, "", ""),
    ]
    known: dict[str, Object] = {
        one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()
    }
    ours = [
        _condition(known.get(kind), kind, holds, reason, message)
        for kind, holds, reason, message in wanted
    ]
    return ours + [one for kind, one in known.items() if kind not in {each[0] for each in wanted}]


def _condition(known: Object | None, kind: str, holds: bool, reason: str, message: str) -> Object:
    value = "True" if holds else "False"
    said = {name: text for name, text in (("reason", reason), ("message", message)) if text}
    since = known["lastTransitionTime"] if known is not None and known["status"] == value else now()
    return {
        "type": kind,
        "status": value,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        **said,
    }
