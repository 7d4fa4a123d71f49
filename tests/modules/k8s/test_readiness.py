"""What ready means, kind by kind, on plain objects."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.kube.watch.readiness import addresses, allocatable, condition, readiness_of


def thing(
    kind: str, spec: dict[str, Any] | None = None, generation: int = 2, **status: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"name": "x", "generation": generation},
        "spec": spec or {},
        "status": status,
    }


def on(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": "True", **more}


READY = [
    thing(
        "Deployment",
        {"replicas": 2},
        observedGeneration=2,
        replicas=2,
        updatedReplicas=2,
        availableReplicas=2,
    ),
    thing("Deployment", {"replicas": 0}, observedGeneration=2),
    thing("DaemonSet", observedGeneration=2, desiredNumberScheduled=0),
    thing(
        "DaemonSet",
        observedGeneration=2,
        desiredNumberScheduled=3,
        updatedNumberScheduled=3,
        numberAvailable=3,
    ),
    thing(
        "DaemonSet",
        {"updateStrategy": {"type": "OnDelete"}},
        observedGeneration=2,
        desiredNumberScheduled=1,
        numberAvailable=1,
    ),
    thing("StatefulSet", {"replicas": 2}, observedGeneration=2, readyReplicas=2, updatedReplicas=2),
    thing(
        "StatefulSet",
        {"replicas": 2},
        observedGeneration=2,
        readyReplicas=2,
        currentRevision="a",
        updateRevision="a",
    ),
    thing("Job", conditions=[on("Complete")]),
    thing("Job", {"suspend": True}),
    thing("Pod", phase="Succeeded"),
    thing("Pod", phase="Running", conditions=[on("Ready")]),
    thing("CustomResourceDefinition", conditions=[on("NamesAccepted"), on("Established")]),
    thing("PersistentVolumeClaim", phase="Bound"),
    thing("Service", {"type": "ClusterIP"}),
    thing("Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{"hostname": "lb"}]}),
    thing("Namespace", phase="Active"),
    thing("APIService", conditions=[on("Available")]),
    thing("Node", conditions=[on("Ready")]),
    thing("Queue"),
]
NOT_YET = [
    (thing("Deployment", {"replicas": 2}), "0 of 2 pods are of the newest kind"),
    (
        thing(
            "Deployment",
            {"replicas": 2},
            observedGeneration=1,
            replicas=2,
            updatedReplicas=2,
            availableReplicas=2,
        ),
        "newest",
    ),
    (
        thing(
            "Deployment",
            {"replicas": 2},
            observedGeneration=2,
            replicas=3,
            updatedReplicas=2,
            availableReplicas=3,
        ),
        "1 old",
    ),
    (
        thing("Deployment", observedGeneration=2, replicas=1, updatedReplicas=1),
        "0 of 1 pods are available",
    ),
    (thing("DaemonSet"), "not looked at it yet"),
    (
        thing(
            "DaemonSet",
            observedGeneration=2,
            desiredNumberScheduled=2,
            updatedNumberScheduled=2,
            numberAvailable=1,
        ),
        "1 of 2",
    ),
    (
        thing(
            "StatefulSet", {"replicas": 2}, observedGeneration=2, readyReplicas=1, updatedReplicas=2
        ),
        "1 of 2 pods are ready",
    ),
    (thing("Job"), "0 of 1 pods have succeeded"),
    (thing("Pod", phase="Pending"), "is Pending"),
    (thing("Pod", phase="Running"), "no condition Ready yet"),
    (thing("CustomResourceDefinition"), "not served yet"),
    (thing("PersistentVolumeClaim", phase="Pending"), "is Pending"),
    (thing("Service", {"type": "LoadBalancer"}), "no address"),
    (thing("Endpoints"), "no pod"),
    (
        thing(
            "Node",
            conditions=[{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped"}],
        ),
        "Kubelet stopped",
    ),
    ({"kind": "ConfigMap", "metadata": {"deletionTimestamp": "now"}}, "being deleted"),
]
NEVER = [
    (
        thing(
            "Deployment",
            observedGeneration=2,
            conditions=[on("Progressing", reason="ProgressDeadlineExceeded", message="slow")],
        ),
        "slow",
    ),
    (
        thing("Job", conditions=[on("Failed", message="BackoffLimitExceeded")]),
        "BackoffLimitExceeded",
    ),
    (thing("Pod", phase="Failed", message="Evicted: disk"), "Evicted: disk"),
    (thing("PersistentVolumeClaim", phase="Lost"), "lost its volume"),
    (
        thing(
            "CustomResourceDefinition",
            conditions=[
                {
                    "type": "NamesAccepted",
                    "status": "False",
                    "reason": "PluralConflict",
                    "message": "taken",
                }
            ],
        ),
        "taken",
    ),
]


@pytest.mark.parametrize("one", READY, ids=lambda one: str(one["kind"]))
def test_what_is_ready(one: dict[str, Any]) -> None:
    assert readiness_of(one).ready


@pytest.mark.parametrize(
    ("one", "words"), NOT_YET, ids=lambda one: str(one["kind"]) if isinstance(one, dict) else ""
)
def test_what_is_not_ready_says_what_is_missing(one: dict[str, Any], words: str) -> None:
    said = readiness_of(one)
    assert not said.ready and not said.broken and words in said.missing


@pytest.mark.parametrize(
    ("one", "words"), NEVER, ids=lambda one: str(one["kind"]) if isinstance(one, dict) else ""
)
def test_what_will_never_be_ready_says_why(one: dict[str, Any], words: str) -> None:
    assert words in readiness_of(one).broken


def test_a_condition_can_be_asked_for_by_name_and_status() -> None:
    one = thing("Queue", conditions=[on("Open"), {"type": "Busy", "status": "False"}])
    assert condition(one, "Open").ready and condition(one, "Busy=False").ready
    assert condition(one, "Busy").missing == "Busy is False" and condition(one, "Other").missing


def test_devices_and_addresses_are_counted() -> None:
    node = {
        "kind": "Node",
        "status": {"allocatable": {"nvidia.com/gpu": "8", "hugepages-2Mi": "5128Mi"}},
    }
    assert [allocatable(node, name) for name in ("nvidia.com/gpu", "hugepages-2Mi", "other")] == [
        8,
        0,
        0,
    ]
    assert (
        addresses(
            {
                "kind": "Endpoints",
                "subsets": [{"addresses": [{"ip": "1"}], "notReadyAddresses": [{"ip": "2"}]}],
            }
        )
        == 1
    )
    assert (
        addresses(
            {
                "kind": "EndpointSlice",
                "endpoints": [
                    {"addresses": ["1"], "conditions": {"ready": True}},
                    {"addresses": ["2"], "conditions": {"ready": False}},
                    {"addresses": ["3"]},
                ],
            }
        )
        == 2
    )


def test_a_deployment_whose_pods_are_refused_says_so_in_the_rules_words() -> None:
    said = 'pods "web-x" is forbidden: violates PodSecurity "baseline:latest": host namespaces'
    failure = {"type": "ReplicaFailure", "status": "True", "message": said}
    waiting = readiness_of(thing("Deployment", {"replicas": 1}, conditions=[failure]))
    assert said in waiting.missing
