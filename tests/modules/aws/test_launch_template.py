"""aws.launch_template: how instances of a kind start."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from playrunner.modules.aws._efa import CARDS, interfaces
from playrunner.training.environment.machine_facts import instance
from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def template(**more: Any) -> dict[str, Any]:
    return {
        "name": "template",
        "aws.launch_template": {"name": "demo-nodes", **more},
        "register": "template",
    }


def data_of(stage: AwsStage) -> dict[str, Any]:
    versions = stage.aws.client("ec2").describe_launch_template_versions(
        LaunchTemplateName="demo-nodes", Versions=["$Default"]
    )
    return dict(versions["LaunchTemplateVersions"][0]["LaunchTemplateData"])


def test_a_template_keeps_its_promise(stage: AwsStage) -> None:
    one = template(
        instance_type="g4dn.xlarge", security_group_ids=["sg-1"], user_data="#!/bin/sh\ntrue\n"
    )
    other = template(
        instance_type="trn1.32xlarge",
        efa=True,
        security_group_ids=["sg-2", "sg-1"],
        placement_group="tight",
        capacity_reservation_id="cr-1",
        key_name="me",
        volume_gib=500,
    )
    keeps_its_promise(
        stage,
        one,
        other,
        foreign=lambda: stage.aws.client("ec2").create_launch_template(
            LaunchTemplateName="demo-nodes", LaunchTemplateData={"InstanceType": "t3.micro"}
        ),
    )


def test_it_is_safe_by_default(stage: AwsStage) -> None:
    assert stage.play([template()]).code == 0
    data = data_of(stage)
    assert (
        data["MetadataOptions"]["HttpTokens"] == "required"
        and data["MetadataOptions"]["HttpPutResponseHopLimit"] == 2
    )
    disk = data["BlockDeviceMappings"][0]["Ebs"]
    assert (disk["VolumeType"], disk["Encrypted"], disk["DeleteOnTermination"]) == (
        "gp3",
        True,
        True,
    )
    for spec in data["TagSpecifications"]:
        tags = {tag["Key"]: tag["Value"] for tag in spec["Tags"]}
        assert tags["playrunner:cluster"] == "demo" and tags["Name"] == "demo-nodes"
    assert "InstanceType" not in data and "NetworkInterfaces" not in data


def test_a_changed_declaration_makes_a_new_default_version(stage: AwsStage) -> None:
    assert stage.play([template(user_data="one")]).values["template"]["DefaultVersionNumber"] == 1
    run = stage.play([template(user_data="two")])
    assert (
        run.values["template"]["DefaultVersionNumber"],
        run.values["template"]["LatestVersionNumber"],
    ) == (2, 2)
    assert base64.b64decode(data_of(stage)["UserData"]) == b"two"
    assert stage.play([template()]).changed == ["template"]
    assert "UserData" not in data_of(stage)


def test_a_version_that_was_made_and_not_set_is_set_by_the_next_run(stage: AwsStage) -> None:
    assert stage.play([template(user_data="one")]).code == 0
    stage.aws.fault("error", service="ec2", action="ModifyLaunchTemplate", status=400, times=1)
    assert stage.play([template(user_data="two")]).code == 2
    run = stage.play([template(user_data="two")])
    assert (
        run.values["template"]["DefaultVersionNumber"]
        == run.values["template"]["LatestVersionNumber"]
        == 2
    )


@pytest.mark.parametrize(
    ("kind", "devices"),
    [
        ("trn1.32xlarge", [0, *[1] * 7]),
        ("trn1n.32xlarge", [0, 1, 2, 3, *[1] * 12]),
        ("trn2.48xlarge", [0, *[1] * 15]),
        ("p5.48xlarge", [0, *[1] * 31]),
        ("g5.8xlarge", [0]),
        ("c5n.18xlarge", [0]),
    ],
)
def test_every_efa_card_has_an_interface(stage: AwsStage, kind: str, devices: list[int]) -> None:
    run = stage.play([template(instance_type=kind, efa=True, security_group_ids=["sg-1"])])
    assert run.code == 0, run.messages
    found = data_of(stage)["NetworkInterfaces"]
    assert [card["NetworkCardIndex"] for card in found] == list(range(len(devices)))
    assert [card["DeviceIndex"] for card in found] == devices
    assert all(
        card["InterfaceType"] == "efa"
        and card["Groups"] == ["sg-1"]
        and card["DeleteOnTermination"]
        for card in found
    )


def test_efa_where_there_is_none_is_refused(stage: AwsStage) -> None:
    assert (
        "m5.large has no EFA" in stage.play([template(instance_type="m5.large", efa=True)]).messages
    )
    assert "needs an instance_type" in stage.play([template(efa=True)]).messages


def test_both_tables_of_instance_types_agree() -> None:
    known = {kind: instance(kind) for kind in CARDS}
    assert {kind: found.efa for kind, found in known.items() if found} == {
        kind: count for kind, count in CARDS.items() if known[kind]
    }
    assert len(interfaces("p4d.24xlarge", CARDS["p4d.24xlarge"], [])) == 4
