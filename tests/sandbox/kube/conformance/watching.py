"""Watches."""

from __future__ import annotations

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, refused
from tests.support.kube.client import MERGE_PATCH


@behaviour("a watch tells what happens after the version it starts from")
def _(stage: ApiStage) -> None:
    version = stage.api.ok("GET", stage.core("secrets"))["metadata"]["resourceVersion"]
    path = stage.core("secrets", "one")
    stage.api.ok(
        "POST",
        stage.core("secrets"),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}},
    )
    stage.api.ok("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, form=MERGE_PATCH)
    stage.api.ok("DELETE", path)
    seen = []
    for event in stage.api.watch(
        stage.core("secrets"), resourceVersion=version, fieldSelector="metadata.name=one"
    ):
        seen.append(event)
        if event["type"] == "DELETED":
            break
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions)) and versions[0] > int(version)


@behaviour("a watch from nowhere first tells what is there")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1")
    event = next(
        iter(stage.api.watch(stage.core("configmaps"), fieldSelector="metadata.name=conf"))
    )
    assert event["type"] == "ADDED" and event["object"]["data"] == {"a": "1"}


@behaviour("a watch tells of an object that stops to match as if it were gone")
def _(stage: ApiStage) -> None:
    body = config("conf")
    body["metadata"]["labels"] = {"app": "x"}
    version = stage.api.ok("POST", stage.core("configmaps"), body)["metadata"]["resourceVersion"]
    stage.api.ok(
        "PATCH",
        stage.core("configmaps", "conf"),
        {"metadata": {"labels": {"app": "y"}}},
        form=MERGE_PATCH,
    )
    event = next(
        iter(
            stage.api.watch(
                stage.core("configmaps"), resourceVersion=version, labelSelector="app=x"
            )
        )
    )
    assert event["type"] == "DELETED"
    event = next(
        iter(
            stage.api.watch(
                stage.core("configmaps"), resourceVersion=version, labelSelector="app=y"
            )
        )
    )
    assert event["type"] == "ADDED"


@behaviour("a watch ends when its time is over")
def _(stage: ApiStage) -> None:
    version = stage.api.ok("GET", stage.core("secrets"))["metadata"]["resourceVersion"]
    assert (
        list(
            stage.api.watch(
                stage.core("secrets"),
                seconds=1,
                resourceVersion=version,
                fieldSelector="metadata.name=none",
            )
        )
        == []
    )


@behaviour("a watch of one object, by the path that older clients use")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1")
    stage.config("other")
    path = stage.core("configmaps", "conf").replace("/api/v1/", "/api/v1/watch/")
    seen = [event["object"]["metadata"]["name"] for event in stage.api.watch(path, seconds=1)]
    assert seen == ["conf"]


@behaviour("a selector that cannot be read is a bad request, also for a watch")
def _(stage: ApiStage) -> None:
    refused(
        stage.api.call("GET", stage.core("pods"), watch="true", fieldSelector="spec.nothing=1"),
        400,
        "BadRequest",
    )
