"""Custom resource definitions and what they add."""

from __future__ import annotations

import re

from tests.sandbox.kube.conformance import ApiStage, behaviour, refused
from tests.sandbox.kube.conformance.toys import DEFINITIONS, definition, toys
from tests.support.kube.client import MERGE_PATCH


@behaviour("a definition becomes Established, is discovered, and then its kind is served")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        found = stage.api.ok("GET", f"{DEFINITIONS}/toys.{kind.group}")
        assert found["status"]["acceptedNames"]["listKind"] == "ToyList" and found["status"][
            "storedVersions"
        ] == ["v1"]
        resources = stage.eventually(lambda: stage.api.call("GET", f"/apis/{kind.group}/v1").value)[
            "resources"
        ]
        assert (
            resources[0]["name"] == "toys"
            and resources[0]["shortNames"] == ["ty"]
            and resources[0]["namespaced"]
        )
        assert stage.api.ok("GET", kind.path())["kind"] == "ToyList"


@behaviour("a definition must be named after what it defines, with a structural schema")
def _(stage: ApiStage) -> None:
    body = definition(f"{stage.namespace}.example.com")
    wrong = {**body, "metadata": {"name": "other"}}
    refused(stage.api.call("POST", DEFINITIONS, wrong), 422, "Invalid", "metadata.name")
    bare = definition(f"{stage.namespace}.example.com", schema=None)
    refused(stage.api.call("POST", DEFINITIONS, bare), 422, "Invalid", "schemas are required")


@behaviour("custom objects have generations, uids and defaults")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        made = kind.make(size=3)
        assert (
            made["spec"] == {"size": 3, "colour": "red"}
            and made["metadata"]["generation"] == 1
            and made["metadata"]["uid"]
        )
        changed = stage.api.ok("PATCH", kind.path("one"), {"spec": {"size": 4}}, form=MERGE_PATCH)
        assert changed["metadata"]["generation"] == 2


@behaviour("a schema refuses: missing, too large, not listed, not matching, of the wrong type")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        for spec, field, words in (
            ({}, "spec.size", "Required value"),
            ({"size": 11}, "spec.size", "should be less than or equal to 10"),
            ({"size": 0}, "spec.size", "should be greater than or equal to 1"),
            ({"size": 1, "colour": "green"}, "spec.colour", "Unsupported value"),
            ({"size": 1, "code": "A"}, "spec.code", "should match"),
            ({"size": "x"}, "spec.size", "must be of type integer"),
            ({"size": 1, "parts": [{"count": 1}]}, "spec.parts[0].name", "Required value"),
        ):
            answer = stage.api.call("POST", kind.path(), kind.toy(**spec))
            refused(answer, 422, "Invalid", words)
            # Older servers leave out which item of a list it is.
            fields = [cause["field"] for cause in answer.value["details"]["causes"]]
            assert field in fields or re.sub(r"\[\d+\]", "", field) in fields, answer.message


@behaviour("fields that a schema does not know are pruned, unless they are to be preserved")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        made = kind.make(size=1, unknown=1, free={"anything": {"goes": True}})
        assert made["spec"] == {"size": 1, "colour": "red", "free": {"anything": {"goes": True}}}


@behaviour("a field can be a number or a text")
def _(stage: ApiStage) -> None:
    spec = {"type": "object", "properties": {"share": {"x-kubernetes-int-or-string": True}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    with toys(stage, schema=schema) as kind:
        assert kind.make("one", share="50%")["spec"] == {"share": "50%"} and kind.make(
            "two", share=3
        )["spec"] == {"share": 3}
        refused(
            stage.api.call("POST", kind.path(), kind.toy("three", share=[])),
            422,
            "Invalid",
            "spec.share",
        )


@behaviour("a custom status has its own door where the definition says so")
def _(stage: ApiStage) -> None:
    with toys(stage, subresources={"status": {}}) as kind:
        body = kind.toy(size=1)
        body["status"] = {"phase": "Early"}
        assert "status" not in stage.api.ok("POST", kind.path(), body)
        updated = stage.api.ok(
            "PATCH",
            kind.path("one", "status"),
            {"status": {"phase": "Done"}, "spec": {"size": 9}},
            form=MERGE_PATCH,
        )
        assert (
            updated["status"] == {"phase": "Done"}
            and updated["spec"]["size"] == 1
            and updated["metadata"]["generation"] == 1
        )


@behaviour("without that door the status is part of the object")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        body = kind.toy(size=1)
        body["status"] = {"phase": "Early"}
        assert stage.api.ok("POST", kind.path(), body)["status"] == {"phase": "Early"}
        assert (
            stage.api.call(
                "PATCH", kind.path("one", "status"), {"status": {}}, form=MERGE_PATCH
            ).code
            == 404
        )


@behaviour("a custom scale reads and writes the paths it names")
def _(stage: ApiStage) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    with toys(stage, subresources={"status": {}, "scale": scale}) as kind:
        kind.make(size=3)
        found = stage.api.ok("GET", kind.path("one", "scale"))
        assert found["kind"] == "Scale" and found["spec"]["replicas"] == 3
        found["spec"]["replicas"] = 5
        stage.api.ok("PUT", kind.path("one", "scale"), found)
        assert stage.api.ok("GET", kind.path("one"))["spec"]["size"] == 5


@behaviour("a custom object is replaced only with its resource version")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        kind.make(size=1)
        answer = stage.api.call("PUT", kind.path("one"), kind.toy(size=2))
        refused(
            answer, 422, "Invalid", "metadata.resourceVersion", "must be specified for an update"
        )


@behaviour("custom objects are applied with owners, keyed lists included")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        stage.applied(kind.path("one"), kind.toy(size=1, parts=[{"name": "a", "count": 1}]), "one")
        stage.applied(
            kind.path("one"),
            {**kind.toy(), "spec": {"size": 1, "parts": [{"name": "b", "count": 2}]}},
            "two",
        )
        found = stage.applied(
            kind.path("one"), kind.toy(size=1, parts=[{"name": "a", "count": 7}]), "one"
        )
        assert {part["name"]: part["count"] for part in found["spec"]["parts"]} == {"a": 7, "b": 2}
        refused(
            stage.apply(kind.path("one"), kind.toy(size=2), "two"), 409, "Conflict", ".spec.size"
        )


@behaviour("a strategic merge patch is not for custom objects")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        kind.make(size=1)
        answer = stage.api.call(
            "PATCH",
            kind.path("one"),
            {"spec": {"size": 2}},
            form="application/strategic-merge-patch+json",
        )
        refused(answer, 415, "UnsupportedMediaType")


@behaviour("printer columns are the columns of a table")
def _(stage: ApiStage) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
    ]
    with toys(stage, additionalPrinterColumns=columns) as kind:
        kind.make(size=3)
        table = stage.api.ok(
            "GET",
            kind.path(),
            accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        )
        assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Size", "Colour"]
        assert table["rows"][0]["cells"] == ["one", 3, "red"]


@behaviour("the versions of a kind show the same objects")
def _(stage: ApiStage) -> None:
    group = f"{stage.namespace}.example.com"
    body = definition(group)
    body["spec"]["versions"].append(
        {**body["spec"]["versions"][0], "name": "v1beta1", "storage": False}
    )
    with toys(stage, body=body) as kind:
        kind.make(size=1)
        older = stage.group(f"{group}/v1beta1", "toys", "one")
        stage.eventually(lambda: stage.api.call("GET", older).code == 200)
        assert stage.api.ok("GET", older)["apiVersion"] == f"{group}/v1beta1"
        stage.api.ok("PATCH", older, {"spec": {"size": 2}}, form=MERGE_PATCH)
        found = stage.api.ok("GET", kind.path("one"))
        assert (
            found["spec"]["size"] == 2
            and found["apiVersion"] == f"{group}/v1"
            and found["metadata"]["generation"] == 2
        )
        groups = {one["name"]: one for one in stage.api.ok("GET", "/apis")["groups"]}
        assert [one["version"] for one in groups[group]["versions"]] == ["v1", "v1beta1"]


@behaviour("with a definition go its objects, and then its kind")
def _(stage: ApiStage) -> None:
    with toys(stage) as kind:
        kind.make(size=1)
    stage.eventually(lambda: stage.api.call("GET", f"{DEFINITIONS}/toys.{kind.group}").code == 404)
    stage.eventually(lambda: stage.api.call("GET", kind.path()).code == 404)
