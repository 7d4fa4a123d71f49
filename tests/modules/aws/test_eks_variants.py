"""The eks role with each inventory that names a variant: made as declared, quiet the second time,
gone without a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.aws.module_stage import AwsStage

ROOT = Path(__file__).parents[3]
ROLE = [{"import_role": {"name": "eks"}}]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))


def variables(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "inventories" / f"{name}.yaml").read_text())["all"]["vars"])


def made(stage: AwsStage, name: str, **more: Any) -> dict[str, Any]:
    """The variant's one node group, after two runs of which the second changes nothing."""
    given = {**variables(name), **more}
    run = stage.play(ROLE, **given)
    assert run.code == 0, run.messages
    again = stage.play(ROLE, **given)
    assert again.code == 0 and not again.changed, again.changed
    eks = stage.aws.client("eks", given["aws_region"])
    (group,) = eks.list_nodegroups(clusterName=given["cluster_name"])["nodegroups"]
    return dict(
        eks.describe_nodegroup(clusterName=given["cluster_name"], nodegroupName=group)["nodegroup"]
    )


def zones_of(stage: AwsStage, subnets: list[str]) -> set[str]:
    return {
        one["AvailabilityZone"]
        for one in stage.aws.client("ec2").describe_subnets(SubnetIds=subnets)["Subnets"]
    }


def leaves_nothing(stage: AwsStage, name: str, **more: Any) -> None:
    given = {**variables(name), **more}
    removed = stage.delete(ROLE, **given)
    assert removed.code == 0, removed.text
    ec2, iam = stage.aws.client("ec2", given["aws_region"]), stage.aws.client("iam")
    assert stage.aws.client("eks", given["aws_region"]).list_clusters()["clusters"] == []
    assert (
        iam.list_roles()["Roles"] == []
        and iam.list_open_id_connect_providers()["OpenIDConnectProviderList"] == []
    )
    assert [one for one in ec2.describe_vpcs()["Vpcs"] if not one["IsDefault"]] == []
    assert (
        ec2.describe_launch_templates()["LaunchTemplates"] == []
        and ec2.describe_placement_groups()["PlacementGroups"] == []
    )
    assert stage.aws.client("logs", given["aws_region"]).describe_log_groups()["logGroups"] == []


def test_gpu_on_spot_in_all_zones(stage: AwsStage) -> None:
    group = made(stage, "eks-gpu")
    assert (group["clusterName"], group["capacityType"], group["instanceTypes"]) == (
        "torchelastic",
        "SPOT",
        ["g4dn.xlarge"],
    )
    control = stage.aws.client("eks").describe_cluster(name="torchelastic")["cluster"][
        "resourcesVpcConfig"
    ]["subnetIds"]
    assert zones_of(stage, control) == {"us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"}
    kind = [{"Name": "instance-type", "Values": ["g4dn.xlarge"]}]
    offers = stage.aws.client("ec2").describe_instance_type_offerings(
        LocationType="availability-zone", Filters=kind
    )
    assert zones_of(stage, group["subnets"]) == {
        one["Location"] for one in offers["InstanceTypeOfferings"]
    }
    assert group["scalingConfig"]["desiredSize"] == 2 and group["amiType"] == "AL2023_x86_64_NVIDIA"
    leaves_nothing(stage, "eks-gpu")


@pytest.mark.parametrize(
    ("kind", "name", "cards"),
    [("trn1.32xlarge", "trn1-32xl-ng1", 8), ("trn1n.32xlarge", "trn1n-32xl-ng1", 16)],
)
def test_trainium_in_one_zone_with_every_card(
    stage: AwsStage, kind: str, name: str, cards: int
) -> None:
    group = made(stage, "eks-trainium", trainium_type=kind)
    ec2 = stage.aws.client("ec2")
    (subnet,) = ec2.describe_subnets(SubnetIds=group["subnets"])["Subnets"]
    assert (group["nodegroupName"], subnet["AvailabilityZoneId"]) == (name, "usw2-az4")
    assert set(group["scalingConfig"].values()) == {2}
    (version,) = ec2.describe_launch_template_versions(
        LaunchTemplateId=group["launchTemplate"]["id"]
    )["LaunchTemplateVersions"]
    data = version["LaunchTemplateData"]
    assert data["InstanceType"] == kind and len(data["NetworkInterfaces"]) == cards
    assert {one["InterfaceType"] for one in data["NetworkInterfaces"]} == {"efa"}
    assert (
        data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 500
        and data["BlockDeviceMappings"][0]["Ebs"]["Encrypted"]
    )
    assert (
        data["MetadataOptions"]["HttpTokens"],
        data["MetadataOptions"]["HttpPutResponseHopLimit"],
    ) == ("required", 2)
    leaves_nothing(stage, "eks-trainium", trainium_type=kind)


@pytest.mark.parametrize(
    ("region", "zones"),
    [("us-west-2", ["usw2-az4", "usw2-az3"]), ("us-east-1", ["use1-az6", "use1-az5"])],
)
def test_trainium_s_first_zones_are_the_guide_s(
    stage: AwsStage, region: str, zones: list[str]
) -> None:
    elsewhere = {**variables("eks-trainium"), "aws_region": region}
    run = stage.play([{"name": "zones", "debug": {"msg": "{{ network_zone_ids }}"}}], **elsewhere)
    assert run.values["zones"]["msg"][:2] == zones


def test_trainium_where_there_is_none_names_the_regions(stage: AwsStage) -> None:
    elsewhere = {**variables("eks-trainium"), "aws_region": "eu-west-1"}
    run = stage.play([{"debug": {"msg": "{{ network_zone_ids }}"}}], **elsewhere)
    assert run.code == 2 and "us-west-2" in run.messages and "us-east-1" in run.messages
    mark = len(stage.aws.calls())
    assert stage.play(ROLE, **elsewhere).code == 2
    done = [
        call["action"]
        for call in stage.aws.calls()[mark:]
        if call["mutating"] and call["status"] < 300
    ]
    assert done == [], "nothing is made"


def test_cpu_with_a_role_for_its_service_account(stage: AwsStage) -> None:
    group = made(stage, "eks-cpu")
    assert group["labels"] == {"role": "cpu-worker"} and group["scalingConfig"] == {
        "minSize": 2,
        "maxSize": 3,
        "desiredSize": 2,
    }
    assert group["tags"]["k8s.io/cluster-autoscaler/pytorch-training-cluster"] == "owned"
    cluster = stage.aws.client("eks", "us-east-1").describe_cluster(
        name="pytorch-training-cluster"
    )["cluster"]
    assert [one["types"] for one in cluster["logging"]["clusterLogging"] if one["enabled"]] == [
        ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    ]
    iam, name = stage.aws.client("iam"), "pytorch-training-cluster-pytorch-training-sa"
    (trust,) = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]["Statement"]
    assert (
        "system:serviceaccount:default:pytorch-training-sa"
        in trust["Condition"]["StringEquals"].values()
    )
    (policy,) = iam.list_role_policies(RoleName=name)["PolicyNames"]
    (statement,) = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"][
        "Statement"
    ]
    assert statement["Action"] == ["s3:PutObject", "s3:GetObject", "s3:ListBucket"]
    assert statement["Resource"] == ["arn:aws:s3:::pytorch-svw", "arn:aws:s3:::pytorch-svw/*"]
    leaves_nothing(stage, "eks-cpu")


def test_a_cluster_of_somebody_else_gets_nodes_and_stays_as_it_was(stage: AwsStage) -> None:
    assert stage.play(ROLE, **variables("eks-cpu")).code == 0
    eks = stage.aws.client("eks", "us-east-1")
    before = eks.describe_cluster(name="pytorch-training-cluster")["cluster"]
    theirs = {
        **variables("eks-existing"),
        "aws_region": "us-east-1",
        "eks_existing": "pytorch-training-cluster",
        "network_existing_vpc_id": before["resourcesVpcConfig"]["vpcId"],
        "eks_nodegroups": [{"name": "sys", "instance_types": ["c5.2xlarge"]}],
    }
    run = stage.play(ROLE, **theirs)
    assert run.code == 0, run.messages
    assert not stage.play(ROLE, **theirs).changed
    assert eks.list_nodegroups(clusterName="pytorch-training-cluster")["nodegroups"] == [
        "cpu-nodes",
        "sys",
    ]
    assert stage.delete(ROLE, **theirs).code == 0
    assert eks.list_nodegroups(clusterName="pytorch-training-cluster")["nodegroups"] == [
        "cpu-nodes"
    ]
    assert eks.describe_cluster(name="pytorch-training-cluster")["cluster"] == before
