"""Things of others inside our network: shown, in the way of a teardown, and deleted only when they
are named."""

from __future__ import annotations

from pathlib import Path

from tests.support.aws.cli import Operator
from tests.support.aws.sandbox import PretendAws


def test_things_of_others_in_our_network_stop_a_teardown_until_they_are_named(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator, ec2 = Operator(aws, tmp_path, (str(inventory),)), aws.client("ec2")
    balancers = aws.client("elbv2")
    assert operator.invoke("network.create").code == 0
    mine = [{"Name": "tag:playrunner:cluster", "Values": ["drill"]}]
    subnets = ec2.describe_subnets(Filters=mine)["Subnets"]
    vpc, theirs = subnets[0]["VpcId"], [{"Key": "owner", "Value": "another team"}]
    group = ec2.create_security_group(
        GroupName="theirs",
        Description="theirs",
        VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": theirs}],
    )["GroupId"]
    zones = {subnet["AvailabilityZone"]: subnet["SubnetId"] for subnet in subnets}
    balancer = balancers.create_load_balancer(
        Name="theirs", Subnets=list(zones.values())[:2], SecurityGroups=[group]
    )["LoadBalancers"][0]["LoadBalancerArn"]

    said = operator.invoke("teardown", "--yes")
    assert said.code == 7 and "nothing was deleted" in said.out, said.out + said.err
    assert "theirs" in said.out and group in said.out, said.out
    assert len(ec2.describe_subnets(Filters=mine)["Subnets"]) == len(subnets)
    assert balancers.describe_load_balancers(LoadBalancerArns=[balancer])["LoadBalancers"]

    half = operator.invoke("teardown", "--yes", "--also", group)
    assert half.code == 7 and "nothing was deleted" in half.out, half.out + half.err
    gone = operator.invoke("teardown", "--yes", "--also", f"{group},{balancer}")
    assert gone.code == 0, gone.out + gone.err
    assert ec2.describe_subnets(Filters=mine)["Subnets"] == []
    assert balancers.describe_load_balancers()["LoadBalancers"] == []
