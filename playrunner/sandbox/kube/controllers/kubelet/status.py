"""The status of a pod, from what its containers do."""

from __future__ import annotations

from collections.abc import Sequence

from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving, uid_of
from playrunner.sandbox.kube.controllers.kubelet.container import Ended
from playrunner.sandbox.kube.controllers.kubelet.container_history import ContainerHistory


def pod_status(
    pod: Object,
    inits: Sequence[ContainerHistory],
    mains: Sequence[ContainerHistory],
    address: str,
    failed_as: tuple[str, str] | None,
) -> Object:
    """All of it that a kubelet tells; `failed_as` is the reason and message of a pod that was made
    to fail."""
    now_in = "Failed" if failed_as is not None else phase(pod, inits, mains)
    initialized = all(_succeeded(history) or history.started for history in inits)
    status: Object = {
        "phase": now_in, "podIP": address, "podIPs": [{"ip": address}], "hostIP": "127.0.0.1",
        "startTime": (pod.get("status") or {}).get("startTime") or now(),
        "conditions": conditions(pod, mains, initialized, now_in),
        "containerStatuses": [container_status(history, pod) for history in mains],
    }  # fmt: skip
    if inits:
        status["initContainerStatuses"] = [container_status(history, pod) for history in inits]
    if failed_as is not None:
        status["reason"], status["message"] = failed_as
    return status


def phase(pod: Object, inits: Sequence[ContainerHistory], mains: Sequence[ContainerHistory]) -> str:
    if (
        is_leaving(pod)
        and not is_over(pod)
        and not any(history.runs for history in [*inits, *mains])
    ):
        return (
            "Succeeded"
            if all(history.last is not None and history.last.code == 0 for history in mains)
            else "Failed"
        )
    if any(history.over and not _succeeded(history) for history in inits):
        return "Failed"
    if not all(history.over or history.started for history in inits):
        return "Pending"
    if all(history.over for history in mains):
        return "Succeeded" if all(map(_succeeded, mains)) else "Failed"
    return (
        "Running"
        if any(history.runs or history.last is not None for history in mains)
        else "Pending"
    )


def _succeeded(history: ContainerHistory) -> bool:
    return history.over and history.last is not None and history.last.code == 0


def container_status(history: ContainerHistory, pod: Object) -> Object:
    image = history.container.get("image", "")
    status: Object = {
        "name": history.name,
        "image": image,
        "imageID": f"sandbox://{image}",
        "restartCount": history.restarts,
        "ready": history.ready,
        "started": history.started,
        "containerID": f"sandbox://{uid_of(pod)}/{history.name}/{history.restarts}",
        "lastState": {},
    }
    if history.runs and history.run is not None:
        status["state"] = {"running": {"startedAt": history.run.started}}
    elif history.over and history.last is not None:
        status["state"] = {"terminated": _terminated(history.last, status["containerID"])}
        status["ready"] = False
    else:
        reason, message = history.waiting
        status["state"] = {
            "waiting": {"reason": reason, **({"message": message} if message else {})}
        }
    if history.restarts and history.last is not None and not history.over:
        before = f"sandbox://{uid_of(pod)}/{history.name}/{history.restarts - 1}"
        status["lastState"] = {"terminated": _terminated(history.last, before)}
    return status


def _terminated(ended: Ended, container: str) -> Object:
    return {
        "exitCode": ended.code,
        "reason": ended.reason,
        "startedAt": ended.started,
        "finishedAt": ended.finished,
        "containerID": container,
    }


def conditions(
    pod: Object, histories: Sequence[ContainerHistory], initialized: bool, phase: str
) -> list[Object]:
    """As kubelets write them; those of others are kept."""
    names = [history.name for history in histories if not history.ready]
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
        condition["type"]: condition
        for condition in (pod.get("status") or {}).get("conditions") or ()
    }
    ours = [
        _condition(known.get(kind), kind, holds, reason, message)
        for kind, holds, reason, message in wanted
    ]
    return ours + [
        condition for kind, condition in known.items() if kind not in {each[0] for each in wanted}
    ]


def _condition(known: Object | None, kind: str, holds: bool, reason: str, message: str) -> Object:
    value = "True" if holds else "False"
    details = {name: text for name, text in (("reason", reason), ("message", message)) if text}
    since = known["lastTransitionTime"] if known is not None and known["status"] == value else now()
    return {
        "type": kind,
        "status": value,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        **details,
    }
