"""aws.eks_nodegroup: what can be is changed in place, what cannot is said, and a zone without
capacity is left for the next."""

from __future__ import annotations

from typing import Any

from tests.support.aws.eks import ZONES, EksNetwork
from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def described(stage: AwsStage) -> dict[str, Any]:
    return dict(
        stage.aws.client("eks").describe_nodegroup(clusterName="lab", nodegroupName="workers")[
            "nodegroup"
        ]
    )


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    one = ground.nodegroup(labels={"role": "cpu-worker", "old": "yes"}, taints=[taint])
    other = ground.nodegroup(
        labels={"role": "gpu-worker"},
        taints=[{**taint, "effect": "NO_EXECUTE"}, {**taint, "value": "a"}],
        desired_size=3,
        tags={"team": "training"},
    )
    keeps_its_promise(stage, one, other, before=[ground.cluster()])


def test_a_node_group_of_somebody_else_is_refused(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.play([ground.cluster()])
    stage.aws.client("eks").create_nodegroup(
        clusterName="lab",
        nodegroupName="workers",
        subnets=ground.subnets,
        nodeRole=ground.node_role,
    )
    run = stage.play([ground.cluster(), ground.nodegroup()])
    assert run.code == 2 and "is not tagged" in run.messages


def test_labels_taints_and_sizes_are_mended_in_place(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    taint = {"key": "gpu", "value": "yes", "effect": "NO_SCHEDULE"}
    stage.play([ground.cluster(), ground.nodegroup(labels={"a": "1", "b": "2"}, taints=[taint])])
    run = stage.play([ground.cluster(), ground.nodegroup(labels={"b": "3"}, taints=[], max_size=5)])
    assert run.code == 0, run.messages
    found = described(stage)
    assert (found["labels"], found["taints"], found["scalingConfig"]["maxSize"]) == (
        {"b": "3"},
        [],
        5,
    )


def test_how_many_there_are_is_left_to_whoever_scales_it(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    steps = [ground.cluster(), ground.nodegroup(desired_size=None)]
    assert stage.play(steps).code == 0
    assert described(stage)["scalingConfig"]["desiredSize"] == 1
    stage.aws.client("eks").update_nodegroup_config(
        clusterName="lab", nodegroupName="workers", scalingConfig={"desiredSize": 3}
    )
    assert not stage.play(steps).changed
    assert described(stage)["scalingConfig"]["desiredSize"] == 3


def test_a_group_that_was_scaled_is_not_shrunk_by_the_next_run(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    steps = [ground.cluster(), ground.nodegroup(desired_size=2, max_size=5)]
    assert stage.play(steps).code == 0
    stage.aws.client("eks").update_nodegroup_config(
        clusterName="lab", nodegroupName="workers", scalingConfig={"desiredSize": 4}
    )
    assert not stage.play(steps).changed
    assert described(stage)["scalingConfig"]["desiredSize"] == 4

    fewer = {"desired_size": 2, "max_size": 2}
    for check in (True, False):
        run = stage.play([ground.cluster(), ground.nodegroup(**fewer)], check=check)
        assert run.code == 2 and "2 nodes would be ended" in run.messages, run.messages
    assert described(stage)["scalingConfig"]["desiredSize"] == 4
    run = stage.play([ground.cluster(), ground.nodegroup(**fewer, shrink=True)])
    assert run.code == 0, run.messages
    assert described(stage)["scalingConfig"] == {"minSize": 1, "maxSize": 2, "desiredSize": 2}


def test_a_number_that_is_asked_for_now_is_brought_about(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    assert stage.play([ground.cluster(), ground.nodegroup()]).code == 0
    assert stage.play([ground.cluster(), ground.nodegroup(size=3)]).changed == ["nodes"]
    assert described(stage)["scalingConfig"]["desiredSize"] == 3


def test_the_nodes_follow_the_clusters_version(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    nodes = ground.nodegroup(version="{{ cluster.version }}")
    stage.play([ground.cluster(version="1.32"), nodes])
    run = stage.play([ground.cluster(version="1.33"), nodes])
    assert run.changed == ["cluster", "nodes"], run.messages
    assert described(stage)["version"] == "1.33"


def test_what_is_fixed_is_refused_with_the_remedy_and_replaced_when_asked(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.play([ground.cluster(), ground.nodegroup()])
    other = {"instance_types": ["m5.xlarge"], "capacity_type": "SPOT"}
    for check in (True, False):
        run = stage.play([ground.cluster(), ground.nodegroup(**other)], check=check)
        assert run.code == 2 and "instance_types: ['m5.large'], not ['m5.xlarge']" in run.messages
        assert "capacity_type" in run.messages and "replace: true" in run.messages
    run = stage.play([ground.cluster(), ground.nodegroup(**other, replace=True)])
    assert run.code == 0, run.messages
    assert (described(stage)["instanceTypes"], described(stage)["capacityType"]) == (
        ["m5.xlarge"],
        "SPOT",
    )


def test_a_zone_without_capacity_is_left_for_the_next(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    for zone in ZONES[:2]:
        stage.aws.fault("insufficient_capacity", zone=zone, instance_type="m5.large")
    steps = [ground.cluster(), ground.nodegroup(one_zone=True)]
    run = stage.play(steps)
    assert run.code == 0, run.messages
    assert described(stage)["subnets"] == [ground.subnets[2]]
    assert len(stage.aws.calls("CreateNodegroup")) == 3
    assert not stage.play(steps).changed


def test_no_zone_with_capacity_is_a_failure_with_the_services_own_reason(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    for zone in ZONES:
        stage.aws.fault("insufficient_capacity", zone=zone, instance_type="m5.large")
    steps = [ground.cluster(), ground.nodegroup(one_zone=True)]
    run = stage.play(steps)
    assert (
        run.code == 2
        and "InsufficientInstanceCapacity" in run.messages
        and "tried 3 of 3 subnets" in run.messages
    )
    stage.aws.control("DELETE", "faults")
    again = stage.play(steps)
    assert again.code == 0, again.messages


def test_nodes_that_cannot_join_are_not_tried_elsewhere(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    stage.aws.fault(
        "fails_later",
        service="eks",
        action="CreateNodegroup",
        code="NodeCreationFailure",
        message="Instances failed to join",
    )
    run = stage.play([ground.cluster(), ground.nodegroup(one_zone=True)])
    assert run.code == 2 and "NodeCreationFailure: Instances failed to join" in run.messages
    assert len(stage.aws.calls("CreateNodegroup")) == 1


def test_lost_answers_leave_one_node_group_and_take_it_away(stage: AwsStage) -> None:
    ground = EksNetwork(stage)
    steps = [ground.cluster(), ground.nodegroup()]
    for action in ("CreateNodegroup", "DeleteNodegroup"):
        stage.aws.fault("lost", service="eks", action=action, times=1)
    assert stage.play(steps).code == 0
    assert len(stage.aws.instances()) == 2
    gone = stage.delete(steps)
    assert gone.code == 0, gone.text
