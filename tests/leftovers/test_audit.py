"""`invoke audit`: a table by stack, an exit code that tells, and no secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from invoke.collection import Collection
from invoke.program import Program

from playrunner.commands.audit import audit
from tests.leftovers.conftest import variables_of
from tests.support.aws.leftovers_world import TRUST, Builder
from tests.support.aws.sandbox import PretendAws


class Auditor:
    """Runs the verb as Invoke does."""

    def __init__(self, aws: PretendAws, folder: Path, captured: pytest.CaptureFixture[str]) -> None:
        self.inventory, self.captured, self.stack = folder / "inventory.yaml", captured, "demo"
        self.variables: dict[str, Any] = {**variables_of(aws), "cluster_name": self.stack}

    def __call__(self, *words: str) -> tuple[int, str]:
        self.inventory.write_text(yaml.safe_dump({"all": {"vars": self.variables}}))
        program = Program(namespace=Collection(audit), version="0")
        code = 0
        try:
            program.run(["invoke", "audit", "--inventory", str(self.inventory), *words])
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, self.err = self.captured.readouterr()
        return code, out


@pytest.fixture
def auditor(aws: PretendAws, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Auditor:
    return Auditor(aws, tmp_path, capsys)


def test_an_empty_account_exits_with_0(auditor: Auditor) -> None:
    assert auditor() == (0, "nothing is left of demo in account 123456789012, us-west-2\n")
    assert auditor("--all", "--expired")[0] == 0


def test_roles_of_others_cost_no_further_calls(aws: PretendAws, auditor: Auditor) -> None:
    def calls() -> int:
        aws.control("DELETE", "calls")
        assert auditor()[0] == 0
        return len(aws.calls())

    alone = calls()
    for number in range(120):  # more than IAM gives at once, unless it is asked for more
        aws.client("iam").create_role(RoleName=f"other-{number}", AssumeRolePolicyDocument=TRUST)
    assert calls() == alone


def test_leftovers_exit_with_7_and_are_shown_with_their_cost(
    aws: PretendAws, auditor: Auditor
) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    code, text = auditor()
    assert code == 7
    heading, *rows = text.splitlines()
    assert heading.startswith("demo  us-west-2  ")
    assert "created by ada" in heading
    gateway = next(row for row in rows if stack.nat in row)
    assert gateway.split()[:2] == ["NAT", "gateway"] and "$32.85" in gateway
    assert "$36.50 a month" in heading  # the gateway and its address


def test_the_inventory_names_the_stack_and_all_shows_every_one(
    aws: PretendAws, auditor: Auditor
) -> None:
    Builder(aws, "forgotten").shelves()
    assert auditor()[0] == 0
    code, text = auditor("--all")
    assert code == 7 and "forgotten-checkpoints" in text
    del auditor.variables["cluster_name"]
    assert auditor()[0] == 7


def test_expired_shows_only_what_is_past_its_time(aws: PretendAws, auditor: Auditor) -> None:
    old, new = Builder(aws, "old"), Builder(aws, "new")
    new.list = [tag for tag in new.list if tag["Key"] != "playrunner:expires"]
    for stack in (old, new):
        aws.client("ecr").create_repository(repositoryName=stack.name, tags=stack.list)
    aws.client("ecr").tag_resource(
        resourceArn=aws.client("ecr").describe_repositories(repositoryNames=["old"])[
            "repositories"
        ][0]["repositoryArn"],
        tags=[{"Key": "playrunner:expires", "Value": "2020-01-01T00:00:00Z"}],
    )
    code, text = auditor("--all", "--expired")
    assert code == 7
    assert text.startswith("old  ") and "expired" in text and "new" not in text


def test_json_tells_the_same(aws: PretendAws, auditor: Auditor) -> None:
    Builder(aws, "demo").shelves()
    code, text = auditor("--json")
    said = json.loads(text)
    assert (code, said["exit_code"], said["leftovers"], said["not_priced"]) == (7, 7, 3, 1)
    [stack] = said["clusters"]
    assert (stack["cluster"], stack["who"]) == ("demo", ["ada"])
    assert {thing["kind"] for thing in stack["things"]} == {
        "ECR repository",
        "log group",
        "S3 bucket",
    }
    assert said["prices"]["dated"]


def test_no_key_is_shown_and_a_wrong_one_is_told_plainly(
    aws: PretendAws, auditor: Auditor, tmp_path: Path
) -> None:
    Builder(aws, "demo").network()
    _, text = auditor("--json")
    assert aws.up.secret_access_key not in text + auditor.err
    auditor.variables["aws_profile"] = "nobody"
    code, text = auditor()
    assert code == 5 and "nobody" in auditor.err


def test_an_account_that_refuses_is_no_empty_account(aws: PretendAws, auditor: Auditor) -> None:
    aws.fault("deny", service="ec2", action="DescribeVpcs")
    code, _ = auditor()
    assert code == 2
    assert "ec2.describe_vpcs" in auditor.err
