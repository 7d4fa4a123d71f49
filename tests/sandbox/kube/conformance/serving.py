"""The front door: versions, discovery, schemas, who may come in."""

from __future__ import annotations

import json

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, deployment, refused
from tests.support.kube.client import MERGE_PATCH


@behaviour("the version has a major and a minor number")
def _(stage: ApiStage) -> None:
    version = stage.api.ok("GET", "/version")
    assert (
        version["major"] == "1"
        and int(version["minor"].rstrip("+")) >= 20
        and version["gitVersion"].startswith("v1.")
    )


@behaviour("health is told in plain text, to anybody")
def _(stage: ApiStage) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert stage.api.call("GET", path, token="").value == "ok"


@behaviour("without a token nothing is shown")
def _(stage: ApiStage) -> None:
    assert stage.api.call("GET", "/api/v1/namespaces", token="").code in (401, 403)
    refused(stage.api.call("GET", "/api/v1/namespaces", token="wrong"), 401, "Unauthorized")


@behaviour("discovery lists the groups with their versions")
def _(stage: ApiStage) -> None:
    assert stage.api.ok("GET", "/api")["versions"] == ["v1"]
    groups = {one["name"]: one for one in stage.api.ok("GET", "/apis")["groups"]}
    assert {
        "apps",
        "batch",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "apiextensions.k8s.io",
    } <= set(groups)
    assert groups["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert stage.api.ok("GET", "/apis/apps")["name"] == "apps"


@behaviour(
    "discovery lists a group's resources with their verbs, scope, short names and subresources"
)
def _(stage: ApiStage) -> None:
    core = {resource["name"]: resource for resource in stage.api.ok("GET", "/api/v1")["resources"]}
    assert (
        core["pods"]["shortNames"] == ["po"]
        and core["pods"]["namespaced"]
        and "watch" in core["pods"]["verbs"]
    )
    assert not core["nodes"]["namespaced"] and core["namespaces"]["shortNames"] == ["ns"]
    assert {"pods/log", "pods/exec", "pods/status", "pods/eviction", "nodes/status"} <= set(core)
    apps = {
        resource["name"]: resource for resource in stage.api.ok("GET", "/apis/apps/v1")["resources"]
    }
    assert apps["deployments/scale"]["kind"] == "Scale" and apps["deployments"]["categories"] == [
        "all"
    ]


@behaviour("a group, a version or a resource that is not there is not found")
def _(stage: ApiStage) -> None:
    for path in (
        "/apis/nothing.example.com/v1",
        "/apis/apps/v9/deployments",
        "/api/v1/nothings",
        "/nowhere",
    ):
        assert stage.api.call("GET", path).code == 404


@behaviour("the schemas of everything served can be read")
def _(stage: ApiStage) -> None:
    document = stage.api.ok("GET", "/openapi/v2")
    document = (
        json.loads(document) if isinstance(document, str) else document
    )  # not every version says that it is JSON
    assert document["swagger"] == "2.0"
    kinds = {
        one["kind"]
        for schema in document["definitions"].values()
        for one in schema.get("x-kubernetes-group-version-kind", ())
    }
    assert {"Pod", "Deployment", "CustomResourceDefinition"} <= kinds


@behaviour("a method that a path does not have is not allowed")
def _(stage: ApiStage) -> None:
    refused(stage.api.call("PUT", stage.core("configmaps"), {}), 405, "MethodNotAllowed")


@behaviour("one may ask what one may do")
def _(stage: ApiStage) -> None:
    attributes = {"namespace": stage.namespace, "verb": "delete", "resource": "pods"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = stage.api.call(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review
    )
    assert answer.code == 201 and answer.value["status"]["allowed"] is True


@behaviour("a body that is not JSON is a bad request")
def _(stage: ApiStage) -> None:
    refused(stage.api.call("POST", stage.core("configmaps"), b"{not json"), 400, "BadRequest")


@behaviour("YAML is taken where it is said to be YAML")
def _(stage: ApiStage) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: b}\n"
    assert stage.api.ok("POST", stage.core("configmaps"), text, form="application/yaml")[
        "data"
    ] == {"a": "b"}


@behaviour("a list comes as a table where the client asks for one")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1", b="2")
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = stage.api.ok("GET", stage.core("configmaps", "conf"), accept=accept)
    columns = [one["name"] for one in table["columnDefinitions"]]
    assert table["kind"] == "Table" and columns == ["Name", "Data", "Age"]
    row = table["rows"][0]
    assert row["cells"][:2] == ["conf", 2] and row["object"]["metadata"]["name"] == "conf"


@behaviour("only the metadata comes where the client asks for that")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1")
    accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
    found = stage.api.ok("GET", stage.core("configmaps", "conf"), accept=accept)
    assert (
        found["kind"] == "PartialObjectMetadata"
        and "data" not in found
        and found["metadata"]["name"] == "conf"
    )


@behaviour("each warning is a header of its own, with its quotes escaped", since=25)
def _(stage: ApiStage) -> None:
    body = {**config(), "dta": {}, "x": 1}
    answer = stage.api.call("POST", stage.core("configmaps"), body)
    assert answer.code == 201
    for name in ("dta", "x"):
        assert f'299 - "unknown field \\"{name}\\""' in answer.headers["Warning"]


@behaviour("a namespace may warn of pods that a standard does not admit", since=23)
def _(stage: ApiStage) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    path = f"/api/v1/namespaces/{stage.namespace}"
    stage.api.ok("PATCH", path, label, form=MERGE_PATCH)
    answer = stage.api.call("POST", stage.apps("deployments"), deployment())
    assert answer.code == 201
    assert 'would violate PodSecurity \\"restricted:latest\\": ' in answer.headers["Warning"]
