"""The pretend AWS has the groups, grammar and order of deletion that AWS has."""

from __future__ import annotations

from tests.support.aws.sandbox import PretendAws, refused


def test_a_node_group_has_an_auto_scaling_group_of_its_size(aws: PretendAws) -> None:
    _, subnets = aws.network()
    aws.cluster(subnets)
    sizes = {"minSize": 1, "maxSize": 3, "desiredSize": 2}
    made = aws.nodegroup("demo", subnets, instanceTypes=["t3.micro"], scalingConfig=sizes)
    (name,) = [group["name"] for group in made["resources"]["autoScalingGroups"]]
    (group,) = aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])[
        "AutoScalingGroups"
    ]
    assert (group["MinSize"], group["MaxSize"], group["DesiredCapacity"]) == (1, 3, 2)


def test_a_trust_policy_that_is_none_is_refused(aws: PretendAws) -> None:
    iam = aws.client("iam")
    for document in ("{}", '{"Version": "2012-10-17", "Statement": [{"Effect": "Perhaps"}]}'):
        assert "Malformed" in refused(
            lambda: iam.create_role(RoleName="one", AssumeRolePolicyDocument=document)  # noqa: B023
        )


def test_an_endpoint_goes_after_its_route_table(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    vpc, _ = aws.network()
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    endpoint = ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName="com.amazonaws.us-west-2.s3", RouteTableIds=[table]
    )["VpcEndpoint"]["VpcEndpointId"]
    ec2.delete_route_table(RouteTableId=table)
    assert not ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])["Unsuccessful"]
