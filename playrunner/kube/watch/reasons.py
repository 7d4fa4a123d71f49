"""Why something in a cluster does not come: a refusal, a pod's state or an event, decoded, with
what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from playrunner.kube.client.errors import KubeError

Thing = Mapping[str, Any]

_SHORT = re.compile(r"(?:\d+ )?Insufficient ([\w./-]+)")
_TAINT = re.compile(r"(?:had untolerated taint|had taint) \{([^}]*)\}")
_DENIED = re.compile(r'admission webhook "([^"]+)" denied the request')
_SILENT = re.compile(r'failed calling (?:admission )?webhook "([^"]+)"')
_HELD_UP = (
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
)
_NO_IMAGE = ("not found", "manifest unknown", "does not exist", "name unknown")
_NO_RIGHT = (
    "unauthorized",
    "denied",
    "authentication required",
    "authorization failed",
    "no basic auth",
    "forbidden",  # ECR answers 403 where the node's role may not pull
)


def refusal(error: KubeError) -> str:
    """What an API server refused, and the way on."""
    message = error.message
    if error.conflict:
        return str(error)
    silent, denied = _SILENT.search(message), _DENIED.search(message)
    if silent:
        return (
            f'the admission webhook "{silent[1]}" does not answer: {message}; see whether its pods'
            " run: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations, and"
            " the endpoints of its service"
        )
    if denied:
        return (
            f'the admission webhook "{denied[1]}" refuses it:'
            f" {message.rpartition('denied the request: ')[2]}"
        )
    if "exceeded quota" in message:
        return f"{message}; see: kubectl describe resourcequota"
    if (
        "field is immutable" in message
        or "are forbidden: updates" in message
        or ("updates to" in message and "forbidden" in message)
    ):
        return (
            f"{error}; this field cannot be changed on an object that is there: delete it first"
            f" (kubectl delete {error.what})"
        )
    return str(error)


def scheduling(message: str) -> list[str]:
    """The scheduler's message (0/3 nodes are available: ...), cause by cause."""
    causes = []
    for device in dict.fromkeys(name.rstrip(".") for name in _SHORT.findall(message)):
        causes.append(
            f"no node has enough free {device} (Insufficient {device}): add nodes, ask for less, or"
            " see who holds it: kubectl describe nodes" + _device_hint(device)
        )
    for taint in dict.fromkeys(_TAINT.findall(message)):
        causes.append(
            f"nodes carry the taint {taint.replace(': ', '=').rstrip('=')} and the pod does not"
            " tolerate it: add a toleration, or take the taint off: kubectl taint nodes NODE KEY-"
        )
    if (
        "node affinity/selector" in message
        or "didn't match node selector" in message
        or "didn't match Pod's node affinity" in message
    ):
        causes.append(
            "no node has the labels its node selector or affinity asks for: kubectl get nodes"
            " --show-labels"
        )
    if "volume node affinity conflict" in message:
        causes.append(
            "its volume lives in another zone than the free nodes: add one there (kubectl get pv -o"
            " yaml, nodeAffinity)"
        )
    if (
        "unbound immediate PersistentVolumeClaims" in message
        or "persistentvolumeclaim" in message.lower()
    ):
        causes.append(
            "a claim it uses is not bound: kubectl get pvc, then kubectl describe pvc NAME"
        )
    if "unschedulable" in message and "node(s) were unschedulable" in message:
        causes.append("nodes are cordoned: kubectl uncordon NODE")
    if "too many pods" in message.lower():
        causes.append("nodes have as many pods as they can: add nodes")
    if not causes and "no nodes available" in message.lower():
        causes.append("the cluster has no nodes yet: kubectl get nodes")
    return causes or [message]


def _device_hint(device: str) -> str:
    if device in ("cpu", "memory", "ephemeral-storage", "pods"):
        return ""
    return (
        "; a device that no node offers at all needs its device plugin: kubectl get daemonsets -n"
        " kube-system"
    )


def pod(thing: Thing, last_line: str = "") -> list[str]:
    """Why a pod is not there yet, from its own status."""
    status, name = thing.get("status") or {}, _named(thing)
    unscheduled = next(
        (
            one
            for one in status.get("conditions") or ()
            if one.get("type") == "PodScheduled" and one.get("status") == "False"
        ),
        None,
    )
    if unscheduled:
        return [
            f"pod {name}: {text}"
            for text in scheduling(str(unscheduled.get("message") or "it is not scheduled"))
        ]
    causes = []
    for container in [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]:
        reason = _container(container, _command("logs", thing, container), last_line)
        if reason:
            causes.append(f"pod {name}, container {container.get('name')}: {reason}")
    if not causes and status.get("reason") == "Evicted":
        causes.append(f"pod {name} was evicted: {status.get('message', '')}")
    return causes


def _container(container: Thing, logs: str, last_line: str) -> str:
    state, last = (
        container.get("state") or {},
        (container.get("lastState") or {}).get("terminated") or {},
    )
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
    line = f'; its last line: "{last_line}"' if last_line else ""
    if reason in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"):
        return image(str(container.get("image", "")), message)
    if reason in ("CreateContainerConfigError", "CreateContainerError"):
        return (
            f"{reason}: {message}; a ConfigMap, Secret or key it reads is missing, or the node"
            " cannot start it yet"
        )
    if "OOMKilled" in (last.get("reason"), ended.get("reason")):
        return "it needed more memory than its limit (OOMKilled): raise resources.limits.memory"
    if reason == "CrashLoopBackOff" or (last and reason):
        return (
            f"it ends again and again (exit code {last.get('exitCode', '?')}){line}; see: {logs}"
            " --previous"
        )
    if ended and ended.get("exitCode"):
        return f"it ended with exit code {ended['exitCode']}{line}; see: {logs}"
    return (
        f"{reason}: {message}".rstrip(": ")
        if reason not in ("", "ContainerCreating", "PodInitializing")
        else ""
    )


def image(name: str, message: str) -> str:
    """Why an image is not pulled."""
    low = message.lower()
    if any(words in low for words in _NO_RIGHT):
        return (
            f"its image {name} may not be pulled: give the node's role or an imagePullSecret the"
            f" right ({message})"
        )
    if any(words in low for words in _NO_IMAGE):
        return f"there is no image {name}: check its name and tag ({message})"
    return (
        f"its image {name} is not pulled: {message or 'the registry does not answer'}; can the node"
        " reach the registry?"
    )


def events(reported: Iterable[Thing], most: int = 2) -> list[str]:
    """The newest warnings, decoded where we know more."""
    warnings = [event for event in reported if event.get("type") == "Warning"]
    warnings.sort(
        key=lambda event: str(
            event.get("lastTimestamp")
            or event.get("eventTime")
            or (event.get("metadata") or {}).get("creationTimestamp")
            or ""
        ),
        reverse=True,
    )
    causes: list[str] = []
    for event in warnings:
        reason, message = (
            str(event.get("reason") or ""),
            " ".join(str(event.get("message") or "").split()),
        )
        if reason == "FailedScheduling":
            causes += scheduling(message)
        elif reason == "ProvisioningFailed":
            causes.append(
                f"its volume cannot be made: {message}; see the CSI driver's controller:"
                " kubectl logs -n kube-system deploy/efs-csi-controller (or fsx-csi-controller)"
                if "csi" in str(event).lower()
                else f"its volume cannot be made: {message}; see: kubectl get storageclass"
            )
        elif reason == "FailedCreate" and "exceeded quota" in message:
            causes.append(f"{message}; see: kubectl describe resourcequota")
        elif _SILENT.search(message):
            causes.append(f"an admission webhook does not answer: {message}")
        else:
            causes.append(f"{reason}: {message}")
    return list(dict.fromkeys(causes))[:most]


def finalizers(thing: Thing, spelled: str) -> str:
    """Why something that is being deleted does not go."""
    meta, status = thing.get("metadata") or {}, thing.get("status") or {}
    name, where = meta.get("name"), f" -n {meta['namespace']}" if meta.get("namespace") else ""
    what, see = f"{thing.get('kind')} {name}", f"kubectl get {spelled} {name}{where} -o yaml"
    messages = [
        str(one.get("message"))
        for one in status.get("conditions") or ()
        if one.get("type") in _HELD_UP and one.get("status") == "True"
    ]
    held: Sequence[Any] = meta.get("finalizers") or ()
    if messages:
        return (
            f"{what} does not go: {' '.join(messages)}; the controller that set these finalizers"
            " must remove them: start it again, or see what is left: kubectl api-resources"
            " --verbs=list --namespaced -o name | xargs -n 1 kubectl get --ignore-not-found -n"
            f" {name}"
        )
    if held:
        return (
            f"{what} does not go: it waits for the finalizer {', '.join(map(str, held))}; start the"
            " controller that takes it off, or, when that is gone for good: kubectl patch"
            f" {spelled} {name}{where}"
            """ --type=merge -p '{"metadata":{"finalizers":null}}'"""
        )
    if not meta.get("deletionTimestamp"):
        return f"{what} is there again: something creates it again; see: {see}"
    return f"{what} is still being deleted; see: {see}"


def _command(verb: str, thing: Thing, container: Thing) -> str:
    meta = thing.get("metadata") or {}
    return (
        f"kubectl {verb} -n {meta.get('namespace')} {meta.get('name')} -c {container.get('name')}"
    )


def _named(thing: Thing) -> str:
    meta = thing.get("metadata") or {}
    return f"{meta.get('namespace')}/{meta.get('name')}"
