"""Listing objects: order, selection and pages."""

from __future__ import annotations

from tests.sandbox.kube.conformance import ApiStage, behaviour, pod, refused


@behaviour("lists have a resource version, and items in the order of their names")
def _(stage: ApiStage) -> None:
    for name in ("b", "c", "a"):
        stage.config(name)
    listing = stage.api.ok("GET", stage.core("configmaps"), labelSelector="!none")
    names = [
        one["metadata"]["name"]
        for one in listing["items"]
        if one["metadata"]["name"] != "kube-root-ca.crt"
    ]
    assert (
        listing["kind"] == "ConfigMapList"
        and listing["metadata"]["resourceVersion"].isdigit()
        and names == ["a", "b", "c"]
    )


@behaviour("labels select by equality, sets, presence and absence")
def _(stage: ApiStage) -> None:
    for name, labels in {
        "a": {"app": "x", "tier": "1"},
        "b": {"app": "y", "tier": "2"},
        "c": {"app": "x"},
    }.items():
        stage.api.ok(
            "POST",
            stage.core("secrets"),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}},
        )
    for selector, names in _SELECTED.items():
        found = stage.api.ok("GET", stage.core("secrets"), labelSelector=f"{selector},app")
        assert "".join(one["metadata"]["name"] for one in found["items"]) == names, selector
    refused(stage.api.call("GET", stage.core("secrets"), labelSelector="a=b=c"), 400, "BadRequest")


@behaviour("fields select by name, and by those that a kind offers")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.core("pods"), pod("one"))
    stage.api.ok("POST", stage.core("pods"), pod("two", nodeName="elsewhere"))

    def names(selector: str) -> list[str]:
        return [
            one["metadata"]["name"]
            for one in stage.api.ok("GET", stage.core("pods"), fieldSelector=selector)["items"]
        ]

    assert names("metadata.name=two") == ["two"] and names("spec.nodeName=elsewhere") == ["two"]
    assert names("spec.nodeName!=elsewhere,status.phase=Pending") == ["one"]
    refused(
        stage.api.call("GET", stage.core("pods"), fieldSelector="spec.nothing=1"),
        400,
        "BadRequest",
        "field label not supported",
    )


@behaviour("a long list comes in pages")
def _(stage: ApiStage) -> None:
    for name in "abcde":
        stage.api.ok(
            "POST",
            stage.core("secrets"),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}},
        )
    seen: list[str] = []
    token = ""
    while True:
        page = stage.api.ok(
            "GET", stage.core("secrets"), limit=2, **({"continue": token} if token else {})
        )
        assert len(page["items"]) <= 2
        seen += [one["metadata"]["name"] for one in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
        assert page["metadata"]["remainingItemCount"] > 0
    assert [name for name in seen if len(name) == 1] == list("abcde")


@behaviour("a list of all namespaces holds each namespace's")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1")
    found = stage.api.ok("GET", "/api/v1/configmaps", fieldSelector="metadata.name=conf")
    assert stage.namespace in {one["metadata"]["namespace"] for one in found["items"]}


_SELECTED = {
    "app=x": "ac",
    "app==x,tier": "a",
    "app!=x": "b",
    "tier in (1,2)": "ab",
    "tier notin (1)": "bc",
    "!tier": "c",
    "app in (x),!tier": "c",
}
