"""A whole Trainium cluster: taken down in the right order nothing is left, in the wrong one AWS
refuses."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws.sandbox import PretendAws, refused
from tests.support.until import until

ZONES = ("us-west-2d", "us-west-2c")  # usw2-az4, usw2-az3


def launch_template(aws: PretendAws, group: str) -> str:
    cards = [
        {
            "NetworkCardIndex": card,
            "DeviceIndex": min(card, 1),
            "InterfaceType": "efa",
            "Groups": [group],
        }
        for card in range(8)
    ]
    volume = {
        "VolumeSize": 500,
        "VolumeType": "gp3",
        "Encrypted": True,
        "DeleteOnTermination": True,
    }
    data = {
        "InstanceType": "trn1.32xlarge",
        "NetworkInterfaces": cards,
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": volume}],
        "Placement": {"GroupName": "trn1"},
        "TagSpecifications": [
            {"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "demo-trn1"}]}
        ],
    }
    made = aws.client("ec2").create_launch_template(
        LaunchTemplateName="trn1", LaunchTemplateData=data
    )
    return str(made["LaunchTemplate"]["LaunchTemplateId"])


def test_a_whole_trainium_cluster_comes_and_goes(aws: PretendAws) -> None:
    ec2, eks, fsx, iam = (aws.client(name) for name in ("ec2", "eks", "fsx", "iam"))
    before = everything(aws)
    vpc, subnets = aws.network(ZONES)
    cluster = aws.cluster(subnets, version="1.33")
    issuer = cluster["identity"]["oidc"]["issuer"]
    provider = iam.create_open_id_connect_provider(Url=issuer, ClientIDList=["sts.amazonaws.com"])
    group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)["GroupId"]
    ec2.create_placement_group(GroupName="trn1", Strategy="cluster")
    template = launch_template(aws, group)
    sizes = {"minSize": 2, "desiredSize": 2, "maxSize": 2}
    reference = {"id": template, "version": "1"}
    made = aws.nodegroup(
        "demo",
        subnets[:1],
        scalingConfig=sizes,
        launchTemplate=reference,
        amiType="AL2023_x86_64_NEURON",
    )
    assert made["status"] == "ACTIVE"
    assert {instance["InstanceType"] for instance in aws.instances()} == {"trn1.32xlarge"}
    assert all(
        {"Key": "Name", "Value": "demo-trn1"} in instance["Tags"] for instance in aws.instances()
    )
    lustre = {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 200}
    wish: dict[str, Any] = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": 1200,
        "LustreConfiguration": lustre,
    }
    store = fsx.create_file_system(**wish, SubnetIds=subnets[:1], SecurityGroupIds=[group])[
        "FileSystem"
    ]["FileSystemId"]
    until(
        lambda: fsx.describe_file_systems()["FileSystems"][0]["Lifecycle"],
        lambda state: state == "AVAILABLE",
    )

    assert (
        refused(lambda: ec2.delete_placement_group(GroupName="trn1"))
        == "InvalidPlacementGroup.InUse"
    )
    assert refused(lambda: eks.delete_cluster(name="demo")) == "ResourceInUseException"
    eks.delete_nodegroup(clusterName="demo", nodegroupName="workers")
    until(lambda: eks.list_nodegroups(clusterName="demo")["nodegroups"], lambda names: not names)
    until(
        lambda: {instance["State"]["Name"] for instance in aws.instances()},
        lambda states: states == {"terminated"},
    )
    assert (
        refused(lambda: ec2.delete_security_group(GroupId=group)) == "DependencyViolation"
    )  # the file system's
    fsx.delete_file_system(FileSystemId=store)
    until(lambda: fsx.describe_file_systems()["FileSystems"], lambda left: not left)
    ec2.delete_security_group(GroupId=group)
    ec2.delete_placement_group(GroupName="trn1")
    ec2.delete_launch_template(LaunchTemplateId=template)
    iam.delete_open_id_connect_provider(
        OpenIDConnectProviderArn=provider["OpenIDConnectProviderArn"]
    )
    eks.delete_cluster(name="demo")
    until(lambda: eks.list_clusters()["clusters"], lambda names: not names)
    for subnet in subnets:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)
    for role in ("demo-control", "demo-workers-node"):
        iam.delete_role(RoleName=role)
    assert everything(aws) == before
    assert "SandboxDefect" not in {call["error"] for call in aws.calls()}


def everything(aws: PretendAws) -> dict[str, Any]:
    """A listing of each service by its own calls, beside the tagging API."""
    ec2, iam = aws.client("ec2"), aws.client("iam")
    return {
        "vpcs": ids(ec2.describe_vpcs()["Vpcs"], "VpcId"),
        "subnets": ids(ec2.describe_subnets()["Subnets"], "SubnetId"),
        "groups": ids(ec2.describe_security_groups()["SecurityGroups"], "GroupId"),
        "interfaces": ids(
            ec2.describe_network_interfaces()["NetworkInterfaces"], "NetworkInterfaceId"
        ),
        "volumes": ids(ec2.describe_volumes()["Volumes"], "VolumeId"),
        "templates": ids(ec2.describe_launch_templates()["LaunchTemplates"], "LaunchTemplateId"),
        "placement": ids(ec2.describe_placement_groups()["PlacementGroups"], "GroupName"),
        "running": ids(
            [one for one in aws.instances() if one["State"]["Name"] != "terminated"], "InstanceId"
        ),
        "clusters": aws.client("eks").list_clusters()["clusters"],
        "fsx": ids(aws.client("fsx").describe_file_systems()["FileSystems"], "FileSystemId"),
        "roles": ids(iam.list_roles()["Roles"], "RoleName"),
        "providers": json.dumps(iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]),
    }


def ids(found: list[dict[str, Any]], key: str) -> list[str]:
    return sorted(one[key] for one in found)
