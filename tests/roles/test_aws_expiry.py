"""Things that were made for a while: their time is written on them, told by audit, and taken by
teardown."""

from __future__ import annotations

import json
from pathlib import Path

from playrunner.cloud.owner import EXPIRES
from tests.support.aws.cli import Operator
from tests.support.aws.sandbox import PretendAws

LONG_AGO = "2020-01-01T00:00:00Z"


def test_what_has_expired_is_told_and_taken_away_and_nothing_else(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator = Operator(aws, tmp_path, (str(inventory),))
    for cluster in ("brief", "lasting"):
        named = ("--extra-vars", f"cluster_name={cluster}", "--ttl", "8h")
        assert operator.invoke("registry.create", *named).code == 0
    assert operator.invoke("audit", "--all", "--expired").code == 0, "eight hours are not over yet"
    _let_time_pass(aws, "brief")
    told = operator.invoke("audit", "--all", "--expired", "--json")
    assert told.code == 7
    assert [stack["cluster"] for stack in json.loads(told.out)["clusters"]] == ["brief"]
    assert operator.invoke("teardown", "--expired", "--check").code == 0
    assert _repositories(aws) == {"brief", "lasting"}, "a check takes nothing away"
    gone = operator.invoke("teardown", "--expired", "--yes")
    assert gone.code == 0, gone.out + gone.err
    assert _repositories(aws) == {"lasting"}


def test_a_time_that_cannot_be_read_is_refused_before_anything_is_made(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    said = Operator(aws, tmp_path, (str(inventory),)).invoke("registry.create", "--ttl", "soon")
    assert said.code != 0 and "90m, 8h or 3d" in said.out + said.err
    assert _repositories(aws) == set()


def _repositories(aws: PretendAws) -> set[str]:
    return {
        one["repositoryName"] for one in aws.client("ecr").describe_repositories()["repositories"]
    }


def _let_time_pass(aws: PretendAws, name: str) -> None:
    ecr = aws.client("ecr")
    (one,) = ecr.describe_repositories(repositoryNames=[name])["repositories"]
    ecr.tag_resource(resourceArn=one["repositoryArn"], tags=[{"Key": EXPIRES, "Value": LONG_AGO}])
