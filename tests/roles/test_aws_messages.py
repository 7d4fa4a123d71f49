"""What a run in AWS says where nobody watches a screen: while it waits, when it is stopped, and
when it cannot begin."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
import yaml

from playrunner.options import Options
from playrunner.output import report
from playrunner.playbook.playbook import roles_play
from playrunner.run.run import run_plays
from tests.support import runner
from tests.support.aws.rehearsing import ROOT
from tests.support.aws.sandbox import PretendAws
from tests.support.until import until


def test_without_a_screen_a_line_tells_again_and_again_what_is_waited_for(
    aws: PretendAws,
    inventory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report.STILL_SECONDS == 30
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(report, "STILL_SECONDS", 1.0)
    aws.delays(**{"*": 0.0, "ec2__nat_gateway__create": 4.0})
    assert run_plays([roles_play(["network"])], Options((str(inventory),)), "network.create") == 0
    told = re.findall(
        r"localhost: network : network nat gateway.*: (\w+): still running after (\d+)s",
        capsys.readouterr().out,
    )
    assert len(told) >= 2, told
    assert {state for state, _ in told} == {"pending"}
    seconds = [int(after) for _, after in told]
    assert seconds == sorted(set(seconds)), "each says how long it has been"


def test_a_run_that_is_stopped_says_what_goes_on_and_costs(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    aws.delays(**{"*": 0.0, "ec2__nat_gateway__create": 60.0})
    process = runner.start("network.create", "--inventory", inventory, state=tmp_path)
    until(lambda: aws.calls("CreateNatGateway"), bool, 60, process=process)
    until(lambda: len(aws.calls("DescribeNatGateways")), lambda looks: looks > 1, 60)
    process.send_signal(signal.SIGINT)
    ended = runner.finish(process)
    assert ended.code == 130, ended.text
    (told,) = [line for line in ended.err.splitlines() if line.startswith("stopped;")]
    assert "may cost by the hour" in told and "network nat gateway" in told, told
    assert "audit" in told and "the same command goes on" in told
    aws.delays(**{"*": 0.0, "ec2__nat_gateway__create": 0.0})


@pytest.mark.parametrize("words", ["eks.create", "status", "teardown --yes", "audit"])
def test_without_credentials_every_verb_says_so_once_and_exits_with_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    file = tmp_path / "account.yaml"
    file.write_text(
        yaml.safe_dump({"all": {"vars": {"cluster_name": "demo", "aws_region": "us-west-2"}}})
    )
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    nowhere = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    said = runner.invoke(*words.split(), "--inventory", file, state=tmp_path / "state", **nowhere)
    assert said.code == 5, said.text
    assert said.text.count("AWS credentials are missing") == 1, said.text


@pytest.mark.parametrize(
    ("inventories", "stack"),
    [
        (("eks-cpu", "local"), ("pytorch-training-cluster", "us-east-1")),
        (("local", "eks-gpu"), ("torchelastic", "us-west-2")),
        (("local",), ("rehearsal", "us-west-2")),
    ],
)
def test_a_rehearsal_keeps_the_name_and_region_of_the_inventory_beside_it(
    tmp_path: Path, inventories: tuple[str, ...], stack: tuple[str, str]
) -> None:
    flags = [word for name in inventories for word in ("--inventory", name)]
    shown = runner.invoke("inventory.show", *flags, "--host", "localhost", "--json", state=tmp_path)
    assert shown.code == 0, shown.text
    assert (shown.data["cluster_name"], shown.data["aws_region"]) == stack
    assert shown.data["aws_profile"] == "sandbox", "it never leads to an account"
