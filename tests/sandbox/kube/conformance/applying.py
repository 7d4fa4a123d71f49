"""Server-side apply: who owns what, and what happens when two want the same field."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, deployment, refused
from tests.support.kube.client import APPLY_PATCH, MERGE_PATCH


def owners(one: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields of each manager, as the object tells them."""
    return {entry["manager"]: entry["fieldsV1"] for entry in one["metadata"]["managedFields"]}


@behaviour("applying makes what is not there, and says so by 201")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    assert stage.apply(path, config("conf", a="1"), "one").code == 201
    assert stage.apply(path, config("conf", a="1"), "one").code == 200


@behaviour("applying the same again changes nothing, not even the resource version")
def _(stage: ApiStage) -> None:
    path = stage.apps("deployments", "web")
    first = stage.applied(path, deployment(), "one")
    assert stage.applied(path, deployment(), "one") == first


@behaviour("managed fields say who applied what")
def _(stage: ApiStage) -> None:
    found = stage.applied(stage.core("configmaps", "conf"), config("conf", a="1"), "one")
    entry = found["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"], entry["apiVersion"], entry["fieldsType"]) == (
        "one",
        "Apply",
        "v1",
        "FieldsV1",
    )
    assert entry["fieldsV1"]["f:data"]["f:a"] == {}


@behaviour("items of keyed lists are owned one by one")
def _(stage: ApiStage) -> None:
    found = stage.applied(stage.apps("deployments", "web"), deployment(), "one")
    spec = owners(found)["one"]["f:spec"]["f:template"]["f:spec"]
    assert set(spec["f:containers"]['k:{"name":"main"}']) == {".", "f:name", "f:image"}


@behaviour("defaults belong to nobody")
def _(stage: ApiStage) -> None:
    found = stage.applied(stage.apps("deployments", "web"), deployment(), "one")
    assert (
        "f:strategy" not in owners(found)["one"]["f:spec"]
        and found["spec"]["strategy"]["type"] == "RollingUpdate"
    )


@behaviour("who makes or updates an object owns what it set, as Update")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.core("configmaps"), config("conf", a="1"), fieldManager="maker")
    applied = stage.api.ok(
        "PATCH",
        stage.core("configmaps", "conf"),
        {"data": {"b": "2"}},
        form=MERGE_PATCH,
        fieldManager="patcher",
    )
    entries = {entry["manager"]: entry for entry in applied["metadata"]["managedFields"]}
    assert entries["maker"]["operation"] == entries["patcher"]["operation"] == "Update"
    assert "f:a" in entries["maker"]["fieldsV1"]["f:data"] and set(
        entries["patcher"]["fieldsV1"]["f:data"]
    ) == {"f:b"}


@behaviour("without a field manager, the client's name stands for it")
def _(stage: ApiStage) -> None:
    assert set(owners(stage.config("conf", a="1"))) == {"conformance"}


@behaviour(
    "a field that someone else owns with another value is a conflict that names the owner and the"
    " field"
)
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1"), "one")
    answer = stage.apply(path, config("conf", a="2"), "two")
    refused(answer, 409, "Conflict", 'Apply failed with 1 conflict: conflict with "one"', ".data.a")
    cause = answer.value["details"]["causes"][0]
    assert (
        cause["reason"] == "FieldManagerConflict"
        and cause["field"] == ".data.a"
        and '"one"' in cause["message"]
    )


@behaviour("several conflicts are all told")
def _(stage: ApiStage) -> None:
    path = stage.apps("deployments", "web")
    stage.applied(path, deployment(), "one")
    answer = stage.apply(path, deployment(replicas=5, image="other:1"), "two")
    refused(answer, 409, "Conflict", "Apply failed with 2 conflicts", ".spec.replicas")
    fields = {cause["field"] for cause in answer.value["details"]["causes"]}
    assert fields == {".spec.replicas", '.spec.template.spec.containers[name="main"].image'}


@behaviour("what an update owns conflicts too")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1"), "one")
    stage.api.ok("PATCH", path, {"data": {"a": "2"}}, form=MERGE_PATCH, fieldManager="hand")
    refused(
        stage.apply(path, config("conf", a="1"), "one"),
        409,
        "Conflict",
        'conflict with "hand" using v1',
    )


@behaviour("the same value is no conflict: both own it")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1"), "one")
    found = stage.applied(path, config("conf", a="1"), "two")
    assert "f:a" in owners(found)["one"]["f:data"] and "f:a" in owners(found)["two"]["f:data"]


@behaviour("force takes the field over")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1", b="1"), "one")
    found = stage.applied(path, config("conf", a="2"), "two", force="true")
    assert found["data"] == {"a": "2", "b": "1"}
    assert (
        set(owners(found)["one"]["f:data"]) == {"f:b"} and "f:a" in owners(found)["two"]["f:data"]
    )


@behaviour("what is no longer applied is removed")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1", b="2"), "one")
    assert stage.applied(path, config("conf", a="1"), "one")["data"] == {"a": "1"}


@behaviour("what is no longer applied stays while someone else owns it")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1", b="2"), "one")
    stage.applied(path, config("conf", b="2"), "two")
    found = stage.applied(path, config("conf", a="1"), "one")
    assert found["data"] == {"a": "1", "b": "2"} and set(owners(found)["one"]["f:data"]) == {"f:a"}


@behaviour("an item that is no longer applied leaves its list, the others stay")
def _(stage: ApiStage) -> None:
    path = stage.apps("deployments", "web")
    both = deployment()
    both["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "busybox:1"})
    stage.applied(path, both, "one")
    found = stage.applied(path, deployment(), "one")
    assert [one["name"] for one in found["spec"]["template"]["spec"]["containers"]] == ["main"]


@behaviour("two managers can have variables in one container")
def _(stage: ApiStage) -> None:
    path = stage.apps("deployments", "web")
    stage.applied(path, deployment(), "one")
    container = {"name": "main", "env": [{"name": "EXTRA", "value": "1"}]}
    partial = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    stage.applied(path, partial, "two")
    found = stage.applied(path, deployment(replicas=3), "one")
    container = found["spec"]["template"]["spec"]["containers"][0]
    assert (
        container["env"] == [{"name": "EXTRA", "value": "1"}]
        and container["image"] == "nginx:1.25"
        and found["spec"]["replicas"] == 3
    )


@behaviour("a manager that applies less gives up the rest, and a default comes back")
def _(stage: ApiStage) -> None:
    path = stage.apps("deployments", "web")
    stage.applied(path, deployment(replicas=3), "one")
    without = deployment()
    del without["spec"]["replicas"]
    assert stage.applied(path, without, "one")["spec"]["replicas"] == 1


@behaviour("applying needs a field manager")
def _(stage: ApiStage) -> None:
    answer = stage.api.call(
        "PATCH", stage.core("configmaps", "conf"), config("conf"), form=APPLY_PATCH
    )
    assert answer.code in (400, 422) and "fieldManager" in answer.message


@behaviour("a field that the kind does not have cannot be applied")
def _(stage: ApiStage) -> None:
    body = deployment()
    body["spec"]["nonsense"] = 1
    answer = stage.apply(stage.apps("deployments", "web"), body, "one")
    assert answer.code >= 400 and ".spec.nonsense: field not declared in schema" in answer.message


@behaviour("a dry run of an apply shows conflicts and changes, and keeps nothing")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf", a="1"), "one")
    assert stage.applied(path, config("conf", a="2"), "one", dryRun="All")["data"] == {"a": "2"}
    refused(stage.apply(path, config("conf", a="3"), "two", dryRun="All"), 409, "Conflict")
    assert stage.api.ok("GET", path)["data"] == {"a": "1"}


@behaviour("ports are keyed by number and protocol")
def _(stage: ApiStage) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "dns"},
        "spec": {
            "ports": [
                {"name": "tcp", "port": 53, "protocol": "TCP"},
                {"name": "udp", "port": 53, "protocol": "UDP"},
            ]
        },
    }
    found = stage.applied(stage.core("services", "dns"), service, "one")
    assert set(owners(found)["one"]["f:spec"]["f:ports"]) == {
        'k:{"port":53,"protocol":"TCP"}',
        'k:{"port":53,"protocol":"UDP"}',
    }
    assert len(stage.applied(stage.core("services", "dns"), service, "one")["spec"]["ports"]) == 2


@behaviour("finalizers are a set: each has its own owner")
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    for manager, finalizer in (("one", "example.com/one"), ("two", "example.com/two")):
        body = config("conf", shared="yes")
        body["metadata"]["finalizers"] = [finalizer]
        found = stage.applied(path, body, manager)
    assert sorted(found["metadata"]["finalizers"]) == ["example.com/one", "example.com/two"]
    found = stage.applied(path, config("conf", shared="yes"), "one")
    assert found["metadata"]["finalizers"] == ["example.com/two"]
    stage.applied(path, config("conf", shared="yes"), "two")


@behaviour("an empty map that another applied is a conflict", since=33)
def _(stage: ApiStage) -> None:
    path = stage.core("configmaps", "conf")
    stage.applied(path, config("conf"), "one")
    stage.applied(path, config("conf"), "one")
    refused = stage.apply(path, config("conf"), "two")
    assert refused.code == 409 and '"one": .data' in refused.message, refused.message
    stage.applied(path, config("conf"), "two", force="true")


@behaviour("the status is owned apart from the rest")
def _(stage: ApiStage) -> None:
    stage.applied(stage.apps("deployments", "web"), deployment(), "one")
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 2}}
    found = stage.applied(stage.apps("deployments", "web", "status"), status, "controller")
    assert found["status"]["replicas"] == 2
    assert (
        stage.applied(stage.apps("deployments", "web"), deployment(), "one")["status"]["replicas"]
        == 2
    )
