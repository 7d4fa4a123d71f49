"""aws.eks_access_entry and aws.eks_pod_identity: who may do what."""

from __future__ import annotations

from typing import Any

from tests.support.aws.eks import EksNetwork
from tests.support.aws.module_stage import AwsStage, keeps_its_promise

WHO = "arn:aws:iam::123456789012:role/operators"


def entry(**more: Any) -> dict[str, Any]:
    return {
        "name": "entry",
        "aws.eks_access_entry": {"cluster": "{{ cluster.name }}", "principal": WHO, **more},
    }


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    ground = EksNetwork(stage)

    def foreign():
        return stage.aws.client("eks").create_access_entry(clusterName="lab", principalArn=WHO)

    one = entry(policies=["AmazonEKSViewPolicy"], groups=["viewers"])
    other = entry(
        policies=[
            "AmazonEKSClusterAdminPolicy",
            {"policy": "AmazonEKSEditPolicy", "namespaces": ["default"]},
        ],
        tags={"team": "training"},
    )
    keeps_its_promise(stage, one, other, before=[ground.cluster()], foreign=foreign)


def test_declared_policies_are_all_there_are(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.play(
        [ground.cluster(), entry(policies=["AmazonEKSClusterAdminPolicy", "AmazonEKSViewPolicy"])]
    )
    stage.play(
        [
            ground.cluster(),
            entry(policies=[{"policy": "AmazonEKSViewPolicy", "namespaces": ["default"]}]),
        ]
    )
    found = stage.aws.client("eks").list_associated_access_policies(
        clusterName="lab", principalArn=WHO
    )
    ((policy, scope),) = [
        (one["policyArn"], one["accessScope"]) for one in found["associatedAccessPolicies"]
    ]
    assert policy.endswith("/AmazonEKSViewPolicy") and scope == {
        "type": "namespace",
        "namespaces": ["default"],
    }


def test_an_entry_that_was_left_without_its_policies_gets_them(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.aws.fault("error", service="eks", action="AssociateAccessPolicy", status=400, times=1)
    steps = [ground.cluster(), entry(policies=["AmazonEKSViewPolicy"])]
    assert stage.play(steps).code == 2
    assert stage.play(steps).code == 0
    assert not stage.play(steps).changed


def test_pod_identity_keeps_its_promise(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    roles = [stage.aws.role(name, "pods.eks.amazonaws.com") for name in ("one", "two")]

    def association(role: str) -> dict[str, Any]:
        return {
            "name": "association",
            "aws.eks_pod_identity": {
                "cluster": "{{ cluster.name }}",
                "namespace": "default",
                "service_account": "training",
                "role_arn": role,
            },
        }

    def foreign() -> None:
        stage.aws.client("eks").create_pod_identity_association(
            clusterName="lab", namespace="default", serviceAccount="training", roleArn=roles[0]
        )

    keeps_its_promise(
        stage,
        association(roles[0]),
        association(roles[1]),
        before=[ground.cluster()],
        foreign=foreign,
    )
