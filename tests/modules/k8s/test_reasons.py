"""Reasons: what a cluster says, decoded, each with what to do next."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.kube.client.errors import KubeError, problem
from playrunner.kube.watch import reasons


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
            ["Insufficient nvidia.com/gpu", "device plugin"],
        ),
        (
            (
                "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint"
                " {nvidia.com/gpu: present}."
            ),
            ["Insufficient cpu", "taint nvidia.com/gpu=present", "toleration"],
        ),
        (
            (
                "0/1 nodes are available: 1 node(s) had taint {dedicated: gpu}, that the pod didn't"
                " tolerate."
            ),
            ["taint dedicated=gpu"],
        ),
        (
            "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.",
            ["--show-labels"],
        ),
        ("0/2 nodes are available: 2 node(s) had volume node affinity conflict.", ["another zone"]),
        (
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            ["kubectl get pvc"],
        ),
        ("0/2 nodes are available: 2 node(s) were unschedulable.", ["kubectl uncordon"]),
        ("something nobody knows", ["something nobody knows"]),
    ],
)
def test_the_scheduler_s_message_is_taken_apart(message: str, words: list[str]) -> None:
    text = "; ".join(reasons.scheduling(message))
    assert all(word in text for word in words), text


def waiting(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "reg/web:1",
        "state": {"waiting": {"reason": reason, "message": message}},
        **more,
    }
    return {
        "metadata": {"namespace": "ns", "name": "web-1"},
        "status": {"phase": "Pending", "containerStatuses": [container]},
    }


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (waiting("ErrImagePull", "manifest unknown"), "there is no image reg/web:1"),
        (
            waiting("ImagePullBackOff", "pull access denied, 403 Forbidden: denied"),
            "may not be pulled",
        ),
        (
            waiting(
                "ErrImagePull",
                "failed to resolve reference: pulling from host 1.dkr.ecr.us-west-2.amazonaws.com"
                " failed with status code [manifests 1]: 403 Forbidden",
            ),
            "may not be pulled: give the node's role",
        ),
        (waiting("ImagePullBackOff", "i/o timeout"), "can the node reach the registry"),
        (
            waiting("CreateContainerConfigError", 'secret "login" not found'),
            'secret "login" not found',
        ),
        (
            waiting("CrashLoopBackOff", lastState={"terminated": {"exitCode": 1}}),
            "kubectl logs -n ns web-1 -c main --previous",
        ),
        (
            waiting(
                "CrashLoopBackOff",
                lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            ),
            "limits.memory",
        ),
    ],
)
def test_a_pod_s_state_is_decoded(pod: dict[str, Any], words: str) -> None:
    found = reasons.pod(pod, last_line="Segmentation fault")
    assert len(found) == 1 and words in found[0] and "ns/web-1" in found[0], found
    if "--previous" in words:
        assert "exit code 1" in found[0] and "Segmentation fault" in found[0]


def test_a_pod_that_only_starts_has_no_reason() -> None:
    assert reasons.pod(waiting("ContainerCreating")) == []


def test_events_tell_of_volumes_and_quotas_newest_first() -> None:
    told = [
        {
            "type": "Warning",
            "reason": "ProvisioningFailed",
            "lastTimestamp": "2024-01-01T00:00:02Z",
            "message": "rpc error: AccessDenied",
            "reportingComponent": "efs.csi.aws.com",
        },
        {
            "type": "Warning",
            "reason": "FailedCreate",
            "lastTimestamp": "2024-01-01T00:00:01Z",
            "message": 'pods "x" is forbidden: exceeded quota: team',
        },
        {"type": "Normal", "reason": "Pulled", "message": "fine"},
    ]
    first, second = reasons.events(told)
    assert "AccessDenied" in first and "CSI driver" in first
    assert "exceeded quota: team" in second and "resourcequota" in second


def refused(status: int, message: str, **more: Any) -> KubeError:
    import json

    return problem(
        status,
        json.dumps({"kind": "Status", "message": message, **more}).encode(),
        "PATCH",
        "deployments web -n ns",
    )


def test_refusals_are_told_with_the_way_on() -> None:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-edit" using apps/v1',
            "field": ".spec.replicas",
        }
    ]
    conflict = refused(
        409, "Apply failed with 1 conflict", reason="Conflict", details={"causes": causes}
    )
    assert conflict.conflict and '"kubectl-edit" owns .spec.replicas' in reasons.refusal(conflict)
    silent = refused(
        500,
        'Internal error occurred: failed calling webhook "q.volcano.sh": no endpoints available',
    )
    assert (
        silent.webhook_silent and not silent.passing and "q.volcano.sh" in reasons.refusal(silent)
    )
    denied = refused(
        400, 'admission webhook "q.volcano.sh" denied the request: weight must be positive'
    )
    assert (
        reasons.refusal(denied)
        == 'the admission webhook "q.volcano.sh" refuses it: weight must be positive'
    )
    fixed = refused(
        422, 'Deployment "web" is invalid: spec.selector: Invalid value: field is immutable'
    )
    assert "delete it first" in reasons.refusal(fixed)
    assert refused(
        500, "failed to create typed patch object: .spec.x: field not declared in schema"
    ).invalid
    assert (
        refused(503, "the server is currently unable").passing and refused(429, "too many").passing
    )
    assert (
        problem(502, b"<html>bad gateway</html>", "GET", "pods").message
        == "<html>bad gateway</html>"
    )


def test_what_holds_a_deleted_thing_is_named_with_the_command_that_frees_it() -> None:
    held = {
        "kind": "Queue",
        "metadata": {
            "name": "q",
            "namespace": "ns",
            "deletionTimestamp": "x",
            "finalizers": ["a/b"],
        },
    }
    assert "a/b" in (text := reasons.finalizers(held, "queues.scheduling.volcano.sh"))
    assert "kubectl patch queues.scheduling.volcano.sh q -n ns" in text
    namespace = {
        "kind": "Namespace",
        "metadata": {"name": "n", "deletionTimestamp": "x"},
        "status": {
            "conditions": [
                {
                    "type": "NamespaceFinalizersRemaining",
                    "status": "True",
                    "message": "a/b in 1 resource instances",
                }
            ]
        },
    }
    assert "a/b in 1 resource instances" in reasons.finalizers(namespace, "namespaces")
