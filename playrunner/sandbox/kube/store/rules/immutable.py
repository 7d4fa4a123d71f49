"""What cannot be changed once it is there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from playrunner.sandbox.kube.schema.problems import Problem, forbidden_field, invalid_value
from playrunner.sandbox.kube.schema.quantities import value_of
from playrunner.sandbox.kube.store.rules.job_spec import job_change_problems
from playrunner.sandbox.kube.store.rules.job_status import job_status_problems

Object = dict[str, Any]
_STATEFUL_SET_CHANGES = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
    "revisionHistoryLimit",
}


def change_problems(type_name: str, before: Object, after: Object) -> list[Problem]:
    """What a server refuses about this change of a built-in object."""
    problems = [
        _fixed(before, after, path)
        for path in _FIXED.get(type_name, ())
        if _at(before, path) != _at(after, path)
    ]
    rule = _RULES.get(type_name)
    return problems + (list(rule(before, after)) if rule else [])


def _fixed(before: Object, after: Object, path: str) -> Problem:
    return invalid_value(path, _at(after, path), "field is immutable")


def _pod(before: Object, after: Object) -> Iterator[Problem]:
    was, now = _comparable_pod(before["spec"]), _comparable_pod(after["spec"])
    kept = [
        one
        for one in before["spec"].get("tolerations", ())
        if one not in after["spec"].get("tolerations", ())
    ]
    if was != now or kept:
        yield forbidden_field(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations`"
            " (only additions to existing tolerations),`spec.terminationGracePeriodSeconds`"
            " (allow it to be set to 1 if it was previously negative)",
        )


def _comparable_pod(spec: Object) -> Object:
    spec = copy.deepcopy(
        {
            name: value
            for name, value in spec.items()
            if name not in ("activeDeadlineSeconds", "tolerations")
        }
    )
    for container in [*spec.get("containers", ()), *spec.get("initContainers", ())]:
        container.pop("image", None)
    return spec


def _stateful_set(before: Object, after: Object) -> Iterator[Problem]:
    names = (before["spec"].keys() | after["spec"].keys()) - _STATEFUL_SET_CHANGES
    if any(before["spec"].get(name) != after["spec"].get(name) for name in names):
        yield forbidden_field(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template',"
            " 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and"
            " 'minReadySeconds' are forbidden",
        )


def _claim(before: Object, after: Object) -> Iterator[Problem]:
    was, now = copy.deepcopy(before["spec"]), copy.deepcopy(after["spec"])
    small, large = (
        one.get("resources", {}).get("requests", {}).pop("storage", "0") for one in (was, now)
    )
    if not was.get("volumeName"):
        now.pop("volumeName", None)  # binding it
    if was.get("storageClassName") is None:  # an empty one says that no class is wanted
        now.pop("storageClassName", None)
    if was != now or (small != large and before.get("status", {}).get("phase") != "Bound"):
        yield forbidden_field(
            "spec",
            "spec is immutable after creation except resources.requests and"
            " volumeAttributesClassName for bound claims",
        )
    elif value_of(large) < value_of(small):
        yield forbidden_field(
            "spec.resources.requests.storage", "field can not be less than status.capacity"
        )


def _data(before: Object, after: Object) -> Iterator[Problem]:
    if before.get("immutable"):
        if not after.get("immutable"):
            yield forbidden_field("immutable", "field is immutable when `immutable` is set")
        for name in ("data", "binaryData"):
            if (before.get(name) or {}) != (after.get(name) or {}):
                yield forbidden_field(name, "field is immutable when `immutable` is set")


def _service(before: Object, after: Object) -> Iterator[Problem]:
    was, now = before["spec"].get("clusterIP"), after["spec"].get("clusterIP")
    if (
        was
        and now != was
        and "ExternalName" not in (before["spec"].get("type"), after["spec"].get("type"))
    ):
        yield invalid_value("spec.clusterIPs[0]", [now] if now else None, "may not change once set")


def _role_binding(before: Object, after: Object) -> Iterator[Problem]:
    if before.get("roleRef") != after.get("roleRef"):
        yield invalid_value("roleRef", after.get("roleRef"), "cannot change roleRef")


def _storage_class(before: Object, after: Object) -> Iterator[Problem]:
    if (before.get("parameters") or {}) != (after.get("parameters") or {}):
        yield forbidden_field("parameters", "updates to parameters are forbidden.")
    if before.get("provisioner") != after.get("provisioner"):
        yield forbidden_field("provisioner", "updates to provisioner are forbidden.")
    if before.get("reclaimPolicy") != after.get("reclaimPolicy"):
        yield forbidden_field("reclaimPolicy", "updates to reclaimPolicy are forbidden.")


def _priority_class(before: Object, after: Object) -> Iterator[Problem]:
    if before.get("value") != after.get("value"):
        yield forbidden_field("value", "may not be changed in an update.")


def _volume(before: Object, after: Object) -> Iterator[Problem]:
    loose = {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
    }
    names = (before["spec"].keys() | after["spec"].keys()) - loose
    if any(before["spec"].get(name) != after["spec"].get(name) for name in names):
        yield forbidden_field(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )


def _job(before: Object, after: Object) -> Iterator[Problem]:
    yield from job_change_problems(before, after)
    yield from job_status_problems(before, after)


def _at(one: Object, path: str) -> Any:
    value: Any = one
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


_FIXED: dict[str, tuple[str, ...]] = {
    "apps.v1.Deployment": ("spec.selector",),
    "apps.v1.DaemonSet": ("spec.selector",),
    "apps.v1.ReplicaSet": ("spec.selector",),
    "batch.v1.Job": (
        "spec.selector",
        "spec.completionMode",
        "spec.podFailurePolicy",
        "spec.backoffLimitPerIndex",
        "spec.managedBy",
        "spec.successPolicy",
    ),
    "core.v1.Secret": ("type",),
    "storage.v1.StorageClass": ("volumeBindingMode",),
    "storage.v1.CSIDriver": ("spec.attachRequired", "spec.volumeLifecycleModes"),
    "apiextensions.v1.CustomResourceDefinition": (
        "spec.group",
        "spec.scope",
        "spec.names.kind",
        "spec.names.plural",
    ),
}
_RULES: dict[str, Callable[[Object, Object], Iterator[Problem]]] = {
    "core.v1.Pod": _pod,
    "core.v1.PersistentVolumeClaim": _claim,
    "core.v1.PersistentVolume": _volume,
    "core.v1.ConfigMap": _data,
    "core.v1.Secret": _data,
    "core.v1.Service": _service,
    "apps.v1.StatefulSet": _stateful_set,
    "batch.v1.Job": _job,
    "rbac.v1.RoleBinding": _role_binding,
    "rbac.v1.ClusterRoleBinding": _role_binding,
    "storage.v1.StorageClass": _storage_class,
    "scheduling.v1.PriorityClass": _priority_class,
}
