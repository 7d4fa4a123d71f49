"""What a server does to built-in objects on their way in, beyond defaults: addresses, priorities,
selectors of jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import Refusal, forbidden, invalid, invalid_value
from playrunner.sandbox.kube.schema.quantities import value_of
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.store import Object

_NAMESPACE = ("", "namespaces")


def require_namespace(cluster: Cluster, kind: Kind, namespace: str, name: str) -> None:
    """A namespace must be there, and not be on its way out."""
    found = cluster.store.get(_NAMESPACE, ("", namespace))
    if found is None:
        details = {"name": namespace, "kind": "namespaces"}
        raise Refusal(404, "NotFound", f'namespaces "{namespace}" not found', details)
    if found["metadata"].get("deletionTimestamp"):
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        raise forbidden(kind, name, why, [cause])


def complete(cluster: Cluster, kind: Kind, one: Object, before: Object | None) -> None:
    """In place, after the defaults."""
    step = _STEPS.get(kind.type_name)
    if step is not None:
        step(cluster, kind, one, before)


def _pod(cluster: Cluster, kind: Kind, pod: Object, before: Object | None) -> None:
    if before is not None:
        return
    spec = pod["spec"]
    _fill(spec, serviceAccountName="default")
    _fill(spec, serviceAccount=spec["serviceAccountName"])
    name = spec.get("priorityClassName")
    priority_class = (
        cluster.store.get(("scheduling.k8s.io", "priorityclasses"), ("", name)) if name else None
    )
    if name and priority_class is None:
        raise forbidden(
            kind, pod["metadata"]["name"], f"no PriorityClass with name {name} was found"
        )
    _fill(
        spec,
        priority=priority_class["value"] if priority_class else 0,
        preemptionPolicy="PreemptLowerPriority",
    )
    tolerations = spec.setdefault("tolerations", [])
    for taint in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{taint}"
        if not any(
            item.get("key") in (key, None) and item.get("effect") in ("NoExecute", None)
            for item in tolerations
        ):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}


def quality_of_service(spec: dict[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort."""
    resources = [
        container.get("resources") or {}
        for container in [*spec.get("containers", ()), *spec.get("initContainers", ())]
    ]
    if not any(
        requirements.get("limits") or requirements.get("requests") for requirements in resources
    ):
        return "BestEffort"
    for requirements in resources:
        limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
        for name in ("cpu", "memory"):
            if name not in limits or value_of(requests.get(name, limits[name])) != value_of(
                limits[name]
            ):
                return "Burstable"
    return "Guaranteed"


def _service(cluster: Cluster, kind: Kind, service: Object, before: Object | None) -> None:
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        return
    if not spec.get("clusterIP"):
        known = before["spec"].get("clusterIP") if before else None
        spec["clusterIP"] = known or cluster.free_address()
    elif spec["clusterIP"] != "None" and before is None:
        _require_free(cluster, kind, service)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] in ("NodePort", "LoadBalancer"):
        known_ports = {
            port["port"]: port.get("nodePort")
            for port in (before or {"spec": {}})["spec"].get("ports", ())
        }
        for port in spec.get("ports", ()):
            if not port.get("nodePort"):
                own = {each["nodePort"] for each in spec["ports"] if each.get("nodePort")}
                port["nodePort"] = known_ports.get(port["port"]) or cluster.free_node_port(own)


def _require_free(cluster: Cluster, kind: Kind, service: Object) -> None:
    wanted = service["spec"]["clusterIP"]
    if any(
        other["spec"].get("clusterIP") == wanted
        for other in cluster.store.list(("", "services"))[0]
    ):
        problem = invalid_value(
            "spec.clusterIPs",
            [wanted],
            "failed to allocate IP " + wanted + ": provided IP is already allocated",
        )
        raise invalid(kind, service["metadata"]["name"], [problem])


def _claim(cluster: Cluster, kind: Kind, claim: Object, before: Object | None) -> None:
    if before is not None or "storageClassName" in claim["spec"]:
        return
    for found in cluster.store.list(("storage.k8s.io", "storageclasses"))[0]:
        if (found["metadata"].get("annotations") or {}).get(
            "storageclass.kubernetes.io/is-default-class"
        ) == "true":
            claim["spec"]["storageClassName"] = found["metadata"]["name"]


def _job(cluster: Cluster, kind: Kind, job: Object, before: Object | None) -> None:
    spec = job["spec"]
    if before is not None:
        # What was generated stays, also when the writer does not know of it.
        spec.setdefault("selector", before["spec"].get("selector"))
        labels = before["spec"]["template"].get("metadata", {}).get("labels") or {}
        metadata = spec["template"].setdefault("metadata", {})
        metadata["labels"] = {**labels, **(metadata.get("labels") or {})}
        return
    if spec.get("manualSelector") or "template" not in spec:
        return
    uid, name = job["metadata"]["uid"], job["metadata"]["name"]
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    generated = {"controller-uid": uid, "job-name": name}
    generated |= {f"batch.kubernetes.io/{key}": value for key, value in generated.items()}
    metadata = spec["template"].setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **generated}
    if not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(metadata["labels"])


def _fill(part: dict[str, Any], **values: Any) -> None:
    for name, value in values.items():
        if part.get(name) is None:
            part[name] = value


_STEPS: dict[str, Callable[[Cluster, Kind, Object, Object | None], None]] = {
    "core.v1.Pod": _pod,
    "core.v1.Service": _service,
    "core.v1.PersistentVolumeClaim": _claim,
    "batch.v1.Job": _job,
}
