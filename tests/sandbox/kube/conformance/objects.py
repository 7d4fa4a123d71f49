"""Making, reading, replacing and listing objects."""

from __future__ import annotations

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, deployment, pod, refused


@behaviour("what is made has a uid, a creation time and a resource version")
def _(stage: ApiStage) -> None:
    answer = stage.api.call("POST", stage.core("configmaps"), config("conf", a="1"))
    metadata = answer.value["metadata"]
    assert answer.code == 201 and answer.value["kind"] == "ConfigMap"
    assert (
        len(metadata["uid"]) == 36
        and metadata["resourceVersion"].isdigit()
        and metadata["creationTimestamp"].endswith("Z")
    )
    assert metadata["namespace"] == stage.namespace


@behaviour("what is made can be read, and reads the same")
def _(stage: ApiStage) -> None:
    made = stage.config("conf", a="1")
    assert stage.api.ok("GET", stage.core("configmaps", "conf")) == made


@behaviour("what is not there is not found, by its name and kind")
def _(stage: ApiStage) -> None:
    answer = stage.api.call("GET", stage.apps("deployments", "nope"))
    refused(answer, 404, "NotFound", 'deployments.apps "nope" not found')
    assert answer.value["details"] == {"name": "nope", "group": "apps", "kind": "deployments"}


@behaviour("making the same thing twice is refused")
def _(stage: ApiStage) -> None:
    stage.config("conf")
    refused(
        stage.api.call("POST", stage.core("configmaps"), config("conf")),
        409,
        "AlreadyExists",
        'configmaps "conf" already exists',
    )


@behaviour("generateName gives a name of its own to each")
def _(stage: ApiStage) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "conf-"}}
    names = {
        stage.api.ok("POST", stage.core("configmaps"), body)["metadata"]["name"] for _ in range(3)
    }
    assert len(names) == 3 and all(name.startswith("conf-") and len(name) == 10 for name in names)


@behaviour("without a name nothing is made")
def _(stage: ApiStage) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    refused(
        stage.api.call("POST", stage.core("configmaps"), body),
        422,
        "Invalid",
        "name or generateName is required",
    )


@behaviour("a name must be a lowercase RFC 1123 subdomain")
def _(stage: ApiStage) -> None:
    answer = stage.api.call("POST", stage.core("configmaps"), config("Not_Good"))
    refused(answer, 422, "Invalid", 'ConfigMap "Not_Good" is invalid', "RFC 1123 subdomain")
    assert answer.value["details"]["causes"][0]["field"] == "metadata.name"


@behaviour("labels must be labels")
def _(stage: ApiStage) -> None:
    body = config("conf")
    body["metadata"]["labels"] = {"app": "not good!"}
    refused(
        stage.api.call("POST", stage.core("configmaps"), body), 422, "Invalid", "metadata.labels"
    )


@behaviour("annotations together have a limit of 256 KiB")
def _(stage: ApiStage) -> None:
    body = config("conf")
    body["metadata"]["annotations"] = {"big": "x" * 300_000}
    refused(
        stage.api.call("POST", stage.core("configmaps"), body),
        422,
        "Invalid",
        "metadata.annotations",
        "262144",
    )


@behaviour("a namespace that is not there takes nothing")
def _(stage: ApiStage) -> None:
    answer = stage.api.call("POST", "/api/v1/namespaces/not-there/configmaps", config("conf"))
    refused(answer, 404, "NotFound", 'namespaces "not-there" not found')


@behaviour("a namespace in the body must be the one in the path")
def _(stage: ApiStage) -> None:
    body = config("conf")
    body["metadata"]["namespace"] = "default"
    answer = stage.api.call("POST", stage.core("configmaps"), body)
    refused(answer, 400, "BadRequest", "does not match the namespace")


@behaviour("a body of another kind is a bad request")
def _(stage: ApiStage) -> None:
    assert stage.api.call("POST", stage.core("configmaps"), pod()).code == 400


@behaviour("a field of the wrong type is a bad request")
def _(stage: ApiStage) -> None:
    body = deployment()
    body["spec"]["replicas"] = "two"
    answer = stage.api.call("POST", stage.apps("deployments"), body)
    assert answer.code == 400 and answer.reason == "BadRequest"


@behaviour("fields that a kind does not have are dropped")
def _(stage: ApiStage) -> None:
    body = deployment()
    body["spec"]["nonsense"] = 1
    assert "nonsense" not in stage.api.ok("POST", stage.apps("deployments"), body)["spec"]


@behaviour("a replace with an old resource version is a conflict")
def _(stage: ApiStage) -> None:
    first = stage.config("conf", a="1")
    stage.api.ok("PUT", stage.core("configmaps", "conf"), {**first, "data": {"a": "2"}})
    answer = stage.api.call("PUT", stage.core("configmaps", "conf"), {**first, "data": {"a": "3"}})
    refused(answer, 409, "Conflict", "the object has been modified")


@behaviour("a replace without a resource version wins")
def _(stage: ApiStage) -> None:
    stage.config("conf", a="1", b="2")
    assert stage.api.ok("PUT", stage.core("configmaps", "conf"), config("conf", a="3"))["data"] == {
        "a": "3"
    }


@behaviour("a replace that changes nothing leaves the resource version")
def _(stage: ApiStage) -> None:
    made = stage.config("conf", a="1")
    again = stage.api.ok("PUT", stage.core("configmaps", "conf"), made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@behaviour("a replace of what is not there is not found")
def _(stage: ApiStage) -> None:
    refused(
        stage.api.call("PUT", stage.core("configmaps", "conf"), config("conf")), 404, "NotFound"
    )


@behaviour("a replace under another name is a bad request")
def _(stage: ApiStage) -> None:
    stage.config("conf")
    refused(
        stage.api.call("PUT", stage.core("configmaps", "conf"), config("other")),
        400,
        "BadRequest",
        "does not match the name on the URL",
    )


@behaviour("the uid and the creation time cannot be changed")
def _(stage: ApiStage) -> None:
    made = stage.config("conf")
    made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    refused(stage.api.call("PUT", stage.core("configmaps", "conf"), made), 409, "Conflict")


@behaviour("a dry run answers as if, and keeps nothing")
def _(stage: ApiStage) -> None:
    made = stage.api.ok("POST", stage.core("configmaps"), config("conf", a="1"), dryRun="All")
    assert made["data"] == {"a": "1"} and made["metadata"]["uid"]
    refused(stage.api.call("GET", stage.core("configmaps", "conf")), 404, "NotFound")


@behaviour("the generation counts changes of the spec, and only those")
def _(stage: ApiStage) -> None:
    made = stage.api.ok("POST", stage.apps("deployments"), deployment())
    assert made["metadata"]["generation"] == 1
    made["metadata"]["labels"] = {"a": "b"}
    made = stage.api.ok("PUT", stage.apps("deployments", "web"), made)
    assert made["metadata"]["generation"] == 1
    made["spec"]["replicas"] = 5
    assert (
        stage.api.ok("PUT", stage.apps("deployments", "web"), made)["metadata"]["generation"] == 2
    )


@behaviour("the status is written through its subresource alone")
def _(stage: ApiStage) -> None:
    made = stage.api.ok(
        "POST", stage.apps("deployments"), {**deployment(), "status": {"replicas": 7}}
    )
    assert made.get("status", {}) == {}
    made["status"] = {"replicas": 2, "observedGeneration": 1}
    assert stage.api.ok("PUT", stage.apps("deployments", "web"), made).get("status", {}) == {}
    made = stage.api.ok("GET", stage.apps("deployments", "web"))
    written = {**made, "status": {"replicas": 2}, "spec": {**made["spec"], "replicas": 9}}
    found = stage.api.ok("PUT", stage.apps("deployments", "web", "status"), written)
    assert (
        found["status"]["replicas"] == 2
        and found["spec"]["replicas"] == 2
        and found["metadata"]["generation"] == 1
    )


@behaviour("the scale reads and writes the replicas")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.apps("deployments"), deployment(replicas=2))
    scale = stage.api.ok("GET", stage.apps("deployments", "web", "scale"))
    assert (
        scale["kind"] == "Scale"
        and scale["spec"]["replicas"] == 2
        and scale["status"]["selector"] == "app=web"
    )
    scale["spec"]["replicas"] = 4
    stage.api.ok("PUT", stage.apps("deployments", "web", "scale"), scale)
    assert stage.api.ok("GET", stage.apps("deployments", "web"))["spec"]["replicas"] == 4
