"""aws.oidc_provider and aws.service_account_role: roles for Kubernetes service accounts."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

HOST = "oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
ARN = f"arn:aws:iam::123456789012:oidc-provider/{HOST}"


def provider(**more: Any) -> dict[str, Any]:
    return {
        "name": "provider",
        "aws.oidc_provider": {"url": f"https://{HOST}", **more},
        "register": "provider",
    }


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        stage.aws.client("iam").create_open_id_connect_provider(
            Url=f"https://{HOST}", ClientIDList=["sts.amazonaws.com"]
        )

    keeps_its_promise(stage, provider(), provider(tags={"team": "training"}), foreign=foreign)


def test_only_one_service_account_may_assume_its_role(stage: AwsStage) -> None:
    account = {
        "name": "account",
        "aws.service_account_role": {
            "name": "uploader",
            "issuer": f"https://{HOST}",
            "namespace": "default",
            "service_account": "pytorch-training-sa",
            "inline_policies": {
                "bucket": [{"Effect": "Allow", "Action": "s3:PutObject", "Resource": "*"}]
            },
            "after": "{{ provider }}",
        },
    }
    assert stage.play([provider(), account]).code == 0
    role = stage.aws.client("iam").get_role(RoleName="uploader")["Role"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Federated": ARN}
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            f"{HOST}:sub": "system:serviceaccount:default:pytorch-training-sa",
            f"{HOST}:aud": "sts.amazonaws.com",
        }
    }
    assert not stage.play([provider(), account]).changed
    assert stage.delete([provider(), account]).code == 0
    assert stage.aws.client("iam").list_roles()["Roles"] == []
