"""aws.route_table: where traffic of some subnets goes."""

from __future__ import annotations

from typing import Any

from tests.modules.aws.test_internet_gateway import GATEWAY
from tests.modules.aws.test_subnet import subnet
from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise

BEFORE = [VPC, GATEWAY, subnet()]
OUT = {"0.0.0.0/0": "{{ gateway.InternetGatewayId }}"}


def table(**more: Any) -> dict[str, Any]:
    wish = {"name": "front", "vpc_id": "{{ vpc.VpcId }}", **more}
    return {"name": "routes", "aws.route_table": wish, "register": "routes"}


def test_a_table_keeps_its_promise(stage: AwsStage) -> None:
    keeps_its_promise(
        stage,
        table(routes=OUT),
        table(routes=OUT, subnet_ids=["{{ subnet.SubnetId }}"]),
        before=BEFORE,
    )


def test_routes_and_subnets_are_exactly_the_declared_ones(stage: AwsStage) -> None:
    full = table(routes=OUT, subnet_ids=["{{ subnet.SubnetId }}"])
    run = stage.play([*BEFORE, full])
    assert run.values["routes"]["routes"] == {
        "0.0.0.0/0": run.values["gateway"]["InternetGatewayId"]
    }
    number = run.values["routes"]["RouteTableId"]
    ec2 = stage.aws.client("ec2")
    ec2.create_route(
        RouteTableId=number,
        DestinationCidrBlock="172.16.0.0/12",
        GatewayId=run.values["gateway"]["InternetGatewayId"],
    )
    assert stage.play([*BEFORE, full]).changed == ["routes"]
    assert list(stage.play([*BEFORE, full]).values["routes"]["routes"]) == ["0.0.0.0/0"]
    bare = stage.play([*BEFORE, table()])
    assert bare.code == 0, bare.messages
    left = ec2.describe_route_tables(RouteTableIds=[number])["RouteTables"][0]
    assert [route["GatewayId"] for route in left["Routes"]] == ["local"] and not left[
        "Associations"
    ]


def test_a_killed_run_is_finished(stage: AwsStage) -> None:
    full = table(routes=OUT, subnet_ids=["{{ subnet.SubnetId }}"])
    for action in ("CreateRoute", "AssociateRouteTable"):
        stage.aws.fault("error", service="ec2", action=action, status=400, times=1)
        assert stage.play([*BEFORE, full]).code == 2
    assert stage.play([*BEFORE, full]).code == 0
    assert stage.play([*BEFORE, full]).changed == []


def test_a_target_that_is_no_gateway_is_refused(stage: AwsStage) -> None:
    run = stage.play([VPC, table(routes={"0.0.0.0/0": "vpc-1"})])
    assert 'the route 0.0.0.0/0 leads to "vpc-1"' in run.messages
