"""aws.eks_verify: every problem of somebody else's cluster at once, and none with a sound one."""

from __future__ import annotations

from typing import Any

from playrunner.modules.aws._eks_points import principal
from tests.support.aws.module_stage import AwsStage


def verified(stage: AwsStage, **more: Any) -> list[str]:
    run = stage.play(
        [{"name": "look", "aws.eks_verify": {"name": "theirs", **more}, "register": "found"}]
    )
    assert run.code == 0, run.messages
    return list(run.values["look"]["problems"])


def cluster(stage: AwsStage, **more: Any) -> dict[str, Any]:
    _, subnets = stage.aws.network()
    made = stage.aws.cluster(subnets, "theirs", accessConfig={"authenticationMode": "API"}, **more)
    caller = stage.aws.client("sts").get_caller_identity()["Arn"]
    known = stage.aws.client("eks").list_access_entries(clusterName="theirs")["accessEntries"]
    if caller not in known:
        stage.aws.client("eks").create_access_entry(clusterName="theirs", principalArn=caller)
    return made


def test_a_sound_cluster_has_no_problems(stage: AwsStage) -> None:
    made = cluster(stage, version="1.33")
    stage.aws.nodegroup("theirs", made["resourcesVpcConfig"]["subnetIds"])
    issuer = made["identity"]["oidc"]["issuer"]
    stage.aws.client("iam").create_open_id_connect_provider(
        Url=issuer, ClientIDList=["sts.amazonaws.com"]
    )
    assert verified(stage, vpc_id=made["resourcesVpcConfig"]["vpcId"], nodes=2) == []


def test_every_problem_is_told_at_once_with_its_remedy(stage: AwsStage) -> None:
    made = cluster(stage, version="1.33")
    eks, ec2 = stage.aws.client("eks"), stage.aws.client("ec2")
    caller = stage.aws.client("sts").get_caller_identity()["Arn"]
    eks.delete_access_entry(clusterName="theirs", principalArn=caller)
    group = made["resourcesVpcConfig"]["clusterSecurityGroupId"]
    rules = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"]
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=rules)
    stage.aws.fault(
        "fails_later",
        service="eks",
        action="CreateNodegroup",
        code="NodeCreationFailure",
        message="cannot join",
    )
    stage.aws.nodegroup("theirs", made["resourcesVpcConfig"]["subnetIds"])
    told = verified(stage, vpc_id="vpc-other", least_free_ips=20000, nodes=1)
    for words in (
        "set network_existing_vpc_id",
        "set eks_oidc to true",
        "add a subnet",
        "add a rule for all traffic from itself",
        "NodeCreationFailure: cannot join",
        "has 0 nodes",
        "eks_admins",
    ):
        assert any(words in problem for problem in told), (words, told)


def test_a_private_endpoint_needs_somebody_inside(stage: AwsStage) -> None:
    made = cluster(stage)
    eks = stage.aws.client("eks")
    eks.update_cluster_config(
        name="theirs",
        resourcesVpcConfig={"endpointPublicAccess": False, "endpointPrivateAccess": True},
    )
    eks.get_waiter("cluster_active").wait(
        name="theirs", WaiterConfig={"Delay": 1, "MaxAttempts": 10}
    )
    assert made["status"] == "ACTIVE"
    assert any("eks_from_inside" in problem for problem in verified(stage))
    assert not any("endpoint" in problem for problem in verified(stage, from_inside=True))


def test_a_dear_version_is_noted_but_no_problem(stage: AwsStage) -> None:
    cluster(stage, version="1.29")
    run = stage.play([{"name": "look", "aws.eks_verify": {"name": "theirs"}}])
    assert "extended support" in run.values["look"]["notes"][0]
    assert not any("support" in problem for problem in run.values["look"]["problems"])


def test_a_cluster_that_is_not_there_is_named_with_those_that_are(stage: AwsStage) -> None:
    (problem,) = verified(stage)
    assert "no cluster theirs in us-west-2" in problem and "there are: none" in problem


def test_problems_stop_what_would_be_built_on_the_cluster(stage: AwsStage) -> None:
    steps = [
        {"name": "look", "aws.eks_verify": {"name": "theirs"}, "register": "found"},
        {
            "name": "gate",
            "aws.eks_usable": {"name": "theirs", "problems": "{{ found.problems }}"},
            "register": "gate",
        },
        {
            "name": "role",
            "aws.iam_role": {
                "name": "built-on-it",
                "services": ["ec2.amazonaws.com"],
                "after": "{{ gate }}",
            },
        },
    ]
    run = stage.play(steps)
    assert (
        run.code == 2 and "theirs cannot be used yet" in run.messages and "role" not in run.statuses
    )
    assert stage.delete(steps).code == 0, "what was built on it can still be found and deleted"


def test_a_session_of_a_role_is_the_role() -> None:
    session = "arn:aws:sts::123456789012:assumed-role/operators/me@example.com"
    assert principal(session) == "arn:aws:iam::123456789012:role/operators"
    assert principal("arn:aws:iam::123456789012:user/me") == "arn:aws:iam::123456789012:user/me"
