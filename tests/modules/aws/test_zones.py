"""aws.zones: the zones to build in, and the order in which to try them for machines."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, Run


def look(stage: AwsStage, **wish: Any) -> Run:
    return stage.play([{"name": "zones", "aws.zones": wish}], check=True)


def test_ids_become_names_in_the_order_given(stage: AwsStage) -> None:
    found = look(
        stage, zone_ids=["usw2-az4", "usw2-az3"], instance_types=["trn1n.32xlarge"]
    ).values["zones"]
    assert (found["zones"], found["offering"]) == (["us-west-2d", "us-west-2c"], ["us-west-2d"])
    assert found["zone_ids"] == ["usw2-az4", "usw2-az3"]


def test_without_names_zones_that_offer_the_machines_are_taken(stage: AwsStage) -> None:
    found = look(stage, instance_types=["trn1.32xlarge"]).values["zones"]
    assert sorted(found["ids"][zone] for zone in found["offering"]) == ["usw2-az1", "usw2-az4"]
    assert found["zones"] == found["offering"]


def test_others_make_up_the_number(stage: AwsStage) -> None:
    found = look(stage, instance_types=["trn1n.32xlarge"]).values["zones"]
    assert found["zones"] == ["us-west-2a", "us-west-2d"] and found["offering"] == ["us-west-2d"]


def test_named_zones_are_all_taken_also_those_that_offer_nothing(stage: AwsStage) -> None:
    every = ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"]
    found = look(stage, names=every, instance_types=["g4dn.xlarge"]).values["zones"]
    assert found["zones"] == every and found["offering"] == every[:3]


def test_zones_that_cannot_hold_a_control_plane_are_left_out(stage: AwsStage) -> None:
    found = look(stage, without=["usw2-az2"], most=2).values["zones"]
    assert found["zones"] == ["us-west-2b", "us-west-2c"]


def test_an_unknown_zone_is_told_with_those_there_are(stage: AwsStage) -> None:
    run = look(stage, zone_ids=["use1-az6"])
    assert (
        run.code == 2
        and "there is no zone use1-az6 in us-west-2; there are us-west-2a (usw2-az2)"
        in run.messages
    )


def test_a_type_that_no_zone_offers_is_told_with_those_that_do(stage: AwsStage) -> None:
    run = look(stage, names=["us-west-2a", "us-west-2b"], instance_types=["trn1n.32xlarge"])
    assert run.code == 2 and "these do: us-west-2d (usw2-az4)" in run.messages
    assert "none in us-west-2" in look(stage, instance_types=["x9.nothing"]).messages
