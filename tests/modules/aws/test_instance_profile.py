"""aws.instance_profile: a role for instances."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def role(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "aws.iam_role": {"name": name, "services": ["ec2.amazonaws.com"]},
        "register": name,
    }


def profile(role: str) -> dict[str, Any]:
    return {
        "name": "profile",
        "aws.instance_profile": {"name": "nodes", "role": f"{{{{ {role}.RoleName }}}}"},
    }


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    foreign = lambda: stage.aws.client("iam").create_instance_profile(InstanceProfileName="nodes")  # noqa: E731
    keeps_its_promise(
        stage, profile("one"), profile("two"), before=[role("one"), role("two")], foreign=foreign
    )


def test_a_profile_that_was_left_without_its_role_gets_it(stage: AwsStage) -> None:
    stage.aws.fault("error", service="iam", action="AddRoleToInstanceProfile", status=400, times=1)
    steps = [role("one"), profile("one")]
    assert stage.play(steps).code == 2
    assert stage.play(steps).code == 0
    found = stage.aws.client("iam").get_instance_profile(InstanceProfileName="nodes")[
        "InstanceProfile"
    ]
    assert [one["RoleName"] for one in found["Roles"]] == ["one"]
