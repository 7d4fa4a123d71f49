"""What a role made and something else still uses: teardown says so while it waits, and then the
sweep finds both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.lifecycle import delete, in_use
from playrunner.lifecycle.status_and_delete import delete_roles
from playrunner.lifecycle.teardown import tear_down
from playrunner.options import Options
from tests.support.aws.rehearsing import ROOT
from tests.support.aws.sandbox import PretendAws
from tests.support.runner import invoke


def networks(aws: PretendAws) -> list[Any]:
    return list(
        aws.client("ec2").describe_vpcs(Filters=[{"Name": "tag:Name", "Values": ["drill"]}])["Vpcs"]
    )


@pytest.fixture
def shared_network(
    aws: PretendAws, inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Options:
    """A network, and in it a group that another inventory of the same cluster's name made: no role
    of ours knows of it."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    made = invoke("network.create", "--inventory", inventory, state=tmp_path)
    assert made.code == 0, made.text
    (network,) = networks(aws)
    marks = [one for one in network["Tags"] if one["Key"] != "Name"]
    aws.client("ec2").create_security_group(
        GroupName="drill-efa",
        Description="of another run",
        VpcId=network["VpcId"],
        TagSpecifications=[{"ResourceType": "security-group", "Tags": marks}],
    )
    monkeypatch.setattr(delete, "WAITS_SECONDS", 0.2)
    return Options(inventory=(str(inventory),), yes=True)


def test_teardown_says_what_it_waits_for_and_leaves_it_to_the_sweep(
    shared_network: Options,
    aws: PretendAws,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(in_use, "IN_USE_SECONDS", 1.0)
    code = tear_down(shared_network, with_kept=True)
    said = capsys.readouterr().out
    assert code == 0 and "nothing is left" in said, said
    assert (
        "waiting network : network vpc  still in use: ec2.delete_vpc: DependencyViolation" in said
    )
    assert (
        said.index("later   network : network vpc")
        < said.index("deleted: security group")
        < said.index("deleted: VPC")
    ), said
    assert networks(aws) == []


def test_what_is_in_use_is_left_to_the_sweep_once_no_other_deletion_goes_on(
    shared_network: Options, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(in_use, "QUIET_SECONDS", 0.5)
    assert tear_down(shared_network, with_kept=True) == 0
    said = capsys.readouterr().out
    assert "later   network : network vpc" in said and "nothing is left" in said, said
    assert f"(for {delete.STILL_SECONDS:.0f}s)" not in said, said


def test_what_is_in_use_is_waited_for_while_another_deletion_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_use, "QUIET_SECONDS", 0.0)
    under_way = in_use.UnderWay()
    network, endpoint = under_way.deletion(), under_way.deletion()
    assert not network.refused()
    assert not network.refused()
    # Each is refused now, and neither can be what the other waits for
    assert endpoint.refused() and network.refused()
    # One of them is accepted, and takes its time
    endpoint.accepted()
    assert not network.refused()
    endpoint.ended()
    assert network.refused()
    # However long others take, the sweep looks for more users in the end
    under_way.deletion()
    assert not network.refused()
    monkeypatch.setattr(in_use, "IN_USE_SECONDS", 0.0)
    assert network.refused()


def test_where_no_sweep_follows_it_is_waited_for_as_long_as_a_network_may_take(
    shared_network: Options,
    aws: PretendAws,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from playrunner.modules.aws.vpc import Vpc

    monkeypatch.setattr(in_use, "IN_USE_SECONDS", 0.1)
    monkeypatch.setattr(Vpc, "settle_seconds", 1.0)
    assert delete_roles(["network"], shared_network, "network.delete", with_kept=True) == 2
    told = capsys.readouterr()
    assert "waiting network : network vpc  still in use" in told.out and "later" not in told.out
    assert "network vpc  going" not in told.out
    assert "not settled within 1 seconds: still in use" in told.out + told.err
