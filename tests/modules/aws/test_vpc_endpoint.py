"""aws.vpc_endpoint: a short way from a network to S3."""

from __future__ import annotations

from typing import Any

from tests.modules.aws.test_route_table import table
from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def endpoint(**more: Any) -> dict[str, Any]:
    return {
        "name": "endpoint",
        "aws.vpc_endpoint": {"name": "s3", "vpc_id": "{{ vpc.VpcId }}", **more},
    }


def test_an_endpoint_keeps_its_promise(stage: AwsStage) -> None:
    tables = {"route_table_ids": ["{{ routes.RouteTableId }}"]}
    keeps_its_promise(
        stage,
        endpoint(**tables),
        endpoint(**tables, tags={"purpose": "test"}),
        before=[VPC, table()],
    )


def test_a_table_is_added_later_and_its_own_routes_stay_quiet(stage: AwsStage) -> None:
    assert stage.play([VPC, table(), endpoint()]).code == 0
    steps = [VPC, table(), endpoint(route_table_ids=["{{ routes.RouteTableId }}"])]
    run = stage.play(steps)
    assert run.code == 0 and run.changed == ["endpoint"], run.messages
    assert run.values["endpoint"]["ServiceName"] == "com.amazonaws.us-west-2.s3"
    assert stage.play(steps).changed == []
