"""Defaults and refusals of pods and of what makes them."""

from __future__ import annotations

from tests.sandbox.kube.conformance import ApiStage, behaviour, deployment, job, pod, refused
from tests.support.kube.client import MERGE_PATCH


@behaviour("a deployment is given its defaults")
def _(stage: ApiStage) -> None:
    body = deployment()
    del body["spec"]["replicas"]
    spec = stage.api.ok("POST", stage.apps("deployments"), body)["spec"]
    assert (
        spec["replicas"] == 1
        and spec["revisionHistoryLimit"] == 10
        and spec["progressDeadlineSeconds"] == 600
    )
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    template = spec["template"]["spec"]
    assert (
        template["restartPolicy"] == "Always"
        and template["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    )


@behaviour("a pod is Pending, with its defaults and its quality of service")
def _(stage: ApiStage) -> None:
    created = stage.api.ok("POST", stage.core("pods"), pod(image="nginx"))
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert (
        created["spec"]["containers"][0]["imagePullPolicy"] == "Always"
        and created["spec"]["terminationGracePeriodSeconds"] == 30
    )
    assert (
        created["spec"]["schedulerName"] == "default-scheduler"
        and created["spec"]["dnsPolicy"] == "ClusterFirst"
    )


@behaviour("what a pod is limited to it requests too, in the one spelling of quantities")
def _(stage: ApiStage) -> None:
    body = pod()
    body["spec"]["containers"][0]["resources"] = {
        "limits": {"cpu": "0.5", "memory": "1024Mi", "nvidia.com/gpu": 1}
    }
    resources = stage.api.ok("POST", stage.core("pods"), body)["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}
    assert resources["requests"] == resources["limits"]


@behaviour("a pod cannot request more than its limit")
def _(stage: ApiStage) -> None:
    body = pod()
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}
    refused(
        stage.api.call("POST", stage.core("pods"), body),
        422,
        "Invalid",
        "must be less than or equal to cpu limit",
    )


@behaviour("a pod without containers is invalid")
def _(stage: ApiStage) -> None:
    answer = stage.api.call(
        "POST",
        stage.core("pods"),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {}},
    )
    refused(answer, 422, "Invalid", "spec.containers: Required value")


@behaviour("a container mounts only volumes that are there")
def _(stage: ApiStage) -> None:
    body = pod()
    body["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    refused(
        stage.api.call("POST", stage.core("pods"), body),
        422,
        "Invalid",
        'volumeMounts[0].name: Not found: "data"',
    )


@behaviour("a container has a name of its own and an image")
def _(stage: ApiStage) -> None:
    body = pod()
    body["spec"]["containers"] = [{"name": "a"}, {"name": "a", "image": "x:1"}]
    answer = stage.api.call("POST", stage.core("pods"), body)
    refused(answer, 422, "Invalid", "spec.containers[1].name: Duplicate value")


@behaviour("an unknown restart policy is not supported")
def _(stage: ApiStage) -> None:
    answer = stage.api.call("POST", stage.core("pods"), pod(restartPolicy="Sometimes"))
    refused(answer, 422, "Invalid", 'spec.restartPolicy: Unsupported value: "Sometimes"')


@behaviour("of a running pod little more than the image can be changed")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.core("pods"), pod())
    image = {"spec": {"containers": [{"name": "main", "image": "nginx:1.26"}]}}
    strategic = "application/strategic-merge-patch+json"
    assert (
        stage.api.ok("PATCH", stage.core("pods", "one"), image, form=strategic)["spec"][
            "containers"
        ][0]["image"]
        == "nginx:1.26"
    )
    answer = stage.api.call(
        "PATCH", stage.core("pods", "one"), {"spec": {"hostNetwork": True}}, form=MERGE_PATCH
    )
    refused(answer, 422, "Invalid", "pod updates may not change fields other than")


@behaviour("a deployment's selector must match its own pods")
def _(stage: ApiStage) -> None:
    body = deployment()
    body["spec"]["selector"] = {"matchLabels": {"app": "another"}}
    refused(
        stage.api.call("POST", stage.apps("deployments"), body),
        422,
        "Invalid",
        "`selector` does not match template `labels`",
    )


@behaviour("a deployment's selector is immutable")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.apps("deployments"), deployment())
    patch = {
        "spec": {
            "selector": {"matchLabels": {"tier": "x"}},
            "template": {"metadata": {"labels": {"tier": "x"}}},
        }
    }
    refused(
        stage.api.call("PATCH", stage.apps("deployments", "web"), patch, form=MERGE_PATCH),
        422,
        "Invalid",
        "field is immutable",
    )


@behaviour("a deployment without a selector is invalid")
def _(stage: ApiStage) -> None:
    body = deployment()
    del body["spec"]["selector"]
    refused(
        stage.api.call("POST", stage.apps("deployments"), body),
        422,
        "Invalid",
        "spec.selector: Required value",
    )


@behaviour("a daemon set is given its defaults")
def _(stage: ApiStage) -> None:
    body = {**deployment("agent"), "kind": "DaemonSet"}
    del body["spec"]["replicas"]
    found = stage.api.ok("POST", stage.apps("daemonsets"), body)
    spec = found["spec"]
    # Nothing has looked at it yet, and still it wants nothing: only an observed generation tells
    # the two apart.
    assert found["status"]["desiredNumberScheduled"] == found["status"]["numberReady"] == 0
    assert "observedGeneration" not in found["status"]
    assert (
        spec["updateStrategy"]["type"] == "RollingUpdate"
        and spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 1
    )


@behaviour("a job is given a selector of its own and its defaults")
def _(stage: ApiStage) -> None:
    created = stage.api.ok("POST", stage.group("batch/v1", "jobs"), job())
    uid, labels = created["metadata"]["uid"], created["spec"]["template"]["metadata"]["labels"]
    assert (
        created["spec"]["completions"] == created["spec"]["parallelism"] == 1
        and created["spec"]["backoffLimit"] == 6
    )
    assert (
        uid in created["spec"]["selector"]["matchLabels"].values()
        and labels["job-name"] == "work"
        and labels["controller-uid"] == uid
    )


@behaviour("a job's template is immutable")
def _(stage: ApiStage) -> None:
    stage.api.ok("POST", stage.group("batch/v1", "jobs"), job())
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other:1"}]}}}}
    refused(
        stage.api.call("PATCH", stage.group("batch/v1", "jobs", "work"), patch, form=MERGE_PATCH),
        422,
        "Invalid",
        "spec.template",
        "immutable",
    )


@behaviour("a job's pods do not restart for ever")
def _(stage: ApiStage) -> None:
    body = job()
    del body["spec"]["template"]["spec"]["restartPolicy"]
    refused(
        stage.api.call("POST", stage.group("batch/v1", "jobs"), body),
        422,
        "Invalid",
        "spec.template.spec.restartPolicy",
    )
