"""aws.preflight: everything that stands in the way is told at once, before anything is made; and
what a plan costs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.aws.module_stage import AwsStage, Run
from tests.support.aws.preflight import GPU, preflight

CLUSTER = {"name": "demo", "version": "1.34"}


NEW_NETWORK = {"nat_gateways": 1}


def told(run: Run) -> dict[str, Any]:
    return run.values["preflight"]


def problem(run: Run) -> str:
    assert run.code == 2, run.values
    (text,) = told(run)["problems"]
    return str(text)


def test_a_plan_above_the_limit_is_not_begun_where_nobody_can_be_asked(stage: AwsStage) -> None:
    groups = [{**GPU, "desired_size": 4}]
    wish = {"cluster": CLUSTER, "node_groups": groups, "cost_limit": 0.5}
    run = preflight(stage, **wish)
    assert run.code == 2 and "more than cost_limit ($0.50)" in run.messages, run.messages
    foreseen = stage.play([{"name": "preflight", "aws.preflight": wish}], check=True)
    assert foreseen.code == 0, foreseen.messages


def test_a_plan_that_can_be_carried_out_has_a_price_and_takes_little_time(stage: AwsStage) -> None:
    machine = {"name": "door", "type": "t3.large", "disk_gib": 100, "public_addresses": 1}
    lustre = {
        "name": "fast",
        "deployment": "PERSISTENT_1",
        "throughput_per_tib": 200,
        "capacity_gib": 1200,
    }
    wish = {
        "cluster": CLUSTER,
        "node_groups": [GPU],
        "machines": [machine],
        "network": NEW_NETWORK,
        "lustre": [lustre],
        "stored": [{"name": "files", "what": "efs"}],
    }
    preflight(stage, **wish)  # the first in a process loads boto3 and the pretend AWS its tables
    before, started = len(stage.aws.calls()), time.process_time()
    run = preflight(stage, **wish)
    # Its time is that of its calls and its own; the machine may be busy with other tests
    assert len(stage.aws.calls()) - before <= 25 and time.process_time() - started < 1.5
    assert run.code == 0, run.messages
    values = told(run)
    assert {thing["thing"]: thing["hourly"] for thing in values["plan"]} == {
        "control plane demo": 0.10,
        "gpu: 2 x g4dn.xlarge": 1.052,
        "gpu: 2 x 73 GiB disk": 0.016,
        "door: 1 x t3.large": 0.0832,
        "door: 1 x 100 GiB disk": 0.01096,
        "door: 1 public address": 0.005,
        "1 NAT gateway with address": 0.05,
        "fast: 1200 GiB Lustre PERSISTENT_1": 0.47671,
        "files: file system": None,
    }
    assert values["hourly"] == pytest.approx(1.79387) and values["unpriced"] == [
        "files: file system"
    ]
    assert (
        values["account"] == "123456789012"
        and values["region"] == "us-west-2"
        and not values["not_known"]
    )
    assert not [call for call in stage.aws.calls() if call["mutating"]]


def test_everything_that_stands_in_the_way_is_told_at_once(stage: AwsStage) -> None:
    stage.aws.control(
        "POST", "settings", {"quotas": {"L-DB2E81BA": 4, "L-0263D0A3": 0, "L-F678F1CE": 1}}
    )
    stage.aws.fault("deny", service="ec2", action="CreateVpc")
    run = preflight(
        stage,
        cluster={"name": "demo", "version": "1.17"},
        node_groups=[GPU],
        network=NEW_NETWORK,
        max_hourly=1,
        account="210987654321",
    )
    problems = "\n".join(told(run)["problems"])
    assert run.code == 2 and len(told(run)["problems"]) == 7, problems
    for text in (
        (
            "8 vCPUs of G and VT instances are wanted (2 x g4dn.xlarge for gpu), the quota"
            " L-DB2E81BA is 4 and 0 are in use"
        ),
        "servicequotas/home/services/ec2/quotas/L-DB2E81BA",
        "1 more elastic IP is wanted, the quota L-0263D0A3 is 0",
        "1 more VPC is wanted, the quota L-F678F1CE is 1 and 1 are in use",
        "may not do ec2:CreateVpc",
        "Kubernetes 1.17 is wanted for demo, and EKS has 1.34",
        "costs $1.22 an hour and max_hourly allows $1.00",
        "the account is 123456789012",
    ):
        assert text in problems
        assert text in run.messages


def test_what_runs_counts_against_a_quota_and_our_own_nodes_are_not_wanted_twice(
    stage: AwsStage,
) -> None:
    stage.aws.control("POST", "settings", {"quotas": {"L-DB2E81BA": 12}})
    _, subnets = stage.aws.network()
    stage.aws.cluster(subnets)
    stage.aws.nodegroup(
        "demo",
        subnets,
        "gpu",
        instanceTypes=["g4dn.xlarge"],
        scalingConfig={"minSize": 2, "maxSize": 2, "desiredSize": 2},
    )
    mark = len(stage.aws.calls())
    assert preflight(stage, cluster=CLUSTER, node_groups=[GPU]).code == 0
    asked = {call["action"] for call in stage.aws.calls()[mark:]}
    assert not asked & {
        "GetServiceQuota",
        "RunInstances",
        "DescribeInstanceTypeOfferings",
    }, "nothing is still to be made"
    assert preflight(stage, cluster=CLUSTER, node_groups=[{**GPU, "desired_size": 3}]).code == 0
    text = problem(preflight(stage, cluster=CLUSTER, node_groups=[{**GPU, "desired_size": 4}]))
    assert "8 vCPUs" in text and "2 x g4dn.xlarge" in text and "is 12 and 8 are in use" in text


def test_spot_has_a_quota_of_its_own_and_costs_at_most_what_is_listed(stage: AwsStage) -> None:
    stage.aws.control("POST", "settings", {"quotas": {"L-DB2E81BA": 0, "L-3819A6DF": 8}})
    spot = {**GPU, "capacity_type": "SPOT"}
    run = preflight(stage, cluster=CLUSTER, node_groups=[spot])
    assert run.code == 0, run.messages
    (nodes,) = [thing for thing in told(run)["plan"] if "g4dn" in thing["thing"]]
    assert nodes["hourly"] == 1.052 and nodes["at_most"] and told(run)["at_most"]
    text = problem(preflight(stage, cluster=CLUSTER, node_groups=[{**spot, "desired_size": 3}]))
    assert "12 vCPUs of G and VT spot instances" in text and "L-3819A6DF is 8" in text


def test_a_type_that_its_zones_lack_is_told_with_the_zones_that_have_it(stage: AwsStage) -> None:
    trainium = {"name": "trn", "instance_types": ["trn1.32xlarge"], "desired_size": 1}
    assert (
        preflight(
            stage,
            node_groups=[{**trainium, "zones": ["us-west-2a", "us-west-2b"]}],
            cluster=CLUSTER,
        ).code
        == 0
    )
    assert (
        preflight(stage, node_groups=[{**trainium, "zones": ["usw2-az4"]}], cluster=CLUSTER).code
        == 0
    )
    text = problem(
        preflight(
            stage,
            node_groups=[{**trainium, "zones": ["us-west-2a", "us-west-2c"]}],
            cluster=CLUSTER,
        )
    )
    assert "us-west-2a (usw2-az2), us-west-2c (usw2-az3) does not offer" in text
    assert "choose us-west-2b (usw2-az1), us-west-2d (usw2-az4)" in text
    text = problem(
        preflight(stage, node_groups=[{**trainium, "zones": ["us-east-1a"]}], cluster=CLUSTER)
    )
    assert "has no such zone" in text
    text = problem(
        preflight(
            stage, node_groups=[{**trainium, "instance_types": ["trn9.huge"]}], cluster=CLUSTER
        )
    )
    assert "no zone of us-west-2 offers" in text


def test_what_cannot_be_known_is_no_failure(stage: AwsStage) -> None:
    stage.aws.fault("deny", service="service-quotas")
    stage.aws.fault("deny", service="eks")
    run = preflight(stage, cluster=CLUSTER, node_groups=[GPU], network=NEW_NETWORK)
    assert run.code == 0, run.messages
    text = "\n".join(told(run)["not_known"])
    for part in (
        "the quota L-DB2E81BA",
        "the quota of VPCs",
        "the quota of addresses",
        "the versions of Kubernetes",
    ):
        assert f"{part} cannot be known" in text
    assert told(run)["warnings"] == told(run)["not_known"]


def test_a_network_that_is_there_must_have_free_addresses(stage: AwsStage) -> None:
    ec2 = stage.aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/24")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/27", AvailabilityZone="us-west-2a")[
        "Subnet"
    ]["SubnetId"]
    assert preflight(stage, cluster=CLUSTER, node_groups=[GPU], network={"vpc_id": vpc}).code == 0
    text = problem(
        preflight(
            stage,
            cluster=CLUSTER,
            node_groups=[{**GPU, "desired_size": 3}],
            network={"vpc_id": vpc},
        )
    )
    assert (
        f"36 addresses are needed for the nodes and their pods, and the 1 subnets of {vpc} have 27"
        f" free ({subnet} 27)" in text
    )


def test_a_version_in_extended_support_is_told_and_priced(stage: AwsStage) -> None:
    run = preflight(stage, cluster={"name": "demo", "version": "1.29"})
    assert run.code == 0 and told(run)["hourly"] == 0.6
    assert "out of standard support" in told(run)["warnings"][0]


def test_a_machine_without_a_price_cannot_be_kept_below_a_limit(stage: AwsStage) -> None:
    group = {"name": "odd", "instance_types": ["m5.4xlarge"], "desired_size": 1}
    run = preflight(stage, cluster=CLUSTER, node_groups=[group])
    assert run.code == 0 and told(run)["unpriced"] == ["odd: 1 x m5.4xlarge"]
    text = problem(preflight(stage, cluster=CLUSTER, node_groups=[group], max_hourly=5))
    assert "give preflight_prices a price for m5.4xlarge" in text
    run = preflight(
        stage, cluster=CLUSTER, node_groups=[group], max_hourly=5, prices={"m5.4xlarge": 0.768}
    )
    assert run.code == 0 and told(run)["hourly"] == pytest.approx(0.868)
