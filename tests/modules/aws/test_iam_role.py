"""aws.iam_role: made with its policies, mended, and gone with all that hung on it."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise
from tests.support.aws.sandbox import refused

TRUSTED = "eks.amazonaws.com"
READ = [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]


def role(**more: Any) -> dict[str, Any]:
    return {"name": "role", "aws.iam_role": {"name": "control", "services": [TRUSTED], **more}}


def attached(stage: AwsStage) -> list[str]:
    found = stage.aws.client("iam").list_attached_role_policies(RoleName="control")[
        "AttachedPolicies"
    ]
    return sorted(one["PolicyName"] for one in found)


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    one = role(managed_policies=["AmazonEKSClusterPolicy"], inline_policies={"read": READ})
    other = role(
        managed_policies=["AmazonEKSVPCResourceController"],
        max_session_seconds=7200,
        inline_policies={"read": [{**READ[0], "Action": "s3:ListBucket"}]},
        tags={"team": "training"},
    )
    keeps_its_promise(stage, one, other, foreign=lambda: stage.aws.role("control", TRUSTED))


def test_declared_managed_policies_are_all_there_are(stage: AwsStage) -> None:
    stage.play(
        [role(managed_policies=["AmazonEKSClusterPolicy", "AmazonEKSVPCResourceController"])]
    )
    assert attached(stage) == ["AmazonEKSClusterPolicy", "AmazonEKSVPCResourceController"]
    stage.play([role(managed_policies=["AmazonEKSClusterPolicy"])])
    assert attached(stage) == ["AmazonEKSClusterPolicy"]
    assert not stage.play([role()]).changed, "what is not declared is left alone"
    assert attached(stage) == ["AmazonEKSClusterPolicy"]


def test_a_role_that_was_left_half_made_is_finished(stage: AwsStage) -> None:
    stage.aws.fault("error", service="iam", action="AttachRolePolicy", status=400, times=1)
    declared = role(managed_policies=["AmazonEKSClusterPolicy"])
    assert stage.play([declared]).code == 2
    assert stage.play([declared]).code == 0
    assert attached(stage) == ["AmazonEKSClusterPolicy"]


def test_a_lost_answer_at_any_call_leaves_one_whole_role(stage: AwsStage) -> None:
    declared = role(managed_policies=["AmazonEKSClusterPolicy"], inline_policies={"read": READ})
    for action in ("CreateRole", "AttachRolePolicy", "PutRolePolicy"):
        stage.aws.fault("lost", service="iam", action=action, times=1)
    run = stage.play([declared])
    assert run.code == 0, run.messages
    assert not stage.play([declared]).changed
    for action in ("DetachRolePolicy", "DeleteRolePolicy", "DeleteRole"):
        stage.aws.fault("lost", service="iam", action=action, times=1)
    gone = stage.delete([declared])
    assert gone.code == 0, gone.text
    assert refused(lambda: stage.aws.client("iam").get_role(RoleName="control")) == "NoSuchEntity"


def test_what_others_hung_on_a_role_does_not_keep_it_from_going(stage: AwsStage) -> None:
    iam = stage.aws.client("iam")
    stage.play([role()])
    iam.put_role_policy(
        RoleName="control",
        PolicyName="by-hand",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": READ}),
    )
    iam.create_instance_profile(InstanceProfileName="by-hand")
    iam.add_role_to_instance_profile(InstanceProfileName="by-hand", RoleName="control")
    assert stage.delete([role()]).code == 0
    assert refused(lambda: iam.get_role(RoleName="control")) == "NoSuchEntity"
    assert iam.get_instance_profile(InstanceProfileName="by-hand")["InstanceProfile"]["Roles"] == []


def test_a_role_says_who_may_assume_it(stage: AwsStage) -> None:
    run = stage.play([{"name": "role", "aws.iam_role": {"name": "control"}}])
    assert run.code == 2 and "either services or trust" in run.messages


def test_pods_may_tag_the_sessions_of_their_role(stage: AwsStage) -> None:
    stage.play(
        [{"name": "role", "aws.iam_role": {"name": "pods", "services": ["pods.eks.amazonaws.com"]}}]
    )
    trust = stage.aws.client("iam").get_role(RoleName="pods")["Role"]["AssumeRolePolicyDocument"]
    assert trust["Statement"][0]["Action"] == ["sts:AssumeRole", "sts:TagSession"]
