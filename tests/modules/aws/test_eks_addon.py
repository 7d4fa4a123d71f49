"""aws.eks_addon: installed, configured, and well."""

from __future__ import annotations

from tests.support.aws.eks import EksNetwork
from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    foreign = lambda: stage.aws.client("eks").create_addon(clusterName="lab", addonName="vpc-cni")  # noqa: E731
    one = ground.addon("vpc-cni", version="v1.19.5-eksbuild.1")
    other = ground.addon(
        "vpc-cni",
        version="v1.20.4-eksbuild.1",
        configuration={"env": {"ENABLE_PREFIX_DELEGATION": "true"}},
        tags={"team": "training"},
    )
    keeps_its_promise(stage, one, other, before=[ground.cluster()], foreign=foreign)


def test_one_that_needs_nodes_is_well_once_there_are_some(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    run = stage.play(
        [ground.cluster(), ground.nodegroup(), ground.addon("coredns", after="{{ nodes }}")]
    )
    assert run.code == 0, run.messages
    assert run.values["coredns"]["status"] == "ACTIVE"


def test_one_that_need_not_be_well_is_not_waited_for(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    run = stage.play([ground.cluster(), ground.addon("coredns", healthy=False)])
    assert run.code == 0 and run.values["coredns"]["status"] == "DEGRADED"
    assert stage.delete([ground.cluster(), ground.addon("coredns")]).code == 0


def test_a_failure_says_why_and_the_next_run_begins_anew(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.aws.fault(
        "fails_later",
        service="eks",
        action="CreateAddon",
        times=1,
        code="AccessDenied",
        message="no rights",
    )
    run = stage.play([ground.cluster(), ground.addon("vpc-cni")])
    assert run.code == 2 and "AccessDenied: no rights" in run.messages
    assert stage.play([ground.cluster(), ground.addon("vpc-cni")]).code == 0
