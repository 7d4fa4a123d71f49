"""What a server refuses about pods and templates of pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from playrunner.sandbox.kube.schema.names import LABEL_RULE, is_label
from playrunner.sandbox.kube.schema.problems import (
    Problem,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported,
)
from playrunner.sandbox.kube.schema.quantities import value_of

Part = dict[str, Any]
_ENV_NAME = re.compile(r"[^=]+")


def pod_spec_problems(spec: Part, path: str, claimed: Iterable[str] = ()) -> Iterator[Problem]:
    """What is wrong with a pod's spec; `claimed` are volumes that its pods get from templates of
    claims."""
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    if spec.get("restartPolicy", "Always") not in ("Always", "OnFailure", "Never"):
        yield unsupported(
            f"{path}.restartPolicy", spec["restartPolicy"], ["Always", "OnFailure", "Never"]
        )
    if spec.get("dnsPolicy", "Default") not in (
        "ClusterFirstWithHostNet",
        "ClusterFirst",
        "Default",
        "None",
    ):
        allowed = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
        yield unsupported(f"{path}.dnsPolicy", spec["dnsPolicy"], allowed)
    volumes: set[str] = set()
    for at, volume in enumerate(spec.get("volumes", ())):
        yield from _volume_problems(volume, f"{path}.volumes[{at}]", volumes)
    volumes |= set(claimed)
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(field, ())):
            here = f"{path}.{field}[{at}]"
            yield from _container_problems(container, here, names, volumes)
            yield from _lifetime_problems(container, here, first=field == "initContainers")
    for at, toleration in enumerate(spec.get("tolerations", ())):
        yield from _toleration_problems(toleration, f"{path}.tolerations[{at}]")


def _volume_problems(volume: Part, path: str, seen: set[str]) -> Iterator[Problem]:
    name = volume.get("name", "")
    if not name:
        yield required(f"{path}.name")
    elif not is_label(name):
        yield invalid_value(f"{path}.name", name, LABEL_RULE)
    elif name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)
    if len(set(volume) - {"name"}) > 1:
        second = sorted(set(volume) - {"name"})[1]
        yield forbidden_field(f"{path}.{second}", "may not specify more than 1 volume type")
    if "hostPath" in volume and not volume["hostPath"].get("path"):
        yield required(f"{path}.hostPath.path")
    if "persistentVolumeClaim" in volume and not volume["persistentVolumeClaim"].get("claimName"):
        yield required(f"{path}.persistentVolumeClaim.claimName")


def _container_problems(
    container: Part, path: str, names: set[str], volumes: set[str]
) -> Iterator[Problem]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    elif not is_label(name):
        yield invalid_value(f"{path}.name", name, LABEL_RULE)
    elif name in names:
        yield duplicate(f"{path}.name", name)
    names.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")
    if container.get("imagePullPolicy", "Always") not in ("Always", "IfNotPresent", "Never"):
        yield unsupported(
            f"{path}.imagePullPolicy",
            container["imagePullPolicy"],
            ["Always", "IfNotPresent", "Never"],
        )
    for at, port in enumerate(container.get("ports", ())):
        yield from _port_problems(port, f"{path}.ports[{at}]")
    for at, variable in enumerate(container.get("env", ())):
        if not variable.get("name"):
            yield required(f"{path}.env[{at}].name")
        elif variable.get("value") and variable.get("valueFrom"):
            yield invalid_value(
                f"{path}.env[{at}].valueFrom", "", "may not be specified when `value` is not empty"
            )
    for at, mount in enumerate(container.get("volumeMounts", ())):
        yield from _mount_problems(mount, f"{path}.volumeMounts[{at}]", volumes)
    yield from _resource_problems(container.get("resources") or {}, f"{path}.resources")


def _lifetime_problems(container: Part, path: str, *, first: bool) -> Iterator[Problem]:
    """Of one that runs before the others: it ends, or it is a sidecar and always restarts."""
    restart = container.get("restartPolicy")
    if restart is not None and not first:
        yield forbidden_field(f"{path}.restartPolicy", "may not be set for non-init containers")
    elif restart not in (None, "Always"):
        yield unsupported(f"{path}.restartPolicy", restart, ["Always"])
    if first and restart != "Always":
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                why = "may not be set for init containers without restartPolicy=Always"
                yield forbidden_field(f"{path}.{name}", why)


def _port_problems(port: Part, path: str) -> Iterator[Problem]:
    number = port.get("containerPort")
    if not number:
        yield required(f"{path}.containerPort")
    elif not 0 < number < 65536:
        yield invalid_value(
            f"{path}.containerPort", number, "must be between 1 and 65535, inclusive"
        )
    if port.get("protocol", "TCP") not in ("SCTP", "TCP", "UDP"):
        yield unsupported(f"{path}.protocol", port["protocol"], ["SCTP", "TCP", "UDP"])


def _mount_problems(mount: Part, path: str, volumes: set[str]) -> Iterator[Problem]:
    if not mount.get("name"):
        yield required(f"{path}.name")
    elif mount["name"] not in volumes:
        yield Problem(f"{path}.name", "FieldValueNotFound", f'Not found: "{mount["name"]}"')
    if not mount.get("mountPath"):
        yield required(f"{path}.mountPath")


def _resource_problems(resources: Part, path: str) -> Iterator[Problem]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in requests.items():
        extended = "/" in name or name.startswith("hugepages-")
        if name in limits and extended and value_of(amount) != value_of(limits[name]):
            yield invalid_value(
                f"{path}.requests", amount, f"must be equal to {name} limit of {limits[name]}"
            )
        elif name in limits and value_of(amount) > value_of(limits[name]):
            yield invalid_value(
                f"{path}.requests",
                amount,
                f"must be less than or equal to {name} limit of {limits[name]}",
            )
        elif extended and name not in limits:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")


def _toleration_problems(toleration: Part, path: str) -> Iterator[Problem]:
    if toleration.get("operator", "Equal") not in ("Equal", "Exists"):
        yield unsupported(f"{path}.operator", toleration["operator"], ["Equal", "Exists"])
    if toleration.get("operator") == "Exists" and toleration.get("value"):
        yield invalid_value(
            f"{path}.operator", toleration, "value must be empty when `operator` is 'Exists'"
        )
    if not toleration.get("key") and toleration.get("operator") != "Exists":
        yield invalid_value(
            f"{path}.operator",
            "",
            'operator must be Exists when `key` is empty, which means "match all values and all'
            ' keys"',
        )
