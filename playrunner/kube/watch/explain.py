"""Why objects are not ready: their pods, the events about them, and the last line of what crashed,
read from the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.client.transport import NoAnswer, NotReached
from playrunner.kube.watch import reasons

MOST_REASONS = 4
PODS = Resource("v1", "Pod", "pods", True)
EVENTS = Resource("v1", "Event", "events", True)


def why(kube: Kube, things: Sequence[Mapping[str, Any]]) -> str:
    """The most telling reasons, each once; empty when the cluster says nothing."""
    kube.refresh()
    texts: list[str] = []
    for thing in things:
        try:
            texts += _of(kube, thing)
        except KubeError:
            # Without the right to read pods or events the error stands without its reasons
            continue
        if len(texts) >= MOST_REASONS:
            break
    return "; ".join(list(dict.fromkeys(texts))[:MOST_REASONS])


def last_line(kube: Kube, namespace: str, pod: str, container: str, previous: bool = False) -> str:
    query = {"container": container, "tailLines": 1, "previous": "true" if previous else ""}
    try:
        status, _, data = kube.cluster.transport.send(
            "GET", f"{PODS.path(namespace, pod)}/log", query
        )
    except (NotReached, NoAnswer):
        return ""
    return data.decode(errors="replace").strip()[-300:] if status == 200 else ""


def selector_of(thing: Mapping[str, Any]) -> str:
    """The labels by which a workload knows its pods."""
    chosen = ((thing.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in chosen.items())


def _of(kube: Kube, thing: Mapping[str, Any]) -> list[str]:
    meta = thing.get("metadata") or {}
    namespace = str(meta.get("namespace") or "")
    object_events = _events(kube, thing)
    selector = selector_of(thing)
    pods = (
        [thing]
        if thing.get("kind") == "Pod"
        else kube.listing(PODS, namespace, selector).items
        if selector
        else []
    )
    causes = []
    for pod in pods[:20]:
        causes += reasons.pod(pod, _crash_line(kube, pod)) or (
            reasons.events(_events(kube, pod), 1)
            if (pod.get("status") or {}).get("phase") == "Pending"
            else []
        )
        if len(causes) >= MOST_REASONS:
            break
    return causes or reasons.events(object_events)


def _events(kube: Kube, thing: Mapping[str, Any]) -> list[dict[str, Any]]:
    meta = thing.get("metadata") or {}
    fields = f"involvedObject.name={meta.get('name')},involvedObject.kind={thing.get('kind')}"
    return kube.listing(EVENTS, str(meta.get("namespace") or "default"), fields=fields).items


def _crash_line(kube: Kube, pod: Mapping[str, Any]) -> str:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        ended = (container.get("state") or {}).get("terminated") or {}
        if waiting.get("reason") == "CrashLoopBackOff" or ended.get("exitCode"):
            meta = pod["metadata"]
            return last_line(
                kube, meta["namespace"], meta["name"], container["name"], previous=not ended
            )
    return ""
