"""The whole runbook of each AWS variant, typed as an operator types it, and looked at with other
people's tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.aws import permissions
from tests.support.aws.cli import Operator
from tests.support.aws.role_listing import everything
from tests.support.aws.sandbox import PretendAws

CREATES = ("eks.create", "efs.create", "fsx.create", "registry.create")


def test_the_gpu_variant(aws: PretendAws, inventory: Path, tmp_path: Path) -> None:
    def agrees(operator: Operator) -> None:
        cluster = operator.aws_cli("eks", "describe-cluster", "--name", "drill")["cluster"]
        assert (
            cluster["status"] == "ACTIVE" and len(cluster["resourcesVpcConfig"]["subnetIds"]) == 8
        )
        group = operator.aws_cli(
            "eks", "describe-nodegroup", "--cluster-name", "drill", "--nodegroup-name", "gpu-nodes"
        )
        assert group["nodegroup"]["capacityType"] == "SPOT" and group["nodegroup"][
            "instanceTypes"
        ] == ["g4dn.xlarge"]
        assert group["nodegroup"]["scalingConfig"] == {"minSize": 2, "maxSize": 8, "desiredSize": 2}
        subnets = operator.aws_cli(
            "ec2", "describe-subnets", "--filters", "Name=tag:playrunner:cluster,Values=drill"
        )["Subnets"]
        assert sorted({subnet["AvailabilityZone"] for subnet in subnets}) == [
            f"us-west-2{zone}" for zone in "abcd"
        ]
        assert all(
            subnet["CidrBlock"].startswith("192.168.") and subnet["CidrBlock"].endswith("/19")
            for subnet in subnets
        )
        issuer = cluster["identity"]["oidc"]["issuer"].rpartition("/")[2]
        providers = operator.aws_cli("iam", "list-open-id-connect-providers")[
            "OpenIDConnectProviderList"
        ]
        assert any(provider["Arn"].endswith(issuer) for provider in providers)
        (store,) = operator.aws_cli("efs", "describe-file-systems")["FileSystems"]
        assert store["Encrypted"] and store["LifeCycleState"] == "available"
        targets = operator.aws_cli(
            "efs", "describe-mount-targets", "--file-system-id", store["FileSystemId"]
        )["MountTargets"]
        assert len({target["AvailabilityZoneName"] for target in targets}) == len(targets) == 4
        (lustre,) = operator.aws_cli("fsx", "describe-file-systems")["FileSystems"]
        assert (lustre["StorageCapacity"], lustre["Lifecycle"]) == (1200, "AVAILABLE")
        (repository,) = operator.aws_cli("ecr", "describe-repositories")["repositories"]
        assert repository["imageScanningConfiguration"]["scanOnPush"]
        _is_safe(operator)

    _runbook(aws, tmp_path, ("eks-gpu", str(inventory)), agrees)


def test_the_trainium_variant(aws: PretendAws, inventory: Path, tmp_path: Path) -> None:
    def agrees(operator: Operator) -> None:
        group = operator.aws_cli(
            "eks",
            "describe-nodegroup",
            "--cluster-name",
            "drill",
            "--nodegroup-name",
            "trn1-32xl-ng1",
        )
        assert group["nodegroup"]["scalingConfig"] == {"minSize": 2, "maxSize": 2, "desiredSize": 2}
        assert len(group["nodegroup"]["subnets"]) == 1, "a placement group lies in one zone"
        template = group["nodegroup"]["launchTemplate"]["id"]
        (version,) = operator.aws_cli(
            "ec2",
            "describe-launch-template-versions",
            "--launch-template-id",
            template,
            "--versions",
            "$Default",
        )["LaunchTemplateVersions"]
        data = version["LaunchTemplateData"]
        cards = [
            (card["NetworkCardIndex"], card["DeviceIndex"], card["InterfaceType"])
            for card in data["NetworkInterfaces"]
        ]
        assert cards == [(0, 0, "efa"), *((card, 1, "efa") for card in range(1, 8))]
        assert data["MetadataOptions"] == {
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 2,
            "HttpEndpoint": "enabled",
        }
        (disk,) = data["BlockDeviceMappings"]
        assert (disk["Ebs"]["VolumeSize"], disk["Ebs"]["VolumeType"], disk["Ebs"]["Encrypted"]) == (
            500,
            "gp3",
            True,
        )
        groups = operator.aws_cli("ec2", "describe-placement-groups")["PlacementGroups"]
        assert [group["Strategy"] for group in groups] == ["cluster"]
        _is_safe(operator)

    _runbook(aws, tmp_path, ("eks-trainium", str(inventory)), agrees)


def test_account_caller_and_region_are_shown(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator = Operator(aws, tmp_path, ("eks-cpu", str(inventory)))
    shown = operator.invoke("preflight.check", "--roles", "eks")
    assert shown.code == 0, shown.out + shown.err
    text = shown.out + shown.err
    assert re.search(r"account 123456789012, arn:aws:\S+, us-[a-z]+-\d", text)
    assert "the API of drill can be reached from the whole internet" in text, text
    assert "eks_closed: true" in text
    closed = operator.invoke("preflight.check", "--roles", "eks", "--extra-vars", "eks_closed=true")
    assert closed.code == 0 and "whole internet" not in closed.out + closed.err


def test_the_cpu_variant(aws: PretendAws, inventory: Path, tmp_path: Path) -> None:
    def agrees(operator: Operator) -> None:
        cluster = operator.aws_cli("eks", "describe-cluster", "--name", "drill")["cluster"]
        logged = [
            kind
            for one in cluster["logging"]["clusterLogging"]
            if one["enabled"]
            for kind in one["types"]
        ]
        assert sorted(logged) == ["api", "audit", "authenticator", "controllerManager", "scheduler"]
        group = operator.aws_cli(
            "eks", "describe-nodegroup", "--cluster-name", "drill", "--nodegroup-name", "cpu-nodes"
        )
        assert group["nodegroup"]["labels"] == {"role": "cpu-worker"}
        assert group["nodegroup"]["scalingConfig"] == {"minSize": 2, "maxSize": 3, "desiredSize": 2}
        role = operator.aws_cli("iam", "get-role", "--role-name", "drill-pytorch-training-sa")[
            "Role"
        ]
        (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
        conditions = trust["Condition"]["StringEquals"]
        assert "system:serviceaccount:default:pytorch-training-sa" in conditions.values()
        assert "sts.amazonaws.com" in conditions.values()
        templates = operator.aws_cli(
            "ec2",
            "describe-launch-template-versions",
            "--launch-template-name",
            "drill-cpu-nodes",
        )["LaunchTemplateVersions"]
        assert [each["LaunchTemplateData"]["KeyName"] for each in templates] == ["operators"]
        _is_safe(operator)

    aws.client("ec2").create_key_pair(KeyName="operators")
    given = ("--extra-vars", json.dumps({"eks_key_name": "operators"}))
    _runbook(aws, tmp_path, ("eks-cpu", str(inventory)), agrees, "bucket.create", extra=given)


def test_a_cluster_that_is_there_already(aws: PretendAws, inventory: Path, tmp_path: Path) -> None:
    vpc, subnets = aws.network(("us-west-2a", "us-west-2b"))
    ec2 = aws.client("ec2")
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    (table,) = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])[
        "RouteTables"
    ]
    ec2.create_route(
        RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway
    )
    theirs = aws.cluster(
        subnets, "theirs", accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"}
    )
    aws.nodegroup("theirs", subnets, scalingConfig={"minSize": 1, "maxSize": 1, "desiredSize": 1})
    given = json.dumps({"eks_existing": "theirs", "network_existing_vpc_id": vpc, "eks_oidc": True})

    def agrees(operator: Operator) -> None:
        assert operator.invoke("eks.verify", "--extra-vars", given).code == 0
        assert aws.client("eks").describe_cluster(name="theirs")["cluster"] == theirs
        targets = [
            target
            for store in operator.aws_cli("efs", "describe-file-systems")["FileSystems"]
            for target in operator.aws_cli(
                "efs", "describe-mount-targets", "--file-system-id", store["FileSystemId"]
            )["MountTargets"]
        ]
        assert {target["SubnetId"] for target in targets} == set(subnets)

    _runbook(aws, tmp_path, ("eks-existing", str(inventory)), agrees, extra=("--extra-vars", given))


def _runbook(
    aws: PretendAws,
    home: Path,
    inventories: tuple[str, ...],
    agrees: Callable[[Operator], None],
    *more: str,
    extra: tuple[str, ...] = (),
) -> None:
    """Create, create again, look, tear down; every call is recorded for the page of permissions."""
    before = everything(aws)
    operator = Operator(aws, home, inventories)
    for verb in (*CREATES, *more):
        assert "failed" not in operator.results(verb, *extra).values()
    for verb in (*CREATES, *more):
        again = operator.results(verb, *extra)
        assert "changed" not in again.values(), again
    there = json.loads(operator.invoke("status", "--json", *extra).out)["things"]
    assert {thing["state"] for thing in there} <= {"there", "absent"}
    agrees(operator)
    assert operator.invoke("audit").code == 7
    foreseen = operator.invoke("teardown", "--check", *extra)
    assert foreseen.code == 0 and "delete" in foreseen.out
    unasked = operator.invoke("teardown", "--json", *extra)
    told = json.loads(unasked.out)
    assert unasked.code == told["exit_code"] == 5, "without --yes it asks, and nobody is here"
    assert "use --yes" in told["error"] and told["would_remove"], told
    gone = operator.invoke("teardown", "--yes", "--with-kept", *extra)
    assert gone.code == 0, gone.out + gone.err
    assert _titles(gone.out, "delete") == _titles(gone.out, "deleted"), gone.out
    assert not _titles(gone.out, "left") and gone.out.endswith("nothing is left\n"), gone.out
    assert everything(aws) == before
    assert operator.invoke("audit").code == 0
    _says_no_secret(operator)
    permissions.check(aws.calls(lease=True), "drill")


def _titles(text: str, word: str) -> set[str]:
    """The steps of which a line says so."""
    return set(re.findall(rf"^{word} +(\S.*?)  ", text, re.MULTILINE))


def _is_safe(operator: Operator) -> None:
    """Nothing open to the world, everything at rest encrypted."""
    groups = operator.aws_cli(
        "ec2", "describe-security-groups", "--filters", "Name=tag:playrunner:cluster,Values=drill"
    )
    open_rules = [
        rule
        for group in groups["SecurityGroups"]
        for rule in group["IpPermissions"]
        if any(source["CidrIp"] == "0.0.0.0/0" for source in rule.get("IpRanges", ()))
    ]
    assert open_rules == []
    attached = operator.aws_cli("iam", "list-roles")["Roles"]
    for role in attached:
        policies = operator.aws_cli(
            "iam", "list-attached-role-policies", "--role-name", role["RoleName"]
        )["AttachedPolicies"]
        assert not [policy for policy in policies if "FullAccess" in policy["PolicyName"]]


def _says_no_secret(operator: Operator) -> None:
    """Neither on the screen nor in any file that a run leaves."""
    secret = operator.aws.up.secret_access_key
    assert not [text for text in operator.heard if secret in text]
    files = [path for path in operator.home.rglob("*") if path.is_file()]
    assert files and not [path for path in files if secret in path.read_text(errors="replace")]


@pytest.fixture(autouse=True)
def nothing_recorded(aws: PretendAws) -> None:
    aws.control("DELETE", "calls")
