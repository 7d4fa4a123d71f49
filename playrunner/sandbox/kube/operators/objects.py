"""Small things that every operator makes or reads: pods from templates, headless services, exit
codes, times."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.kube.controllers.framework.pods import from_template
from playrunner.sandbox.kube.controllers.framework.resources import Object, owned


def pod_from(
    template: Object, owner: Object, name: str, labels: dict[str, str], annotations: dict[str, str]
) -> Object:
    """A pod of its own, from a template that stays as it is."""
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": owned(owner),
    }
    return from_template(
        copy.deepcopy(template), {**metadata, "labels": labels, "annotations": annotations}
    )


def headless_service(
    owner: Object, name: str, selector: dict[str, str], ports: list[Object], **spec: Any
) -> Object:
    """One that only gives pods their names."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": dict(selector),
            "ownerReferences": owned(owner),
        },
        "spec": {"clusterIP": "None", "selector": dict(selector), "ports": ports, **spec},
    }


def add_variables(pod: Object, variables: dict[str, Any]) -> None:
    """In place, for every container. What comes later wins, as in a cluster. A value that is a
    mapping says where to find it."""
    for container in pod["spec"].get("containers") or ():
        added = [
            (
                {"name": name, "valueFrom": value}
                if isinstance(value, dict)
                else {"name": name, "value": str(value)}
            )
            for name, value in variables.items()
        ]
        container["env"] = [*(container.get("env") or ()), *added]


def container_named(pod: Object, name: str) -> Object:
    """The container of this name, else the first one."""
    containers = pod["spec"].get("containers") or [{}]
    return next((one for one in containers if one.get("name") == name), containers[0])


def exit_code_of(pod: Object, container: str = "") -> int | None:
    """Of the container of this name, or the first that ended badly; None where none has ended."""
    codes: dict[str, int] = {}
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (one.get("state") or {}).get("terminated")
        if ended is not None:
            codes[one["name"]] = int(ended.get("exitCode") or 0)
    if container in codes:
        return codes[container]
    return next((code for code in codes.values() if code), next(iter(codes.values()), None))


def restarts_of(pod: Object) -> int:
    status = pod.get("status") or {}
    return sum(
        int(one.get("restartCount") or 0)
        for one in [
            *(status.get("containerStatuses") or ()),
            *(status.get("initContainerStatuses") or ()),
        ]
    )


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def seconds_since(text: str, now: datetime) -> float:
    return (now - moment_of(text)).total_seconds()
