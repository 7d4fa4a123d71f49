"""A stack lives in one region; what IAM has of it belongs to all of them, and is not taken away
from another one."""

from __future__ import annotations

from pathlib import Path

import yaml

from playrunner.cloud.owner import REGION
from tests.support.aws.cli import Operator
from tests.support.aws.sandbox import PretendAws


def test_a_teardown_in_another_region_leaves_the_identities_of_a_cluster_that_runs(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator, iam = Operator(aws, tmp_path, (str(inventory),)), aws.client("iam")
    made = operator.invoke("eks.create")
    assert made.code == 0, made.out + made.err
    roles = {one["RoleName"]: one for one in iam.list_roles()["Roles"]}
    role = iam.get_role(RoleName="drill-control-plane")["Role"]
    assert {tag["Key"]: tag["Value"] for tag in role["Tags"]}[REGION] == aws.up.region
    kubeconfig = tmp_path / "kubeconfig"
    contexts = yaml.safe_load(kubeconfig.read_text())["contexts"]

    said = operator.invoke("teardown", "--yes", "--extra-vars", "aws_region=us-east-1")
    text = said.out + said.err
    assert said.code == 7, text
    assert "belongs to this stack in us-west-2" in text and "nothing is left" not in text, text
    assert {one["RoleName"] for one in iam.list_roles()["Roles"]} == set(roles)
    assert len(iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]) == 1
    assert yaml.safe_load(kubeconfig.read_text())["contexts"] == contexts

    again = operator.invoke("eks.create", "--extra-vars", "aws_region=us-east-1")
    assert again.code == 2, again.out + again.err
    assert "belongs to the stack drill in us-west-2" in again.out + again.err

    gone = operator.invoke("teardown", "--yes")
    assert gone.code == 0, gone.out + gone.err
    assert not {name for name in roles if name.startswith("drill")} & {
        one["RoleName"] for one in iam.list_roles()["Roles"]
    }
