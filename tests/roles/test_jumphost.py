"""The jump host: a machine in the pretend AWS, with all that is made for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.roles.conftest import CLUSTER
from tests.support.aws.permissions_simulator import allowed
from tests.support.aws.role_listing import everything
from tests.support.aws.sandbox import PretendAws
from tests.support.runner import Outcome, invoke

# What an image's push asks of a repository
PUSHING = (
    "ecr:BatchCheckLayerAvailability",
    "ecr:InitiateLayerUpload",
    "ecr:UploadLayerPart",
    "ecr:CompleteLayerUpload",
    "ecr:PutImage",
)
OFFICE = "203.0.113.7/32"


class Machine:
    """The role with a machine of its own, nothing installed on it: a pretend one does not start."""

    def __init__(self, aws: PretendAws, inventory: Path, state: Path) -> None:
        self.aws, self.inventory, self.state = aws, inventory, state

    def run(self, verb: str, *words: str, **variables: Any) -> Outcome:
        given = {
            "jumphost_install": False,
            "jumphost_ssh_cidrs": [OFFICE],
            "network_nat": "none",
            **variables,
        }
        return invoke(
            f"jumphost.{verb}",
            "--inventory",
            self.inventory,
            "--extra-vars",
            json.dumps(given),
            "--json",
            *words,
            state=self.state,
        )

    def mutations(self) -> int:
        return sum(call["mutating"] for call in self.aws.calls())


@pytest.fixture
def machine(aws: PretendAws, inventory: Path, tmp_path: Path) -> Machine:
    return Machine(aws, inventory, tmp_path / "state")


def test_the_machine_is_made_once_and_goes_with_all_that_was_made_for_it(machine: Machine) -> None:
    before = everything(machine.aws)
    foreseen = machine.run("check")
    assert foreseen.code == 0, foreseen.text
    assert not machine.mutations() and not (machine.state / "jumphost").exists()

    made = machine.run("create")
    assert made.code == 0, made.text
    _is_as_it_should_be(machine)

    mutations = machine.mutations()
    again = machine.run("create")
    assert again.code == 0 and again.counts("localhost")["changed"] == 0, again.text
    assert machine.mutations() == mutations

    assert machine.run("delete", "--yes").code == 0
    assert not (machine.state / "jumphost").exists()
    left = everything(machine.aws)
    for kind in ("instance", "key pair", "role", "instance profile", "volume", "interface"):
        assert left.get(kind) == before.get(kind), kind


def _is_as_it_should_be(machine: Machine) -> None:
    ec2, name = machine.aws.client("ec2"), f"{CLUSTER}-jumphost"
    (instance,) = [one for one in machine.aws.instances() if one["State"]["Name"] == "running"]
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    assert instance["InstanceType"] == "t3.large" and instance["KeyName"] == name
    volume = ec2.describe_volumes(
        VolumeIds=[instance["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]]
    )["Volumes"][0]
    assert volume["Encrypted"] and volume["Size"] == 100
    (group,) = ec2.describe_security_groups(GroupIds=[instance["SecurityGroups"][0]["GroupId"]])[
        "SecurityGroups"
    ]
    (rule,) = group["IpPermissions"]
    assert (rule["FromPort"], rule["ToPort"]) == (22, 22)
    assert [one["CidrIp"] for one in rule["IpRanges"]] == [OFFICE] and not rule["Ipv6Ranges"]
    policy = machine.aws.client("iam").get_role_policy(RoleName=name, PolicyName="jumphost")[
        "PolicyDocument"
    ]
    assert policy["Statement"][0]["Action"] == ["eks:DescribeCluster"]
    assert all(
        action.startswith("ecr:") for more in policy["Statement"][1:] for action in more["Action"]
    )
    for action in PUSHING:
        for cluster in (CLUSTER, "theirs"):
            tagged = {"aws:ResourceTag/playrunner:cluster": cluster}
            assert allowed([policy], action, context=tagged) == (cluster == CLUSTER), action
    assert allowed([policy], "ecr:GetAuthorizationToken", context={})
    assert not allowed([policy], "ecr:DeleteRepository")

    key = machine.state / "jumphost" / CLUSTER / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    public = subprocess.run(
        ["ssh-keygen", "-y", "-f", key], check=True, capture_output=True, text=True
    ).stdout.split()[1]
    (pair,) = ec2.describe_key_pairs(IncludePublicKey=True)["KeyPairs"]
    assert pair["PublicKey"].split()[1] == public
    secret = key.read_text().splitlines()[2]
    told = [
        file
        for file in (machine.state / "runs").rglob("*")
        if file.is_file() and secret in file.read_text()
    ]
    assert not told, "the private key is in no record"

    entry = yaml.safe_load((machine.state / "jumphost" / CLUSTER / "inventory.yaml").read_text())
    assert entry["all"]["hosts"]["jumphost"]["ansible_host"] == instance["PublicIpAddress"]
    assert entry["all"]["hosts"]["jumphost"]["ansible_ssh_private_key_file"] == str(key)
    assert entry["all"]["children"]["nodes"]["vars"] == {"via": "jumphost"}


def test_nothing_is_made_before_it_is_said_who_may_log_in(machine: Machine) -> None:
    refused = machine.run("create", jumphost_install=True, jumphost_ssh_cidrs=[])
    assert refused.code == 2 and "jumphost_ssh_cidrs" in refused.text
    assert not machine.mutations()


def test_the_whole_internet_is_let_in_only_when_that_is_said(machine: Machine) -> None:
    refused = machine.run("create", jumphost_ssh_cidrs=["0.0.0.0/0"])
    assert refused.code != 0 and "open_to_world" in refused.text
    assert not everything(machine.aws).get("instance")


def test_a_check_reaches_for_no_machine_that_is_not_there(machine: Machine) -> None:
    foreseen = machine.run("check", jumphost_install=True)
    assert foreseen.code == 0, foreseen.text
    statuses = {result["step"]: result["status"] for result in foreseen.data["results"]}
    assert (
        statuses["jumphost : jumphost Python"]
        == statuses["jumphost : jumphost packages"]
        == "unknown"
    )


def test_it_reaches_the_api_of_a_cluster_in_its_network_and_is_let_in(machine: Machine) -> None:
    ec2, eks = machine.aws.client("ec2"), machine.aws.client("eks")
    made = machine.run("create")
    assert made.code == 0, made.text
    mine = [{"Name": "tag:playrunner:cluster", "Values": [CLUSTER]}]
    subnets = {
        one["AvailabilityZone"]: one["SubnetId"]
        for one in ec2.describe_subnets(Filters=mine)["Subnets"]
    }
    access = {"authenticationMode": "API_AND_CONFIG_MAP"}
    cluster = machine.aws.cluster(list(subnets.values())[:2], CLUSTER, accessConfig=access)
    again = machine.run("create")
    assert again.code == 0, again.text

    (host,) = [
        one
        for reservation in ec2.describe_instances(Filters=mine)["Reservations"]
        for one in reservation["Instances"]
    ]
    own = {group["GroupId"] for group in host["SecurityGroups"]}
    endpoint = cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
    (group,) = ec2.describe_security_groups(GroupIds=[endpoint])["SecurityGroups"]
    let_in = {
        pair["GroupId"]
        for rule in group["IpPermissions"]
        if rule["IpProtocol"] == "-1" or rule["FromPort"] <= 443 <= rule["ToPort"]
        for pair in rule["UserIdGroupPairs"]
    }
    assert own & let_in, "TCP 443 from the jump host to the private endpoint"
    profile = host["IamInstanceProfile"]["Arn"].rpartition("/")[2]
    (role,) = machine.aws.client("iam").get_instance_profile(InstanceProfileName=profile)[
        "InstanceProfile"
    ]["Roles"]
    policies = eks.list_associated_access_policies(clusterName=CLUSTER, principalArn=role["Arn"])[
        "associatedAccessPolicies"
    ]
    assert [one["policyArn"].rpartition("/")[2] for one in policies] == [
        "AmazonEKSClusterAdminPolicy"
    ]
    third = machine.run("create")
    assert third.code == 0 and '"status": "changed"' not in third.text, third.text
    gone = machine.run("delete", "--yes", "--with-kept")
    assert gone.code == 0, gone.text
    (group,) = ec2.describe_security_groups(GroupIds=[endpoint])["SecurityGroups"]
    assert not own & {
        pair["GroupId"] for rule in group["IpPermissions"] for pair in rule["UserIdGroupPairs"]
    }
