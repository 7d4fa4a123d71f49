"""Defaults and refusals of the other kinds that come with a server."""

from __future__ import annotations

import base64

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, pod, refused
from tests.support.kube.client import MERGE_PATCH


@behaviour("a service is given an address that stays")
def _(stage: ApiStage) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    spec = stage.api.ok("POST", stage.core("services"), body)["spec"]
    assert (
        spec["clusterIP"].count(".") == 3
        and spec["type"] == "ClusterIP"
        and spec["sessionAffinity"] == "None"
    )
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    answer = stage.api.call(
        "PATCH",
        stage.core("services", "web"),
        {"spec": {"clusterIP": "10.96.200.200"}},
        form=MERGE_PATCH,
    )
    assert answer.code == 422


@behaviour("a headless service has no address, and an empty service no sense")
def _(stage: ApiStage) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "head"},
        "spec": {"clusterIP": "None", "selector": {"a": "b"}},
    }
    assert stage.api.ok("POST", stage.core("services"), body)["spec"]["clusterIP"] == "None"
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {}}
    refused(
        stage.api.call("POST", stage.core("services"), body),
        422,
        "Invalid",
        "spec.ports: Required value",
    )


@behaviour("a service of type NodePort is given a port of the nodes for each of its own")
def _(stage: ApiStage) -> None:
    spec = {"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    ports = {
        port["nodePort"]
        for port in stage.api.ok("POST", stage.core("services"), body)["spec"]["ports"]
    }
    assert len(ports) == 2 and all(30000 <= port <= 32767 for port in ports)
    again = stage.api.ok(
        "PATCH",
        stage.core("services", "web"),
        {"metadata": {"labels": {"a": "b"}}},
        form=MERGE_PATCH,
    )
    assert {port["nodePort"] for port in again["spec"]["ports"]} == ports


@behaviour("a service's ports have names when there are several")
def _(stage: ApiStage) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}, {"port": 81}]},
    }
    refused(
        stage.api.call("POST", stage.core("services"), body),
        422,
        "Invalid",
        "spec.ports[0].name: Required value",
    )


@behaviour("a secret's plain text is kept encoded, and never shown plain")
def _(stage: ApiStage) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key"},
        "stringData": {"a": "hidden"},
    }
    found = stage.api.ok("POST", stage.core("secrets"), body)
    assert (
        found["type"] == "Opaque"
        and "stringData" not in found
        and base64.b64decode(found["data"]["a"]) == b"hidden"
    )
    refused(
        stage.api.call("PATCH", stage.core("secrets", "key"), {"type": "other"}, form=MERGE_PATCH),
        422,
        "Invalid",
        "field is immutable",
    )


@behaviour("a secret's data must be base64")
def _(stage: ApiStage) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key"},
        "data": {"a": "not base64!"},
    }
    assert stage.api.call("POST", stage.core("secrets"), body).code == 400


@behaviour("an immutable config map stays as it is")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.core("configmaps"), {**config("conf", a="1"), "immutable": True})
    answer = stage.api.call(
        "PATCH", stage.core("configmaps", "conf"), {"data": {"a": "2"}}, form=MERGE_PATCH
    )
    refused(answer, 422, "Invalid", "field is immutable when `immutable` is set")


@behaviour("a claim is Pending, and its size and modes are required")
def _(stage: ApiStage) -> None:
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    spec = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1200Gi"}},
        "storageClassName": "x",
    }
    found = stage.api.ok("POST", stage.core("persistentvolumeclaims"), {**body, "spec": spec})
    assert found["status"]["phase"] == "Pending" and found["spec"]["volumeMode"] == "Filesystem"
    body["metadata"] = {"name": "other"}
    answer = stage.api.call(
        "POST", stage.core("persistentvolumeclaims"), {**body, "spec": {"storageClassName": "x"}}
    )
    refused(
        answer,
        422,
        "Invalid",
        "spec.accessModes: Required value",
        "spec.resources[storage]: Required value",
    )


@behaviour("a claim that is not bound keeps its size")
def _(stage: ApiStage) -> None:
    spec = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": "x",
    }
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": spec,
    }
    stage.api.ok("POST", stage.core("persistentvolumeclaims"), body)
    patch = {"spec": {"resources": {"requests": {"storage": "20Gi"}}}}
    refused(
        stage.api.call(
            "PATCH", stage.core("persistentvolumeclaims", "data"), patch, form=MERGE_PATCH
        ),
        422,
        "Invalid",
        "immutable",
    )


@behaviour("a binding's role cannot be changed")
def _(stage: ApiStage) -> None:
    api = "rbac.authorization.k8s.io/v1"
    body = {
        "apiVersion": api, "kind": "RoleBinding", "metadata": {"name": "bind"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": stage.namespace}],
    }  # fmt: skip
    stage.api.ok("POST", stage.group(api, "rolebindings"), body)
    patch = {"roleRef": {"name": "b"}}
    refused(
        stage.api.call("PATCH", stage.group(api, "rolebindings", "bind"), patch, form=MERGE_PATCH),
        422,
        "Invalid",
        "cannot change roleRef",
    )


@behaviour("a pod is bound to a node once")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.core("pods"), pod())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "one"},
        "target": {"kind": "Node", "name": "somewhere"},
    }
    assert stage.api.call("POST", stage.core("pods", "one", "binding"), binding).code == 201
    assert stage.api.ok("GET", stage.core("pods", "one"))["spec"]["nodeName"] == "somewhere"
    refused(
        stage.api.call("POST", stage.core("pods", "one", "binding"), binding),
        409,
        "Conflict",
        "already assigned to node",
    )


@behaviour("a priority class that is not there keeps a pod out")
def _(stage: ApiStage) -> None:
    answer = stage.api.call("POST", stage.core("pods"), pod(priorityClassName="nope"))
    refused(answer, 403, "Forbidden", "no PriorityClass with name nope was found")


@behaviour("a namespace is Active and knows its finalizer")
def _(stage: ApiStage) -> None:
    found = stage.api.ok("GET", f"/api/v1/namespaces/{stage.namespace}")
    assert found["status"]["phase"] == "Active" and found["spec"]["finalizers"] == ["kubernetes"]


@behaviour("a node keeps its labels, taints and devices")
def _(stage: ApiStage) -> None:
    name = f"node-{stage.namespace}"
    spec = {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
    stage.api.ok(
        "POST",
        "/api/v1/nodes",
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec},
    )
    try:
        patch = {
            "status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8"}}
        }
        found = stage.api.ok("PATCH", f"/api/v1/nodes/{name}/status", patch, form=MERGE_PATCH)
        assert (
            found["status"]["allocatable"] == {"nvidia.com/gpu": "8"}
            and found["spec"]["taints"][0]["key"] == "nvidia.com/gpu"
        )
    finally:
        stage.api.ok("DELETE", f"/api/v1/nodes/{name}")


@behaviour("a node has a spec, also one of which nothing is said")
def _(stage: ApiStage) -> None:
    name = f"{stage.namespace}-bare"
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    try:
        assert isinstance(stage.api.ok("POST", "/api/v1/nodes", body)["spec"], dict)
    finally:
        stage.api.ok("DELETE", f"/api/v1/nodes/{name}")


@behaviour("events are found by what they are about")
def _(stage: ApiStage) -> None:
    about = {"kind": "Pod", "name": "one", "namespace": stage.namespace}
    what = {"reason": "FailedScheduling", "message": "no nodes", "type": "Warning"}
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "one.1"},
        "involvedObject": about,
        **what,
    }
    stage.api.ok("POST", stage.core("events"), body)
    found = stage.api.ok(
        "GET", stage.core("events"), fieldSelector="involvedObject.name=one,type=Warning"
    )
    assert [one["reason"] for one in found["items"]] == ["FailedScheduling"]
    newer = stage.api.ok("GET", stage.group("events.k8s.io/v1", "events", "one.1"))
    assert newer["note"] == "no nodes" and newer["regarding"]["name"] == "one"
