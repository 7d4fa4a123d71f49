"""What a namespace lets pods be: the Pod Security Standards of its labels, its limit ranges, and
the amounts that its quotas want to be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import forbidden
from playrunner.sandbox.kube.schema.quantities import value_of
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.store import Object

ENFORCE = "pod-security.kubernetes.io/enforce"
WARN = "pod-security.kubernetes.io/warn"
_COUNTED = ("cpu", "memory", "ephemeral-storage")
_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "name",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def require_pod_rules(cluster: Cluster, kind: Kind, obj: Object, warnings: list[str]) -> None:
    """Refuses a pod that breaks a rule; what only deserves a warning is added to these, of the
    templates of workloads too."""
    pod = kind.type_name == "core.v1.Pod"
    spec = obj.get("spec") if pod else _template_spec(kind, obj)
    if spec is None:
        return
    home = str(obj["metadata"].get("namespace") or "")
    name = str(obj["metadata"]["name"])
    if pod:
        _limit(cluster, kind, home, name, spec)
    namespace = cluster.store.get(("", "namespaces"), ("", home)) or {"metadata": {}}
    labels = namespace["metadata"].get("labels") or {}
    if pod and (found := _violations(labels.get(ENFORCE, ""), spec)):
        raise forbidden(kind, name, f"violates {found}")
    if found := _violations(labels.get(WARN, ""), spec):
        warnings.append(f"would violate {found}")
    if pod:
        _amounts_told(cluster, kind, home, name, spec)


def _template_spec(kind: Kind, obj: Object) -> dict[str, Any] | None:
    if kind.type_name.partition(".")[0] not in ("apps", "batch"):
        return None
    spec: dict[str, Any] | None = ((obj.get("spec") or {}).get("template") or {}).get("spec")
    return spec


def _violations(level: str, spec: dict[str, Any]) -> str:
    """What is against this standard; empty where nothing is."""
    if level not in ("baseline", "restricted"):
        return ""
    found = list(_baseline(spec)) + (list(_restricted(spec)) if level == "restricted" else [])
    return f'PodSecurity "{level}:latest": {", ".join(found)}' if found else ""


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def _security(one: dict[str, Any]) -> dict[str, Any]:
    return one.get("securityContext") or {}


def _named(names: list[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"container{'s' * (len(names) > 1)} {quoted}"


def _baseline(spec: dict[str, Any]) -> Iterator[str]:
    shared = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if shared:
        yield f"host namespaces ({', '.join(f'{name}=true' for name in shared)})"
    paths = [
        f'"{volume["name"]}"' for volume in spec.get("volumes") or () if volume.get("hostPath")
    ]
    if paths:
        yield f"hostPath volumes (volume{'s' * (len(paths) > 1)} {', '.join(paths)})"
    loud = [
        str(container["name"])
        for container in _containers(spec)
        if _security(container).get("privileged")
    ]
    if loud:
        yield f"privileged ({_named(loud)} must not set securityContext.privileged=true)"


def _restricted(spec: dict[str, Any]) -> Iterator[str]:
    inside = _containers(spec)

    def without(good: Any) -> list[str]:
        return [str(container["name"]) for container in inside if not good(_security(container))]

    for bad, what, remedy in (
        (
            without(lambda said: said.get("allowPrivilegeEscalation") is False),
            "allowPrivilegeEscalation != false",
            "securityContext.allowPrivilegeEscalation=false",
        ),
        (
            without(lambda said: "ALL" in ((said.get("capabilities") or {}).get("drop") or ())),
            "unrestricted capabilities",
            'securityContext.capabilities.drop=["ALL"]',
        ),
    ):
        if bad:
            yield f"{what} ({_named(bad)} must set {remedy})"
    other = [
        f'"{volume["name"]}"'
        for volume in spec.get("volumes") or ()
        if not set(volume) <= set(_VOLUMES) and not volume.get("hostPath")
    ]
    if other:
        yield f"restricted volume types (volume {', '.join(other)})"
    pod = _security(spec)
    bad = without(lambda said: said.get("runAsNonRoot", pod.get("runAsNonRoot")) is True)
    if bad:
        yield (
            f"runAsNonRoot != true (pod or {_named(bad)} must set"
            " securityContext.runAsNonRoot=true)"
        )
    bad = without(
        lambda said: (
            (said.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type")
            in ("RuntimeDefault", "Localhost")
        )
    )
    if bad:
        yield (
            f"seccompProfile (pod or {_named(bad)} must set securityContext.seccompProfile.type to"
            ' "RuntimeDefault" or "Localhost")'
        )


def _limit(cluster: Cluster, kind: Kind, home: str, name: str, spec: dict[str, Any]) -> None:
    """Limit ranges fill in what containers leave out, and bound what they say."""
    for ranged in cluster.store.list(("", "limitranges"), home)[0]:
        for rule in ranged["spec"].get("limits") or ():
            if rule.get("type") != "Container":
                continue
            found = [text for one in spec["containers"] for text in _bounds(one, rule)]
            if found:
                raise forbidden(
                    kind, name, found[0] if len(found) == 1 else f"[{', '.join(found)}]"
                )


def _bounds(container: dict[str, Any], rule: dict[str, Any]) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for side, defaults in (("limits", "default"), ("requests", "defaultRequest")):
        for name, value in (rule.get(defaults) or {}).items():
            resources.setdefault(side, {}).setdefault(name, value)
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, most in (rule.get("max") or {}).items():
        if name not in limits:
            yield f"maximum {name} usage per Container is {most}.  No limit is specified"
        elif value_of(limits[name]) > value_of(most):
            yield f"maximum {name} usage per Container is {most}, but limit is {limits[name]}"
    for name, least in (rule.get("min") or {}).items():
        if name in requests and value_of(requests[name]) < value_of(least):
            yield f"minimum {name} usage per Container is {least}, but request is {requests[name]}"


def _amounts_told(cluster: Cluster, kind: Kind, home: str, name: str, spec: dict[str, Any]) -> None:
    for quota in cluster.store.list(("", "resourcequotas"), home)[0]:
        missing = []
        for hard in sorted(quota.get("spec", {}).get("hard") or {}):
            side, _, resource = hard.rpartition(".")
            if resource not in _COUNTED or side not in ("", "requests", "limits"):
                continue
            without = [
                str(one["name"])
                for one in spec["containers"]
                if resource not in ((one.get("resources") or {}).get(side or "requests") or {})
            ]
            if without:
                missing.append(f"{hard} for: {','.join(without)}")
        if missing:
            why = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(missing)}"
            raise forbidden(kind, name, why)
