"""The three patches that are not apply."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.sandbox.kube.conformance import ApiStage, behaviour, deployment, refused
from tests.support.kube.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH


@behaviour("a JSON patch tests, adds, replaces and removes, all or nothing")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1", b="2")
    path = stage.core("configmaps", "conf")
    steps = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "add", "path": "/data/c", "value": "3"},
        {"op": "remove", "path": "/data/b"},
    ]
    assert stage.api.ok("PATCH", path, steps, form=JSON_PATCH)["data"] == {"a": "9", "c": "3"}
    wrong = [
        {"op": "replace", "path": "/data/a", "value": "0"},
        {"op": "test", "path": "/data/c", "value": "no"},
    ]
    assert stage.api.call("PATCH", path, wrong, form=JSON_PATCH).code == 422
    assert stage.api.ok("GET", path)["data"] == {"a": "9", "c": "3"}


@behaviour("a merge patch merges maps, replaces lists and removes nulls")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.apps("deployments"), deployment())
    containers = [{"name": "other", "image": "busybox:1"}]
    patch = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    patched = stage.api.ok("PATCH", stage.apps("deployments", "web"), patch, form=MERGE_PATCH)
    assert [one["name"] for one in patched["spec"]["template"]["spec"]["containers"]] == [
        "other"
    ] and patched["metadata"]["labels"] == {"a": "b"}
    patched = stage.api.ok(
        "PATCH", stage.apps("deployments", "web"), {"metadata": {"labels": None}}, form=MERGE_PATCH
    )
    assert "labels" not in patched["metadata"]


@behaviour("a strategic merge patch merges containers by name, and their variables by theirs")
def _(stage: ApiStage) -> None:
    body = deployment()
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]
    stage.api.ok("POST", stage.apps("deployments"), body)
    change = {
        "name": "main",
        "env": [{"name": "B", "value": "3"}, {"name": "A", "$patch": "delete"}],
    }
    patch = {
        "spec": {
            "template": {"spec": {"containers": [change, {"name": "side", "image": "busybox:1"}]}}
        }
    }
    found = stage.api.ok("PATCH", stage.apps("deployments", "web"), patch, form=STRATEGIC_PATCH)
    containers = {one["name"]: one for one in found["spec"]["template"]["spec"]["containers"]}
    assert set(containers) == {"main", "side"} and containers["main"]["image"] == "nginx:1.25"
    assert containers["main"]["env"] == [{"name": "B", "value": "3"}]


@behaviour("a strategic merge patch replaces lists that have no key, as tolerations")
def _(stage: ApiStage) -> None:
    stage.api.ok(
        "POST",
        stage.apps("deployments"),
        deployment(tolerations=[{"key": "a", "operator": "Exists"}]),
    )
    patch = {"spec": {"template": {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}}}}
    found = stage.api.ok("PATCH", stage.apps("deployments", "web"), patch, form=STRATEGIC_PATCH)
    assert found["spec"]["template"]["spec"]["tolerations"] == [{"key": "b", "operator": "Exists"}]


@behaviour(
    "a strategic merge patch can replace a map whole, and change a strategy with its retained keys"
)
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.apps("deployments"), deployment())
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    found = stage.api.ok("PATCH", stage.apps("deployments", "web"), patch, form=STRATEGIC_PATCH)
    assert found["spec"]["strategy"] == {"type": "Recreate"}


@behaviour("a patch with a resource version that is old is a conflict")
def _(stage: ApiStage) -> None:
    old = stage.config("conf", a="1")["metadata"]["resourceVersion"]
    path = stage.core("configmaps", "conf")
    stage.api.ok("PATCH", path, {"data": {"a": "2"}}, form=MERGE_PATCH)
    answer = stage.api.call(
        "PATCH", path, {"metadata": {"resourceVersion": old}, "data": {"a": "3"}}, form=MERGE_PATCH
    )
    refused(answer, 409, "Conflict", "the object has been modified")


@behaviour("a patch of what is not there is not found")
def _(stage: ApiStage) -> None:
    refused(
        stage.api.call("PATCH", stage.core("configmaps", "conf"), {"data": {}}, form=MERGE_PATCH),
        404,
        "NotFound",
    )


@behaviour("a patch in an unknown form is refused")
def _(stage: ApiStage) -> None:
    stage.config("conf")
    answer = stage.api.call(
        "PATCH", stage.core("configmaps", "conf"), {"data": {}}, form="application/json"
    )
    refused(answer, 415, "UnsupportedMediaType")


@behaviour("a patch of the status leaves the spec")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.apps("deployments"), deployment())
    patch = {"spec": {"replicas": 9}, "status": {"replicas": 3}}
    found = stage.api.ok(
        "PATCH", stage.apps("deployments", "web", "status"), patch, form=MERGE_PATCH
    )
    assert found["status"]["replicas"] == 3 and found["spec"]["replicas"] == 2


@behaviour("patches from many at once are all kept")
def _(stage: ApiStage) -> None:
    stage.config("conf")
    path = stage.core("configmaps", "conf")

    def patch(number: int) -> int:
        return stage.api.call(
            "PATCH", path, {"data": {f"key-{number}": "x"}}, form=MERGE_PATCH
        ).code

    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(patch, range(24)))
    assert set(codes) == {200} and len(stage.api.ok("GET", path)["data"]) == 24


@behaviour("of many that replace the same version one wins")
def _(stage: ApiStage) -> None:
    made = stage.config("conf")
    with ThreadPoolExecutor(4) as pool:
        bodies = [{**made, "data": {"who": str(number)}} for number in range(8)]
        codes = sorted(
            pool.map(
                lambda body: stage.api.call("PUT", stage.core("configmaps", "conf"), body).code,
                bodies,
            )
        )
    assert codes == [200] + [409] * 7


@behaviour("a dry run of a patch shows the change and keeps nothing")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1")
    path = stage.core("configmaps", "conf")
    assert stage.api.ok("PATCH", path, {"data": {"a": "2"}}, form=MERGE_PATCH, dryRun="All")[
        "data"
    ] == {"a": "2"}
    assert stage.api.ok("GET", path)["data"] == {"a": "1"}
