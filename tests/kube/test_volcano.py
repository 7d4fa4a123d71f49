"""volcano: its programs, its admission and a queue that jobs fit into; and what it does while
admission does not answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from tests.modules.k8s.test_ready import later
from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import container_of
from tests.support.kube.webhook import Webhook

KINDS = (
    "jobs.batch.volcano.sh",
    "commands.bus.volcano.sh",
    "podgroups.scheduling.volcano.sh",
    "queues.scheduling.volcano.sh",
)
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def test_volcano_comes_once_and_goes_without_a_trace(stage: AddonStage) -> None:
    foreseen = stage.create("volcano", check=True)
    assert foreseen.code == 0 and "failed" not in foreseen.statuses.values(), foreseen.messages
    assert stage.object("v1", "namespaces", "volcano-system") is None
    made = stage.create("volcano")
    assert made.code == 0, made.messages
    again = stage.create("volcano")
    assert again.code == 0 and again.changed == [], again.statuses
    assert {row["state"] for row in stage.status("volcano").data["things"]} == {"there"}
    _is_as_the_facts_have_it(stage)
    gone = stage.delete("volcano")
    assert gone.code == 0, gone.data
    assert stage.object("v1", "namespaces", "volcano-system") is None
    assert not [
        kind
        for kind in KINDS
        if stage.object("apiextensions.k8s.io/v1", "customresourcedefinitions", kind)
    ]
    assert not [
        hook for hook in stage.api.get(HOOKS)["items"] if "volcano" in hook["metadata"]["name"]
    ]


def test_the_queue_holds_what_the_nodes_have_unless_it_is_told_otherwise(stage: AddonStage) -> None:
    made = stage.create("volcano")
    assert made.code == 0, made.messages
    assert (_queue(stage)["weight"], _queue(stage)["reclaimable"]) == (1, False)
    assert (
        _cores(_queue(stage)["capability"]["cpu"])
        == sum(map(_cores_of, stage.objects("v1", "nodes")))
        > 0
    )
    assert _queue(stage)["capability"]["memory"].endswith("Ki")
    small = stage.create("volcano", volcano_queue_capability={"cpu": 2})
    assert small.changed == ["volcano : volcano queue"], small.statuses
    assert str(_queue(stage)["capability"]["cpu"]) == "2"
    unlimited = stage.create("volcano", volcano_queue_capability={})
    assert unlimited.code == 0 and "capability" not in _queue(stage), unlimited.messages


def test_a_group_that_may_grow_counts_at_its_largest(stage: AddonStage) -> None:
    """Otherwise a job that needs more nodes than there are now would wait for ever, and nobody
    would add them."""
    node = stage.node(
        "one",
        "g4dn.xlarge",
        {"cpu": "3920m", "memory": "15Gi", "nvidia.com/gpu": 1},
        {"group": "gpu-nodes"},
    )
    made = stage.create(
        "volcano",
        volcano_queue_nodes={"own": stage.own},
        volcano_group_label="group",
        volcano_group_sizes={"gpu-nodes": 8},
    )
    assert made.code == 0, made.messages
    assert made.values["volcano : volcano nodes"]["nodes"] == [node]
    told = _queue(stage)["capability"]
    assert _cores(told["cpu"]) == pytest.approx(8 * 3.92) and told["nvidia.com/gpu"] == "8"
    assert told["memory"] == f"{8 * 15 * 2**20}Ki"


def test_a_late_admission_is_waited_for_and_one_that_never_answers_is_named(
    stage: AddonStage,
) -> None:
    """Another webhook judges queues; nobody answers for it, then somebody refuses."""
    made = stage.create("volcano")
    assert made.code == 0, made.messages
    with _judging_queues(stage, {"url": "https://127.0.0.1:9/validate"}):
        late = stage.create("volcano", volcano_queue_weight=2, volcano_timeout=2)
        later(2.0, lambda: stage.api.call("DELETE", f"{HOOKS}/{stage.own}"))
        waited = stage.create("volcano", volcano_queue_weight=3)
    assert late.code == 2 and "late.example.com" in late.messages and "kubectl" in late.messages, (
        late.messages
    )
    assert waited.code == 0 and _queue(stage)["weight"] == 3, waited.messages
    with (
        Webhook(allowed=False, message="queues are the platform team's") as webhook,
        _judging_queues(stage, {"url": webhook.url, "caBundle": webhook.authority}),
    ):
        refused = stage.create("volcano", volcano_queue_weight=4)
    assert refused.code == 2 and "queues are the platform team's" in refused.messages, (
        refused.messages
    )


def _is_as_the_facts_have_it(stage: AddonStage) -> None:
    programs = {
        "admission": "vc-webhook-manager",
        "controllers": "vc-controller-manager",
        "scheduler": "vc-scheduler",
    }
    for name, program in programs.items():
        deployment = stage.object("apps/v1", "deployments", f"volcano-{name}", "volcano-system")
        assert container_of(deployment)["image"] == f"volcanosh/{program}:v1.15.1"
    (port,) = stage.object("v1", "services", "volcano-admission-service", "volcano-system")["spec"][
        "ports"
    ]
    assert (port["port"], port["targetPort"]) == (443, 8443)
    told = stage.object("v1", "configmaps", "volcano-scheduler-configmap", "volcano-system")[
        "data"
    ]["volcano-scheduler.conf"]
    assert yaml.safe_load(told) == {
        "actions": "enqueue, allocate, backfill",
        "tiers": [
            {"plugins": [{"name": name} for name in ("priority", "gang", "conformance")]},
            {
                "plugins": [
                    {"name": name}
                    for name in (
                        "overcommit",
                        "drf",
                        "predicates",
                        "proportion",
                        "nodeorder",
                        "binpack",
                    )
                ]
            },
        ],
    }
    assert [job["status"]["succeeded"] for job in _makers(stage)] == [1]
    assert stage.object("v1", "secrets", "volcano-admission-secret", "volcano-system")
    hooks = [
        hook
        for one in stage.api.get(HOOKS)["items"]
        if "volcano" in one["metadata"]["name"]
        for hook in one["webhooks"]
    ]
    assert {hook["name"] for hook in hooks} == {
        "validatejob.volcano.sh",
        "validatequeue.volcano.sh",
    }
    assert {(hook["failurePolicy"], hook["timeoutSeconds"]) for hook in hooks} == {("Fail", 10)}


@contextmanager
def _judging_queues(stage: AddonStage, client: dict[str, Any]) -> Iterator[None]:
    rule = {
        "apiGroups": ["scheduling.volcano.sh"],
        "apiVersions": ["*"],
        "resources": ["queues"],
        "operations": ["CREATE", "UPDATE"],
    }
    stage.api.call(
        "POST",
        HOOKS,
        {
            "metadata": {"name": stage.own},
            "webhooks": [
                {
                    "name": "late.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "timeoutSeconds": 2,
                    "rules": [rule],
                    "clientConfig": client,
                }
            ],
        },
    )
    try:
        yield
    finally:
        stage.api.call("DELETE", f"{HOOKS}/{stage.own}")


def _makers(stage: AddonStage) -> list[dict[str, Any]]:
    """The Jobs that make admission's certificate."""
    jobs = stage.api.get("/apis/batch/v1/namespaces/volcano-system/jobs")["items"]
    return [job for job in jobs if job["metadata"]["name"].startswith("volcano-admission-init")]


def _queue(stage: AddonStage) -> dict[str, Any]:
    return dict(stage.object("scheduling.volcano.sh/v1beta1", "queues", "test")["spec"])


def _cores_of(node: dict[str, Any]) -> float:
    return _cores(node["status"]["allocatable"]["cpu"])


def _cores(quantity: object) -> float:
    text = str(quantity)
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


VCJOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"


def _vcjob(name: str) -> dict[str, Any]:
    sleeper = {"name": "c", "image": "sleep:1", "command": ["sleep", "600"]}
    pod = {"restartPolicy": "Never", "containers": [sleeper]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "queue": "test",
            "minAvailable": 1,
            "tasks": [{"name": "t", "replicas": 1, "template": {"spec": pod}}],
        },
    }


def test_controllers_that_wait_for_a_missing_kind_fail_the_role_with_what_did_not_come(
    stage: AddonStage,
) -> None:
    others = [["NodeShard", "nodeshards", "shard", "Cluster"]]
    said = json.dumps({"volcano_other_kinds": others, "volcano_timeout": 15})
    made = stage.invoke("volcano.create", "--extra-vars", said)
    assert made.code != 0, made.text
    assert "got no pod" in made.text and "its operator does not act" in made.text
    mended = stage.create("volcano")
    assert mended.code == 0, mended.messages
    assert not stage.api.get(VCJOBS.replace("default", "volcano-system"))["items"]
    assert stage.create("volcano").changed == []
    assert stage.delete("volcano").code == 0


def test_another_version_replaces_it_in_place_and_jobs_stay(stage: AddonStage) -> None:
    assert stage.create("volcano", versions="guide").code == 0
    assert stage.api.call("POST", VCJOBS, _vcjob("going-on"))["kind"] == "Job"
    uid = stage.api.get(f"{VCJOBS}/going-on")["metadata"]["uid"]
    upgraded = stage.create("volcano")
    assert upgraded.code == 0, upgraded.messages
    assert stage.api.get(f"{VCJOBS}/going-on")["metadata"]["uid"] == uid
    assert len(_makers(stage)) == 1
    refused = stage.invoke("volcano.delete", "--yes")
    assert refused.code == 5, refused.text
    assert "1 jobs.batch.volcano.sh: default/going-on" in refused.err
    assert "--with-objects" in refused.err
    assert stage.object("apps/v1", "deployments", "volcano-controllers", "volcano-system")
    assert stage.invoke("volcano.delete", "--yes", "--with-objects").code == 0
