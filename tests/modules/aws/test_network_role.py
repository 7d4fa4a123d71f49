"""The role `network`: a network for a cluster, or a look at one that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.modules.aws.test_network_info import foreign
from tests.support.aws.module_stage import AwsStage

__all__ = ["foreign"]  # a fixture

ROLE = str(Path(__file__).parents[3] / "roles" / "network")
READ = (
    "network_vpc_id",
    "network_vpc_cidr",
    "network_public_subnet_ids",
    "network_private_subnet_ids",
    "network_subnet_ids",
    "network_zone_names",
    "network_zone_order",
    "network_subnets_by_zone",
    "network_node_subnet_ids",
)
STEPS = [
    {"name": "the role", "import_role": {"name": ROLE}},
    {
        "name": "read",
        "debug": {"msg": "{{ {" + ", ".join(f"'{name}': {name}" for name in READ) + "} }}"},
    },
]


def left(stage: AwsStage) -> dict[str, list[Any]]:
    ec2 = stage.aws.client("ec2")
    mine = [{"Name": "tag:playrunner:cluster", "Values": ["demo"]}]
    return {
        "vpcs": ec2.describe_vpcs(Filters=mine)["Vpcs"],
        "subnets": ec2.describe_subnets(Filters=mine)["Subnets"],
        "tables": ec2.describe_route_tables(Filters=mine)["RouteTables"],
        "addresses": ec2.describe_addresses()["Addresses"],
        "gateways": ec2.describe_internet_gateways()["InternetGateways"],
        "endpoints": ec2.describe_vpc_endpoints()["VpcEndpoints"],
        "nats": [
            one for one in ec2.describe_nat_gateways()["NatGateways"] if one["State"] != "deleted"
        ],
    }


@pytest.mark.parametrize(
    ("nat", "nats", "tables"), [("one", 1, 2), ("per_zone", 2, 3), ("none", 0, 2)]
)
def test_it_is_made_once_and_taken_away_whole(
    stage: AwsStage, nat: str, nats: int, tables: int
) -> None:
    wish = {
        "network_zones": ["us-west-2d", "us-west-2c"],
        "network_nat": nat,
        "network_instance_types": ["trn1n.32xlarge"],
    }
    made = stage.play(STEPS, **wish)
    assert made.code == 0, made.messages
    there = left(stage)
    assert (len(there["nats"]), len(there["addresses"]), len(there["tables"])) == (
        nats,
        nats,
        tables,
    )
    blocks = {
        one["AvailabilityZone"]: one["CidrBlock"]
        for one in there["subnets"]
        if one["MapPublicIpOnLaunch"]
    }
    assert blocks == {"us-west-2d": "192.168.0.0/19", "us-west-2c": "192.168.32.0/19"}
    again = stage.play(STEPS, **wish)
    assert again.code == 0 and again.changed == [], again.messages
    read = again.values["read"]["msg"]
    assert read["network_zone_order"] == ["us-west-2d"]
    nodes = (
        read["network_public_subnet_ids"] if nat == "none" else read["network_private_subnet_ids"]
    )
    assert read["network_node_subnet_ids"] == nodes[:1]
    assert list(read["network_subnets_by_zone"].values()) == nodes
    assert stage.delete(STEPS, **wish).code == 0
    assert not any(left(stage).values()), left(stage)


def test_the_default_takes_four_zones_as_the_guide_has_it(stage: AwsStage) -> None:
    mark = len(stage.aws.calls())
    assert stage.play(STEPS[:1], check=True).code == 0
    assert not [call for call in stage.aws.calls()[mark:] if call["mutating"]]
    run = stage.play(STEPS[:1])
    assert run.code == 0, run.messages
    there = left(stage)
    assert there["vpcs"][0]["CidrBlock"] == "192.168.0.0/16"
    assert sorted(one["CidrBlock"] for one in there["subnets"]) == sorted(
        f"192.168.{32 * part}.0/19" for part in range(8)
    )
    for subnet in there["subnets"]:
        tags = {tag["Key"]: tag["Value"] for tag in subnet["Tags"]}
        role = "elb" if subnet["MapPublicIpOnLaunch"] else "internal-elb"
        assert (
            tags[f"kubernetes.io/role/{role}"] == "1"
            and tags["kubernetes.io/cluster/demo"] == "shared"
        )
    assert len(there["nats"]) == 1


def _by_zone(stage: AwsStage) -> dict[str, str]:
    return {
        f"{one['AvailabilityZone']} {one['MapPublicIpOnLaunch']}": one["CidrBlock"]
        for one in left(stage)["subnets"]
    }


def test_a_network_that_is_there_keeps_its_zones_and_their_addresses(stage: AwsStage) -> None:
    first = {"network_instance_types": ["m5.large"], "network_most_zones": 2}
    assert stage.play(STEPS[:1], **first).code == 0
    before, addresses = _by_zone(stage), left(stage)["addresses"]
    run = stage.play(STEPS, network_instance_types=["m5.large"])
    assert run.code == 0 and run.changed == [], run.messages
    # trn1n is offered in one zone only, and the network is not there yet.
    run = stage.play(STEPS, network_instance_types=["trn1n.32xlarge"])
    assert run.code == 0, run.messages
    after = _by_zone(stage)
    assert {place: after[place] for place in before} == before
    assert {place.split()[0] for place in set(after) - set(before)} == {"us-west-2d"}
    assert left(stage)["addresses"] == addresses
    read = run.values["read"]["msg"]
    assert read["network_zone_order"] == ["us-west-2d"]
    # Fewer zones are named: the others keep their subnets and their routes.
    routes = [sorted(_followers(table)) for table in left(stage)["tables"]]
    run = stage.play(STEPS, network_zones=["us-west-2b", "us-west-2a"])
    assert run.code == 0 and run.changed == [], run.messages
    assert [sorted(_followers(table)) for table in left(stage)["tables"]] == routes
    assert run.values["read"]["msg"]["network_zone_order"] == ["us-west-2b", "us-west-2a"]
    assert stage.delete(STEPS, network_zones=["us-west-2a", "us-west-2b"]).code == 0
    assert not any(left(stage).values()), left(stage)


def test_a_choice_of_zones_outlives_a_run_that_was_cut_short(stage: AwsStage) -> None:
    stage.aws.fault("deny", service="ec2", action="CreateSubnet", nth=3)
    assert stage.play(STEPS[:1]).code == 2
    stage.aws.control("DELETE", "faults")
    run = stage.play(STEPS[:1], network_most_zones=2)
    assert run.code == 0, run.messages
    assert len(_by_zone(stage)) == 8, "four zones were chosen when it was made"


def _followers(table: dict[str, Any]) -> list[str]:
    return [one["SubnetId"] for one in table["Associations"] if one.get("SubnetId")]


def test_a_second_run_reads_each_kind_once(stage: AwsStage) -> None:
    assert stage.play(STEPS[:1]).code == 0
    mark = len(stage.aws.calls())
    assert stage.play(STEPS[:1]).changed == []
    calls = [call["action"] for call in stage.aws.calls()[mark:]]
    resources = sum(map(len, left(stage).values()))
    assert len(calls) <= resources and calls.count("DescribeSubnets") <= 2, calls


def test_a_lost_answer_anywhere_leaves_nothing_double(stage: AwsStage) -> None:
    stage.aws.fault("lost", mutating=True, probability=0.3, seed=5)
    run = stage.play(STEPS[:1], network_nat="per_zone", network_most_zones=2)
    assert run.code == 0, run.messages
    stage.aws.control("DELETE", "faults")
    sizes = {name: len(found) for name, found in left(stage).items()}
    assert sizes == {
        "vpcs": 1,
        "subnets": 4,
        "tables": 3,
        "addresses": 2,
        "gateways": 1,
        "endpoints": 1,
        "nats": 2,
    }
    stage.aws.fault("lost", mutating=True, probability=0.3, seed=6)
    assert stage.delete(STEPS[:1], network_nat="per_zone", network_most_zones=2).code == 0
    stage.aws.control("DELETE", "faults")
    assert not any(left(stage).values())


def test_an_existing_network_is_looked_at_and_never_touched(
    stage: AwsStage, foreign: dict[str, Any]
) -> None:
    mark = len(stage.aws.calls())
    run = stage.play(STEPS, network_existing_vpc_id=foreign["vpc"])
    assert run.code == 0, run.messages
    read = run.values["read"]["msg"]
    assert (read["network_vpc_id"], read["network_vpc_cidr"]) == (foreign["vpc"], "192.168.0.0/16")
    assert (
        read["network_private_subnet_ids"] == read["network_node_subnet_ids"] == foreign["private"]
    )
    assert stage.delete(STEPS, network_existing_vpc_id=foreign["vpc"]).gone == {}
    assert not [call for call in stage.aws.calls()[mark:] if call["mutating"]]
