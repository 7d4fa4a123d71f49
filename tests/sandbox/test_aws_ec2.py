"""The pretend EC2: nothing goes while something stands on it, tokens count, zones run out, groups
exist."""

from __future__ import annotations

from typing import Any

from tests.support.aws.sandbox import PretendAws, refused
from tests.support.until import until

IMAGE = "ami-0a1000000000000a1"


def run(aws: PretendAws, **more: Any) -> str:
    wish = {"ImageId": IMAGE, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, **more}
    return str(aws.client("ec2").run_instances(**wish)["Instances"][0]["InstanceId"])


def test_a_subnet_with_an_instance_stays_until_the_instance_is_gone(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    vpc, subnets = aws.network()
    instance = run(aws, SubnetId=subnets[0])
    delete = lambda: ec2.delete_subnet(SubnetId=subnets[0])  # noqa: E731
    assert refused(delete) == "DependencyViolation"
    aws.delays(ec2__instance__stop=3.0)  # long enough for a busy machine to see it
    ec2.terminate_instances(InstanceIds=[instance])
    aws.delays(ec2__instance__stop=0.3)
    assert aws.instances()[0]["State"]["Name"] == "shutting-down"
    assert refused(delete) == "DependencyViolation"
    until(lambda: aws.instances()[0]["State"]["Name"], lambda state: state == "terminated")
    delete()
    assert refused(lambda: ec2.delete_vpc(VpcId=vpc)) == "DependencyViolation"
    ec2.delete_subnet(SubnetId=subnets[1])
    ec2.delete_vpc(VpcId=vpc)


def test_a_security_group_named_by_another_stays(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    vpc, subnets = aws.network()
    first, second = (
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        for name in ("one", "two")
    )
    pairs = [{"GroupId": first}]
    rule = [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "UserIdGroupPairs": pairs}]
    ec2.authorize_security_group_ingress(GroupId=second, IpPermissions=rule)
    ec2.authorize_security_group_ingress(
        GroupId=first, IpPermissions=rule
    )  # itself: does not stand in its own way
    assert refused(lambda: ec2.delete_security_group(GroupId=first)) == "DependencyViolation"
    assert refused(lambda: ec2.delete_vpc(VpcId=vpc)) == "DependencyViolation"
    ec2.revoke_security_group_ingress(GroupId=second, IpPermissions=rule)
    ec2.delete_security_group(GroupId=first)
    instance = run(aws, SubnetId=subnets[0], SecurityGroupIds=[second])
    assert refused(lambda: ec2.delete_security_group(GroupId=second)) == "DependencyViolation"
    ec2.terminate_instances(InstanceIds=[instance])
    until(lambda: aws.instances()[0]["State"]["Name"], lambda state: state == "terminated")
    ec2.delete_security_group(GroupId=second)


def test_a_gateway_stays_while_addresses_are_mapped(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    vpc, subnets = aws.network()
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=subnets[0], AllocationId=address)["NatGateway"]
    assert nat["State"] == "pending"

    def state():
        return ec2.describe_nat_gateways(NatGatewayIds=[nat["NatGatewayId"]])["NatGateways"][0][
            "State"
        ]

    until(state, lambda status: status == "available")
    assert (
        refused(lambda: ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc))
        == "DependencyViolation"
    )
    assert (
        refused(lambda: ec2.delete_internet_gateway(InternetGatewayId=gateway))
        == "DependencyViolation"
    )
    assert refused(lambda: ec2.release_address(AllocationId=address)) == "InvalidIPAddress.InUse"
    ec2.delete_nat_gateway(NatGatewayId=nat["NatGatewayId"])
    assert state() == "deleting"
    assert refused(lambda: ec2.delete_subnet(SubnetId=subnets[0])) == "DependencyViolation"
    until(state, lambda status: status == "deleted")
    ec2.release_address(AllocationId=address)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    ec2.delete_subnet(SubnetId=subnets[0])


def test_a_load_balancer_leaves_interfaces_for_a_while(aws: PretendAws) -> None:
    ec2, elb = aws.client("ec2"), aws.client("elbv2")
    _, subnets = aws.network()
    arn = elb.create_load_balancer(Name="web", Subnets=subnets, Type="network")["LoadBalancers"][0][
        "LoadBalancerArn"
    ]
    interfaces = ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert {interface["SubnetId"] for interface in interfaces} == set(subnets)
    assert all(
        interface["Description"].startswith("ELB ") and "/web/" in interface["Description"]
        for interface in interfaces
    )
    assert (
        refused(
            lambda: ec2.delete_network_interface(
                NetworkInterfaceId=interfaces[0]["NetworkInterfaceId"]
            )
        )
        == "InvalidParameterValue"
    )
    elb.delete_load_balancer(LoadBalancerArn=arn)
    assert refused(lambda: ec2.delete_subnet(SubnetId=subnets[0])) == "DependencyViolation"
    until(lambda: ec2.describe_network_interfaces()["NetworkInterfaces"], lambda left: not left)
    ec2.delete_subnet(SubnetId=subnets[0])


def test_a_client_token_makes_one_instance(aws: PretendAws) -> None:
    _, subnets = aws.network()
    first = run(aws, SubnetId=subnets[0], ClientToken="once")
    assert run(aws, SubnetId=subnets[0], ClientToken="once") == first
    assert len(aws.instances()) == 1
    assert (
        refused(lambda: run(aws, SubnetId=subnets[1], ClientToken="once"))
        == "IdempotentParameterMismatch"
    )


def test_what_is_named_must_be_there(aws: PretendAws) -> None:
    _, subnets = aws.network()
    assert (
        refused(lambda: run(aws, SubnetId=subnets[0], ImageId="ami-00000000"))
        == "InvalidAMIID.NotFound"
    )
    assert (
        refused(lambda: run(aws, SubnetId=subnets[0], KeyName="nobody"))
        == "InvalidKeyPair.NotFound"
    )
    assert (
        refused(lambda: run(aws, SubnetId=subnets[0], Placement={"GroupName": "none"}))
        == "InvalidPlacementGroup.Unknown"
    )
    assert (
        refused(lambda: run(aws, SubnetId=subnets[0], InstanceType="trn1.32xlarge"))
        == "Unsupported"
    )  # not in us-west-2a
    assert refused(lambda: run(aws, SubnetId=subnets[0], DryRun=True)) == "DryRunOperation"
    assert aws.instances() == []


def test_capacity_runs_out_in_one_zone_only(aws: PretendAws) -> None:
    _, subnets = aws.network()
    aws.fault("insufficient_capacity", zone="usw2-az2")  # us-west-2a, by its id
    assert (
        refused(
            lambda: aws.client("ec2", retry=False).run_instances(
                ImageId=IMAGE, InstanceType="t3.micro", MinCount=1, MaxCount=1, SubnetId=subnets[0]
            )
        )
        == "InsufficientInstanceCapacity"
    )
    run(aws, SubnetId=subnets[1])


def test_a_placement_group_stays_while_it_is_used(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    _, subnets = aws.network()
    spec = [{"ResourceType": "placement-group", "Tags": [{"Key": "owner", "Value": "us"}]}]
    ec2.create_placement_group(GroupName="tight", Strategy="cluster", TagSpecifications=spec)
    assert (
        refused(lambda: ec2.create_placement_group(GroupName="tight"))
        == "InvalidPlacementGroup.Duplicate"
    )
    found = ec2.describe_placement_groups(Filters=[{"Name": "tag:owner", "Values": ["us"]}])[
        "PlacementGroups"
    ]
    assert [(one["GroupName"], one["State"], one["Strategy"]) for one in found] == [
        ("tight", "available", "cluster")
    ]
    instance = run(aws, SubnetId=subnets[0], Placement={"GroupName": "tight"})
    assert (
        refused(lambda: ec2.delete_placement_group(GroupName="tight"))
        == "InvalidPlacementGroup.InUse"
    )
    ec2.terminate_instances(InstanceIds=[instance])
    ec2.delete_placement_group(GroupName="tight")
    assert (
        refused(lambda: ec2.describe_placement_groups(GroupNames=["tight"]))
        == "InvalidPlacementGroup.Unknown"
    )


def test_zones_and_what_they_offer(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    zones = ec2.describe_availability_zones(Filters=[{"Name": "zone-id", "Values": ["usw2-az4"]}])[
        "AvailabilityZones"
    ]
    assert [zone["ZoneName"] for zone in zones] == ["us-west-2d"]
    for kind in ("trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge", "p4d.24xlarge", "p5.48xlarge"):
        only = [{"Name": "instance-type", "Values": [kind]}]
        found = ec2.describe_instance_type_offerings(
            LocationType="availability-zone-id", Filters=only
        )["InstanceTypeOfferings"]
        assert "usw2-az4" in {one["Location"] for one in found}, kind
    types = ec2.describe_instance_types(InstanceTypes=["trn1.32xlarge"])["InstanceTypes"][0]
    assert types["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"] == 8


def test_a_launch_template_keeps_its_efa_interfaces(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    cards = [
        {"NetworkCardIndex": card, "DeviceIndex": min(card, 1), "InterfaceType": "efa"}
        for card in range(8)
    ]
    data = {
        "InstanceType": "trn1.32xlarge",
        "NetworkInterfaces": cards,
        "MetadataOptions": {"HttpTokens": "required"},
    }
    wish = {"LaunchTemplateName": "trn1", "LaunchTemplateData": data, "ClientToken": "one"}
    made = ec2.create_launch_template(**wish)["LaunchTemplate"]["LaunchTemplateId"]
    assert ec2.create_launch_template(**wish)["LaunchTemplate"]["LaunchTemplateId"] == made
    version = ec2.describe_launch_template_versions(LaunchTemplateId=made)[
        "LaunchTemplateVersions"
    ][0]
    assert version["LaunchTemplateData"]["NetworkInterfaces"] == cards


def test_images_are_found_by_their_parameters(aws: PretendAws) -> None:
    path = (
        "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/recommended/image_id"
    )
    image = aws.client("ssm").get_parameter(Name=path)["Parameter"]["Value"]
    found = aws.client("ec2").describe_images(ImageIds=[image])["Images"][0]
    assert found["Name"].startswith("amazon-eks-node-al2023-x86_64-neuron-1.33")


def test_quotas_and_prices(aws: PretendAws) -> None:
    quotas = aws.client("service-quotas")
    assert (
        quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-2C3B7624")["Quota"]["Value"] == 512
    )
    aws.control("POST", "settings", {"quotas": {"L-2C3B7624": 0}})
    found = {
        one["QuotaCode"]: one["Value"]
        for one in quotas.list_service_quotas(ServiceCode="ec2")["Quotas"]
    }
    assert (found["L-2C3B7624"], found["L-0263D0A3"]) == (0, 5)
    wanted = [{"Type": "TERM_MATCH", "Field": "instanceType", "Value": "g4dn.xlarge"}]
    assert (
        '"USD": "0.526'
        in aws.client("pricing").get_products(ServiceCode="AmazonEC2", Filters=wanted)["PriceList"][
            0
        ]
    )
    assert aws.control("GET", "prices")["instance_hour"]["g4dn.xlarge"] == 0.526


def test_a_larger_quota_is_asked_for_once_and_granted_by_the_settings(aws: PretendAws) -> None:
    quotas = aws.client("service-quotas")
    wish = {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"}

    def status() -> list[str]:
        found = quotas.list_requested_service_quota_change_history_by_quota(**wish)
        return [request["Status"] for request in found["RequestedQuotas"]]

    ask = lambda value: quotas.request_service_quota_increase(**wish, DesiredValue=value)  # noqa: E731
    assert refused(lambda: ask(1.0)) == "IllegalArgumentException"
    assert ask(999.0)["RequestedQuota"]["Status"] == "PENDING" and status() == ["PENDING"]
    assert refused(lambda: ask(1000.0)) == "ResourceAlreadyExistsException"
    aws.control("POST", "settings", {"quotas": {"L-DB2E81BA": 999}})
    assert status() == ["APPROVED"]


def test_capacity_blocks_are_offered_for_whole_days_where_the_type_is(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")

    def offers(kind: str, hours: int) -> Any:
        return ec2.describe_capacity_block_offerings(
            InstanceType=kind, InstanceCount=2, CapacityDurationHours=hours
        )["CapacityBlockOfferings"]

    found = offers("p5.48xlarge", 48)
    assert found and {one["InstanceCount"] for one in found} == {2}
    assert all((one["EndDate"] - one["StartDate"]).days == 2 for one in found)
    assert refused(lambda: offers("p5.48xlarge", 25)) == "InvalidParameterValue"
    assert refused(lambda: offers("m5.large", 24)) == "InvalidParameterValue"
