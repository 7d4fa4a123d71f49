"""aws.eks_cluster: slow to come, changed one update at a time, and never turned back."""

from __future__ import annotations

from typing import Any

from tests.support.aws.eks import EksNetwork
from tests.support.aws.module_stage import AwsStage, keeps_its_promise
from tests.support.aws.sandbox import refused


def described(stage: AwsStage) -> dict[str, Any]:
    return dict(stage.aws.client("eks").describe_cluster(name="lab")["cluster"])


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    ground = EksNetwork(stage)

    def foreign() -> None:
        eks = stage.aws.client("eks")
        eks.create_cluster(
            name="lab",
            roleArn=ground.control_role,
            resourcesVpcConfig={"subnetIds": ground.subnets},
        )

    other = ground.cluster(
        logging=["api", "audit"], public_cidrs=["203.0.113.0/24"], tags={"team": "training"}
    )
    keeps_its_promise(stage, ground.cluster(), other, foreign=foreign)


def test_it_is_as_declared(stage: AwsStage) -> None:
    run = stage.play([EksNetwork(stage).cluster(logging=["audit", "api"])])
    assert run.code == 0, run.messages
    found = described(stage)
    assert (
        found["version"] == "1.33"
        and found["accessConfig"]["authenticationMode"] == "API_AND_CONFIG_MAP"
    )
    assert (
        found["resourcesVpcConfig"]["endpointPrivateAccess"]
        and found["tags"]["playrunner:cluster"] == "demo"
    )
    assert {"types": ["api", "audit"], "enabled": True} in found["logging"]["clusterLogging"]
    assert (
        run.values["cluster"]["identity"]["oidc"]["issuer"] == found["identity"]["oidc"]["issuer"]
    )


def test_it_is_upgraded_one_minor_version_at_a_time(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.play([ground.cluster(version="1.32")])
    mark = len(stage.aws.calls())
    run = stage.play([ground.cluster(version="1.34", logging=["api"])])
    assert run.code == 0, run.messages
    assert described(stage)["version"] == "1.34"
    asked = [call["action"] for call in stage.aws.calls()[mark:] if call["mutating"]]
    assert asked == ["UpdateClusterConfig", "UpdateClusterVersion", "UpdateClusterVersion"]


def test_going_back_is_refused_before_anything_is_asked(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.play([ground.cluster()])
    for check in (True, False):
        run = stage.play([ground.cluster(version="1.32")], check=check)
        assert run.code == 2 and "never goes back" in run.messages and "1.33" in run.messages


def test_a_cluster_that_is_being_made_is_waited_for(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.aws.delays(eks__cluster__create=1.0)
    tags = {"playrunner:cluster": "demo"}
    stage.aws.client("eks").create_cluster(
        name="lab",
        roleArn=ground.control_role,
        tags=tags,
        version="1.33",
        resourcesVpcConfig={"subnetIds": ground.subnets},
    )
    run = stage.play([ground.cluster(private_access=False, authentication_mode="CONFIG_MAP")])
    assert run.statuses == {"cluster": "ok"}, run.messages


def test_a_failure_says_why_and_the_next_run_begins_anew(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.aws.fault(
        "fails_later",
        service="eks",
        action="CreateCluster",
        times=1,
        code="Ec2SubnetNotFound",
        message="no room",
    )
    run = stage.play([ground.cluster()])
    assert run.code == 2 and "Ec2SubnetNotFound: no room" in run.messages
    again = stage.play([ground.cluster()])
    assert again.code == 0, again.messages
    assert described(stage)["status"] == "ACTIVE"


def test_lost_answers_leave_one_cluster_and_take_it_away(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.aws.fault("lost", service="eks", action="CreateCluster", times=1)
    assert stage.play([ground.cluster()]).code == 0
    stage.aws.fault("lost", service="eks", action="DeleteCluster", times=1)
    assert stage.delete([ground.cluster()]).code == 0
    assert refused(lambda: described(stage)) == "ResourceNotFoundException"


def test_an_unknown_log_is_refused(stage: AwsStage) -> None:
    run = stage.play([EksNetwork(stage).cluster(logging=["apis"])])
    assert run.code == 2 and "no control-plane log apis" in run.messages
