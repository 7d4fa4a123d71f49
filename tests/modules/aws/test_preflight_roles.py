"""The plan of a play: what its roles would make, and what that costs."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage
from tests.support.aws.preflight import GPU


def roles(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "import_role": {"name": name}} for name in names]


def test_a_role_is_not_begun_when_its_plan_is_too_dear(stage: AwsStage) -> None:
    run = stage.play(roles("fsx"), max_hourly=0.5)
    assert run.code == 2 and list(run.statuses) == ["preflight : preflight"]
    assert "costs $0.53 an hour and max_hourly allows $0.50" in run.messages
    assert not [call for call in stage.aws.calls() if call["mutating"]]
    run = stage.play(roles("fsx"), max_hourly=0.6)
    assert run.code == 0, run.messages
    assert [name for name in run.statuses if name.endswith(": preflight")] == [
        "preflight : preflight"
    ]
    again = stage.play(roles("fsx"), max_hourly=0.6)
    assert again.code == 0 and not again.changed


def test_only_the_roles_of_a_play_are_in_its_plan(stage: AwsStage) -> None:
    run = stage.play(
        roles("preflight", "jumphost"),
        check=True,
        jumphost_install=False,
        fsx_capacity_gib=2400,
        eks_nodegroups=[GPU],
        network_nat="none",
    )
    plan = run.values["preflight : preflight"]["plan"]
    assert {thing["role"] for thing in plan} == {"jumphost"}


def test_nodes_of_the_cluster_are_priced_as_they_are_declared(stage: AwsStage) -> None:
    groups = [
        {
            "name": "gpu",
            "instance_types": ["g4dn.xlarge"],
            "capacity_type": "SPOT",
            "min_size": 2,
            "max_size": 8,
        },
        {
            "name": "block",
            "instance_types": ["p5.48xlarge"],
            "capacity_type": "CAPACITY_BLOCK",
            "capacity_reservation_id": "cr-1",
            "min_size": 0,
            "desired_size": 1,
            "disk_gib": 500,
        },
    ]
    run = stage.play(
        roles("preflight", "eks"),
        check=True,
        eks_nodegroups=groups,
        network_nat="none",
        network_zones=["us-west-2a", "us-west-2b"],
    )
    plan = {
        thing["thing"]: thing["hourly"] for thing in run.values["preflight : preflight"]["plan"]
    }
    assert plan == {
        "control plane demo": 0.1,
        "gpu: 2 x g4dn.xlarge spot": 1.052,
        "gpu: 2 x 100 GiB disk": 0.02192,
        "gpu: 2 public addresses": 0.01,
        "block: 1 x p5.48xlarge": None,
        "block: 1 x 500 GiB disk": 0.05479,
        "block: 1 public address": 0.005,
    }


def test_nothing_is_asked_of_aws_where_nothing_is_wanted_of_it(stage: AwsStage) -> None:
    run = stage.play(roles("preflight"))
    assert set(run.statuses.values()) == {"skipped"} and not stage.aws.calls()
