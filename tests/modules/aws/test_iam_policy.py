"""aws.iam_policy: a document with versions."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

ARN = "arn:aws:iam::123456789012:policy/reading"


def policy(action: str, **more: Any) -> dict[str, Any]:
    statements = [{"Effect": "Allow", "Action": action, "Resource": "*"}]
    return {
        "name": "policy",
        "aws.iam_policy": {"name": "reading", "document": statements, **more},
        "register": "policy",
    }


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        statement = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        stage.aws.client("iam").create_policy(PolicyName="reading", PolicyDocument=document)

    keeps_its_promise(
        stage,
        policy("s3:GetObject"),
        policy("s3:ListBucket", tags={"team": "training"}),
        foreign=foreign,
    )


def test_more_changes_than_iam_keeps_versions(stage: AwsStage) -> None:
    for number in range(7):
        run = stage.play([policy(f"s3:Get{number}")])
        assert run.code == 0, run.messages
    iam = stage.aws.client("iam")
    versions = iam.list_policy_versions(PolicyArn=ARN)["Versions"]
    assert len(versions) == 5
    default = next(one["VersionId"] for one in versions if one["IsDefaultVersion"])
    document = iam.get_policy_version(PolicyArn=ARN, VersionId=default)["PolicyVersion"]["Document"]
    assert document["Statement"][0]["Action"] == "s3:Get6"
    assert stage.delete([policy("s3:Get6")]).code == 0


def test_a_policy_goes_after_the_role_that_uses_it(stage: AwsStage) -> None:
    user = {
        "name": "role",
        "aws.iam_role": {
            "name": "user",
            "services": ["ec2.amazonaws.com"],
            "managed_policies": ["{{ policy.Arn }}"],
        },
    }
    steps = [policy("s3:GetObject"), user]
    assert stage.play(steps).code == 0
    gone = stage.delete(steps)
    assert gone.code == 0, gone.text
    assert stage.aws.client("iam").list_policies(Scope="Local")["Policies"] == []
