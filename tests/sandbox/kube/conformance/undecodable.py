"""Values that their kind cannot hold. What a server answers depends on how they were sent: it reads
the body of a creation or a replacement before anything else (400), a patched object as the result
of the patch (422), and an applied one while it merges it, which it takes for its own error (500).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, deployment, job, refused
from tests.sandbox.kube.conformance.toys import toys
from tests.support.kube.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Answer


@dataclass(frozen=True)
class Wrong:
    """A field, given a value that it cannot hold."""

    path: str  # of the kind
    body: dict[str, Any]  # a good object
    field: tuple[str, ...]
    value: Any
    words: str = ""  # of the refusal, where all releases have the same

    @property
    def patch(self) -> dict[str, Any]:
        return with_field({}, self.field, self.value)

    @property
    def whole(self) -> dict[str, Any]:
        return with_field(self.body, self.field, self.value)


def with_field(body: dict[str, Any], field: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = field
    inner = with_field(body.get(first) or {}, tuple(rest), value) if rest else value
    return {**body, first: inner}


def _wrong(stage: ApiStage) -> list[Wrong]:
    configs, deployments = stage.core("configmaps"), stage.apps("deployments")
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    storage = ("spec", "resources", "requests", "storage")
    made = ("metadata", "creationTimestamp")
    return [
        Wrong(configs, config("conf"), made, "yesterday", 'parsing time "yesterday"'),
        Wrong(configs, config("conf"), made, "2026-11-17", 'parsing time "2026-11-17"'),
        Wrong(configs, config("conf"), ("binaryData",), {"a": "%"}, "illegal base64"),
        Wrong(deployments, deployment(), ("spec", "replicas"), "two"),
        Wrong(deployments, deployment(), ("spec", "paused"), 1),
        Wrong(
            stage.core("persistentvolumeclaims"), claim, storage, "much", "quantities must match"
        ),
    ]


def _refused(answer: Answer, code: int, reason: str, wrong: Wrong) -> None:
    try:
        refused(answer, code, reason, wrong.words)
    except AssertionError as error:
        raise AssertionError(f"{wrong.field} {wrong.value!r}: {error}") from error


@behaviour("a creation and a replacement with a value that cannot be read are bad requests")
def _(stage: ApiStage) -> None:
    for wrong in _wrong(stage):
        _refused(stage.api.call("POST", wrong.path, wrong.whole), 400, "BadRequest", wrong)
        name = wrong.body["metadata"]["name"]
        stage.api.call("POST", wrong.path, wrong.body)
        answer = stage.api.call("PUT", f"{wrong.path}/{name}", wrong.whole)
        _refused(answer, 400, "BadRequest", wrong)


@behaviour("a JSON, merge or strategic patch with a value that cannot be read is invalid")
def _(stage: ApiStage) -> None:
    for wrong in _wrong(stage):
        stage.api.call("POST", wrong.path, wrong.body)
        path = f"{wrong.path}/{wrong.body['metadata']['name']}"
        before = stage.api.ok("GET", path)
        steps = [{"op": "add", "path": "/" + "/".join(wrong.field), "value": wrong.value}]
        for form, patch in (
            (JSON_PATCH, steps),
            (MERGE_PATCH, wrong.patch),
            (STRATEGIC_PATCH, wrong.patch),
        ):
            answer = stage.api.call("PATCH", path, patch, form=form)
            _refused(answer, 422, "Invalid", wrong)
            assert answer.value["details"]["causes"][0]["field"] == "patch"
        assert stage.api.ok("GET", path) == before


@behaviour("an apply with a value that cannot be read is an error of the server's, new or not")
def _(stage: ApiStage) -> None:
    for wrong in _wrong(stage):
        path = f"{wrong.path}/{wrong.body['metadata']['name']}"
        _refused(stage.apply(path, wrong.whole, "one"), 500, "", wrong)
    for wrong in _wrong(stage):
        stage.api.call("POST", wrong.path, wrong.body)
        path = f"{wrong.path}/{wrong.body['metadata']['name']}"
        _refused(stage.apply(path, wrong.whole, "one", force="true"), 500, "", wrong)


@behaviour("a patch of a status with a time that is none is invalid")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.group("batch/v1", "jobs"), job(suspend=True))
    path = stage.group("batch/v1", "jobs", "work", "status")
    patch = {"status": {"startTime": "yesterday"}}
    for form in (MERGE_PATCH, STRATEGIC_PATCH):
        answer = stage.api.call("PATCH", path, patch, form=form)
        refused(answer, 422, "Invalid", 'parsing time "yesterday"')


@behaviour("the metadata of a custom object is read as that of others")
def _(stage: ApiStage) -> None:
    with toys(stage) as served:
        served.make(size=1)
        patch = {"metadata": {"creationTimestamp": "yesterday"}}
        answer = stage.api.call("PATCH", served.path("one"), patch, form=MERGE_PATCH)
        refused(answer, 422, "Invalid", 'parsing time "yesterday"')
        body = with_field(served.toy("two", size=1), ("metadata", "creationTimestamp"), "yesterday")
        refused(stage.api.call("POST", served.path(), body), 400, "BadRequest", "parsing time")


@behaviour("a strict patch with an unknown field is invalid", since=25)
def _(stage: ApiStage) -> None:
    stage.config("conf")
    for form in (MERGE_PATCH, STRATEGIC_PATCH):
        answer = stage.api.call(
            "PATCH",
            stage.core("configmaps", "conf"),
            {"dta": {"a": "1"}},
            form=form,
            fieldValidation="Strict",
        )
        refused(answer, 422, "Invalid", 'strict decoding error: unknown field "dta"')
