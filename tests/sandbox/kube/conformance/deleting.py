"""Taking things away."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, deployment, refused
from tests.support.kube.client import MERGE_PATCH


@behaviour("what is deleted is gone, and the answer says so")
def _(stage: ApiStage) -> None:
    made = stage.config("conf")
    found = stage.api.ok("DELETE", stage.core("configmaps", "conf"))
    assert found["status"] == "Success" and found["details"]["uid"] == made["metadata"]["uid"]
    refused(stage.api.call("GET", stage.core("configmaps", "conf")), 404, "NotFound")


@behaviour("deleting what is not there is not found")
def _(stage: ApiStage) -> None:
    refused(stage.api.call("DELETE", stage.core("configmaps", "conf")), 404, "NotFound")


@behaviour("a dry run of a delete keeps it")
def _(stage: ApiStage) -> None:
    stage.config("conf")
    stage.api.ok("DELETE", stage.core("configmaps", "conf"), dryRun="All")
    stage.api.ok("GET", stage.core("configmaps", "conf"))


@behaviour("a delete can ask that it is still the same object")
def _(stage: ApiStage) -> None:
    made = stage.config("conf")
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "00000000-0000-0000-0000-000000000000"},
    }
    refused(
        stage.api.call("DELETE", stage.core("configmaps", "conf"), options),
        409,
        "Conflict",
        "UID in the precondition",
    )
    options["preconditions"] = {"uid": made["metadata"]["uid"]}
    stage.api.ok("DELETE", stage.core("configmaps", "conf"), options)


@behaviour("a finalizer holds an object that is deleted, until it is taken off")
def _(stage: ApiStage) -> None:
    body = config("conf")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    stage.api.ok("POST", stage.core("configmaps"), body)
    found = stage.api.ok("DELETE", stage.core("configmaps", "conf"))
    assert found["metadata"]["deletionTimestamp"] and found["metadata"]["finalizers"] == [
        "example.com/wait"
    ]
    stage.api.ok("GET", stage.core("configmaps", "conf"))
    stage.api.ok(
        "PATCH",
        stage.core("configmaps", "conf"),
        {"metadata": {"finalizers": None}},
        form=MERGE_PATCH,
    )
    refused(stage.api.call("GET", stage.core("configmaps", "conf")), 404, "NotFound")


@behaviour("foreground deletion waits with a finalizer of its own")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.apps("deployments"), deployment())
    owner = stage.api.ok("GET", stage.apps("deployments", "web"))["metadata"]
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": owner["uid"],
        "blockOwnerDeletion": True,
    }
    dependent = config("dependent")
    dependent["metadata"] |= {"ownerReferences": [reference], "finalizers": ["example.com/wait"]}
    stage.api.ok("POST", stage.core("configmaps"), dependent)
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
    found = stage.api.ok("DELETE", stage.apps("deployments", "web"), options)
    assert (
        found["metadata"]["finalizers"] == ["foregroundDeletion"]
        and found["metadata"]["deletionTimestamp"]
    )
    stage.api.ok(
        "PATCH",
        stage.core("configmaps", "dependent"),
        {"metadata": {"finalizers": None}},
        form=MERGE_PATCH,
    )


@behaviour("dependents follow their owner", needs="controllers")
def _(stage: ApiStage) -> None:
    owner = stage.config("owner")
    dependent = config("dependent")
    dependent["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    ]
    stage.api.ok("POST", stage.core("configmaps"), dependent)
    stage.api.ok("DELETE", stage.core("configmaps", "owner"))
    stage.eventually(
        lambda: stage.api.call("GET", stage.core("configmaps", "dependent")).code == 404
    )


@behaviour("a dependent of something that is not there goes", needs="controllers")
def _(stage: ApiStage) -> None:
    dependent = config("dependent")
    nowhere = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": "00000000-0000-0000-0000-000000000000",
    }
    dependent["metadata"]["ownerReferences"] = [nowhere]
    stage.api.ok("POST", stage.core("configmaps"), dependent)
    stage.eventually(
        lambda: stage.api.call("GET", stage.core("configmaps", "dependent")).code == 404
    )


@behaviour("an owner goes, and what has another owner too stays", needs="controllers")
def _(stage: ApiStage) -> None:
    owners = [stage.config(name)["metadata"] for name in ("first", "second")]
    dependent = config("dependent")
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": one["name"], "uid": one["uid"]}
        for one in owners
    ]
    dependent["metadata"]["ownerReferences"] = references
    stage.api.ok("POST", stage.core("configmaps"), dependent)
    stage.api.ok("DELETE", stage.core("configmaps", "first"))
    path = stage.core("configmaps", "dependent")
    stage.eventually(
        lambda: stage.api.ok("GET", path)["metadata"]["ownerReferences"] == references[1:]
    )


@behaviour("orphaned dependents stay, without their owner's reference", needs="controllers")
def _(stage: ApiStage) -> None:
    owner = stage.config("owner")
    dependent = config("dependent")
    dependent["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    ]
    stage.api.ok("POST", stage.core("configmaps"), dependent)
    stage.api.ok("DELETE", stage.core("configmaps", "owner"), propagationPolicy="Orphan")
    stage.eventually(lambda: stage.api.call("GET", stage.core("configmaps", "owner")).code == 404)
    found = stage.api.ok("GET", stage.core("configmaps", "dependent"))
    assert "ownerReferences" not in found["metadata"]


@behaviour("a whole selection can be deleted at once")
def _(stage: ApiStage) -> None:
    for name, label in {"a": "x", "b": "x", "c": "y"}.items():
        body = config(name)
        body["metadata"]["labels"] = {"app": label}
        stage.api.ok("POST", stage.core("configmaps"), body)
    stage.api.ok("DELETE", stage.core("configmaps"), labelSelector="app=x")
    found = stage.api.ok("GET", stage.core("configmaps"), labelSelector="app")
    assert [one["metadata"]["name"] for one in found["items"]] == ["c"]


@behaviour("a pod on no node goes at once")
def _(stage: ApiStage) -> None:
    stage.api.ok(
        "POST",
        stage.core("pods"),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": _SPEC},
    )
    stage.api.ok("DELETE", stage.core("pods", "one"))
    refused(stage.api.call("GET", stage.core("pods", "one")), 404, "NotFound")


@behaviour("a pod on a node is given its grace, and goes at once when given none")
def _(stage: ApiStage) -> None:
    spec = {**_SPEC, "nodeName": "somewhere", "terminationGracePeriodSeconds": 7}
    stage.api.ok(
        "POST",
        stage.core("pods"),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec},
    )
    found = stage.api.ok("DELETE", stage.core("pods", "one"))
    assert (
        found["metadata"]["deletionGracePeriodSeconds"] == 7
        and found["metadata"]["deletionTimestamp"]
    )
    stage.api.ok("GET", stage.core("pods", "one"))
    stage.api.ok("DELETE", stage.core("pods", "one"), gracePeriodSeconds=0)
    refused(stage.api.call("GET", stage.core("pods", "one")), 404, "NotFound")


@behaviour("a namespace that is deleted is Terminating and takes nothing new")
def _(stage: ApiStage) -> None:
    name = f"{stage.namespace}-leaving"
    stage.api.ok(
        "POST",
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
    )
    held = config("held")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    stage.api.ok("POST", f"/api/v1/namespaces/{name}/configmaps", held)
    found = stage.api.ok("DELETE", f"/api/v1/namespaces/{name}")
    assert found["status"]["phase"] == "Terminating" and found["metadata"]["deletionTimestamp"]
    answer = stage.api.call("POST", f"/api/v1/namespaces/{name}/configmaps", config("conf"))
    refused(answer, 403, "Forbidden", "because it is being terminated")
    assert answer.value["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    stage.api.ok(
        "PATCH",
        f"/api/v1/namespaces/{name}/configmaps/held",
        {"metadata": {"finalizers": None}},
        form=MERGE_PATCH,
    )


@behaviour("a namespace goes when everything in it has gone", needs="controllers")
def _(stage: ApiStage) -> None:
    name = f"{stage.namespace}-cascade"
    stage.api.ok(
        "POST",
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
    )
    held = config("held")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    stage.api.ok("POST", f"/api/v1/namespaces/{name}/configmaps", held)
    stage.api.ok("POST", f"/api/v1/namespaces/{name}/configmaps", config("free"))
    stage.api.ok("DELETE", f"/api/v1/namespaces/{name}")
    stage.eventually(
        lambda: stage.api.call("GET", f"/api/v1/namespaces/{name}/configmaps/free").code == 404
    )
    found = stage.eventually(
        lambda: (
            stage.api.ok("GET", f"/api/v1/namespaces/{name}").get("status", {}).get("conditions")
        )
    )
    said = " ".join(one["message"] for one in found)
    assert "example.com/wait in 1 resource instances" in said
    stage.api.ok(
        "PATCH",
        f"/api/v1/namespaces/{name}/configmaps/held",
        {"metadata": {"finalizers": None}},
        form=MERGE_PATCH,
    )
    stage.eventually(lambda: stage.api.call("GET", f"/api/v1/namespaces/{name}").code == 404)


_SPEC = {"containers": [{"name": "main", "image": "nginx:1.25"}]}
