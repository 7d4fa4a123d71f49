"""aws.security_group: who may talk to whom, and about what."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.modules.aws._ec2_rules import complaint, declared, observed, permission
from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise

SELF = {"protocol": "all", "self": True}
ANYWHERE = {"protocol": "all", "cidr": "0.0.0.0/0"}


def group(name: str = "nodes", **more: Any) -> dict[str, Any]:
    wish = {"name": name, "vpc_id": "{{ vpc.VpcId }}", "description": f"what {name} need", **more}
    return {"name": name, "aws.security_group": wish, "register": name}


def test_a_group_keeps_its_promise(stage: AwsStage) -> None:
    one = group(ingress=[{"ports": 2049, "cidr": "10.0.0.0/16"}])
    other = group(
        ingress=[SELF, {"ports": [988, "1018-1023"], "cidr": ["10.0.0.0/16", "10.1.0.0/16"]}],
        egress=[SELF, ANYWHERE],
        tags={"kubernetes.io/cluster/demo": "owned"},
    )
    keeps_its_promise(stage, one, other, before=[VPC])


def test_a_group_of_that_name_that_is_not_ours_is_refused_and_stays(stage: AwsStage) -> None:
    vpc, _ = stage.aws.network()
    ec2 = stage.aws.client("ec2")
    number = ec2.create_security_group(GroupName="nodes", Description="another", VpcId=vpc)[
        "GroupId"
    ]
    run = stage.play([group(vpc_id=vpc)])
    assert run.code == 2 and f"{number} already exists but is not tagged" in run.messages
    assert stage.delete([group(vpc_id=vpc)]).gone == {}
    assert ec2.describe_security_groups(GroupIds=[number])["SecurityGroups"]


def test_efa_gets_a_rule_that_names_the_group_itself_in_both_directions(stage: AwsStage) -> None:
    number = stage.play([VPC, group(ingress=[SELF], egress=[SELF, ANYWHERE])]).values["nodes"][
        "GroupId"
    ]
    found = stage.aws.client("ec2").describe_security_groups(GroupIds=[number])["SecurityGroups"][0]
    for field in ("IpPermissions", "IpPermissionsEgress"):
        pairs = [
            pair["GroupId"]
            for rule in found[field]
            if rule["IpProtocol"] == "-1"
            for pair in rule["UserIdGroupPairs"]
        ]
        assert pairs == [number], field


def test_exactly_the_declared_rules_are_in_it(stage: AwsStage) -> None:
    step = group(ingress=[{"ports": 443, "cidr": "10.0.0.0/16"}])
    number = stage.play([VPC, step]).values["nodes"]["GroupId"]
    ec2 = stage.aws.client("ec2")
    ec2.authorize_security_group_ingress(
        GroupId=number,
        IpPermissions=[
            {
                "IpProtocol": "tcp",
                "FromPort": 22,
                "ToPort": 22,
                "IpRanges": [{"CidrIp": "0.0.0.0/0"}],
            }
        ],
    )
    assert stage.play([VPC, step]).changed == ["nodes"]
    left = ec2.describe_security_groups(GroupIds=[number])["SecurityGroups"][0]["IpPermissions"]
    assert [(rule["FromPort"], rule["ToPort"]) for rule in left] == [(443, 443)]


def test_groups_that_name_each_other_can_be_deleted(stage: AwsStage) -> None:
    one, two = group("one"), group("two", ingress=[{"ports": 988, "group": "{{ one.GroupId }}"}])
    run = stage.play([VPC, one, two])
    assert run.code == 0, run.messages
    back = [
        {
            "IpProtocol": "tcp",
            "FromPort": 988,
            "ToPort": 988,
            "UserIdGroupPairs": [{"GroupId": run.values["two"]["GroupId"]}],
        }
    ]
    ec2 = stage.aws.client("ec2")
    ec2.authorize_security_group_ingress(GroupId=run.values["one"]["GroupId"], IpPermissions=back)
    both = [VPC, one, group("two")]  # two no longer reads one, so both go at once
    gone = stage.delete(both)
    assert gone.code == 0, gone.text


def test_a_killed_run_is_finished(stage: AwsStage) -> None:
    step = group(ingress=[SELF], egress=[SELF, ANYWHERE])
    for action in ("AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress"):
        stage.aws.fault("error", service="ec2", action=action, status=400, times=1)
        assert stage.play([VPC, step]).code == 2
    assert stage.play([VPC, step]).code == 0
    assert stage.play([VPC, step]).changed == []


@pytest.mark.parametrize(
    "rule",
    [
        {"ports": 22, "cidr": "0.0.0.0/0"},
        {"ports": "20-25", "cidr": "::/0"},
        {"protocol": "all", "cidr": "0.0.0.0/0"},
        {"ports": [443, 22], "cidr": ["10.0.0.0/8", "0.0.0.0/0"]},
        {"protocol": "tcp", "ports": "all", "cidr": "0.0.0.0/0"},
    ],
)
def test_ssh_is_not_opened_to_the_world_by_accident(rule: dict[str, Any]) -> None:
    assert "opens SSH to the whole internet" in str(complaint([rule], incoming=True))
    assert complaint([{**rule, "open_to_world": True}], incoming=True) is None
    assert complaint([{**rule, "open_to_world": "false"}], incoming=True) is not None
    assert complaint([rule], incoming=False) is None


def test_a_rule_that_opens_ssh_never_reaches_the_service(stage: AwsStage) -> None:
    run = stage.play([VPC, group(ingress=[{"ports": 22, "cidr": "0.0.0.0/0"}])])
    assert "open_to_world: true" in run.messages + run.text
    assert not stage.aws.calls("CreateSecurityGroup")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"port": 22, "cidr": "10.0.0.0/8"}, 'no "port"'),
        ({"ports": 22}, "has no peer"),
        ("22", "is a mapping"),
        ({"ports": "http", "cidr": "10.0.0.0/8"}, 'cannot be "http"'),
        ({"cidr": "10.0.0.0/8"}, "needs ports"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(rule: Any, said: str) -> None:
    assert said in str(complaint([rule], incoming=True))


@pytest.mark.parametrize(
    "rule",
    [
        {"ports": "1018-1023", "cidr": "10.0.0.0/8"},
        {"protocol": "udp", "ports": 53, "cidr": "fd00::/8"},
        SELF,
        {"protocol": "icmp", "cidr": "10.0.0.0/8"},
        {"ports": 443, "group": "sg-1"},
        {"ports": 443, "prefix_list": "pl-1"},
        {"protocol": "-1", "cidr": "10.0.0.0/8"},
        {"ports": "0-65535", "cidr": "10.0.0.0/8"},
    ],
)
def test_a_rule_is_the_same_after_ec2_has_had_it(rule: dict[str, Any]) -> None:
    rules = declared([rule])
    assert observed([permission(one, "sg-self") for one in rules], "sg-self") == rules
