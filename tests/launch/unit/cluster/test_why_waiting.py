"""What train.why says of a run on a cluster that has not started."""

from __future__ import annotations

import pytest

from playrunner.training.kube.why import causes
from tests.support.launch.cluster_facts import event, facts, likeliest, pod


@pytest.mark.parametrize(
    ("message", "title", "command"),
    [
        (
            "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
            "no node has enough free nvidia.com/gpu",
            "kubectl",
        ),
        (
            "0/2 nodes are available: 2 node(s) had untolerated taint {reserved: yes}.",
            "nodes carry the taint reserved=yes",
            "kubectl taint",
        ),
        (
            "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",
            "its volume lives in another zone",
            "",
        ),
    ],
)
def test_a_pending_pod_is_explained_by_the_scheduler_s_own_words(
    message: str, title: str, command: str
) -> None:
    cause = likeliest(facts(pods=(pod(scheduled=message),)))
    assert cause.title.startswith(title)
    assert command in cause.next_command
    assert message in cause.evidence[0]


def test_a_quota_that_lets_no_pod_be_made_comes_first() -> None:
    said = event(
        "FailedCreate",
        'pods "run-hpz-0-x" is forbidden: exceeded quota: few, requested: cpu=2, limited: cpu=1',
    )
    cause = likeliest(facts(events=[said]))
    assert (
        "quota" in cause.title and "kubectl describe resourcequota -n default" in cause.next_command
    )


def test_a_gang_without_room_is_told_with_its_group() -> None:
    group = {
        "metadata": {"name": "run-hpz-uid"},
        "spec": {"minMember": 2, "queue": "test"},
        "status": {
            "phase": "Inqueue",
            "conditions": [
                {
                    "type": "Unschedulable",
                    "status": "True",
                    "message": "2/2 tasks in gang unschedulable: pod group is not ready",
                }
            ],
        },
    }
    cause = likeliest(facts("vcjob", pod_group=group))
    assert "the gang of 2 does not fit" in cause.title
    assert any("2/2 tasks in gang unschedulable" in line for line in cause.evidence)


def test_a_gang_that_its_queue_holds_back_says_that_no_autoscaler_sees_it() -> None:
    group = {
        "metadata": {"name": "run-hpz-uid"},
        "spec": {"minMember": 2, "queue": "test"},
        "status": {"phase": "Pending"},
    }
    cause = likeliest(facts("vcjob", pod_group=group))
    assert "the queue test has no room" in cause.title and "no autoscaler sees them" in cause.title
    assert "kubectl get queue test" in cause.next_command


def test_a_claim_that_is_not_bound_is_told_with_the_provisioner_s_reason() -> None:
    claim = {"metadata": {"name": "shared"}, "status": {"phase": "Pending"}}
    failed = {
        "reason": "ProvisioningFailed",
        "message": "AccessDenied: elasticfilesystem:CreateAccessPoint",
    }
    cause = likeliest(facts(claim=claim, claim_events=[failed], pods=(pod(),)))
    assert "claim shared is Pending" in cause.title and "AccessDenied" in cause.evidence[0]
    assert cause.next_command == "kubectl describe pvc shared -n default"


def test_an_autoscaler_at_work_is_not_taken_for_trouble() -> None:
    found = causes(
        facts(
            pods=(pod(),),
            events=[event("TriggeredScaleUp", "pod triggered scale-up: [{pool-1 0->2 (max: 4)}]")],
        )
    )
    assert "the autoscaler is adding nodes" in found[0].title and "0->2" in found[0].evidence[0]


def test_a_job_that_nobody_looks_at_points_to_its_operator() -> None:
    for launcher, namespace in (
        ("pytorchjob", "kubeflow"),
        ("elasticjob", "elastic-job"),
        ("vcjob", "volcano-system"),
        ("jobset", "jobset-system"),
    ):
        cause = likeliest(facts(launcher, job={"metadata": {"name": "run-hpz"}}))
        assert "its operator does not run" in cause.title
        assert f"kubectl get pods -n {namespace}" in cause.next_command


def test_pods_that_a_standard_refuses_are_told_in_its_words_and_nothing_else_is_blamed() -> None:
    said = event(
        "FailedCreate",
        'Error creating: pods "run-hpz-0-x" is forbidden: violates PodSecurity "restricted:latest":'
        " runAsNonRoot != true",
        "run-hpz",
    )
    found = causes(facts(launcher="vcjob", job={"metadata": {"name": "run-hpz"}}, events=[said]))
    assert "Pod Security standard does not let its pods be made" in found[0].title
    assert 'violates PodSecurity "restricted:latest"' in found[0].evidence[0]
    assert not any("operator does not run" in one.title for one in found)
    assert not any("gang" in one.title for one in found)
