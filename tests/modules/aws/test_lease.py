"""The lease of a stack: runs on any machines take turns."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playrunner.aws import lease, lease_entry
from playrunner.aws.client import Account, AwsSettings
from playrunner.aws.lease import Lease
from playrunner.errors import LeaseNotHeld
from playrunner.options import Options
from playrunner.run.run import run_plays
from tests.support.aws.module_stage import CLUSTER, AwsStage

NAME = lease.parameter_name(CLUSTER)
STEPS = [{"name": "address", "aws.elastic_ip": {"name": "demo-nat"}}]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LOOK_SECONDS", 0.1)


def _held_elsewhere(stage: AwsStage, **changes: Any) -> None:
    """The lease as a run of another machine wrote it."""
    entry = replace(
        lease_entry.new_entry("eks.create"),
        who="ada",
        host="laptop",
        machine="another",
        pid=77,
        write="first",
    )
    value = json.dumps(lease_entry.as_value(replace(entry, **changes)))
    stage.aws.client("ssm").put_parameter(Name=NAME, Value=value, Type="String")


def _parameter(stage: AwsStage) -> list[dict[str, Any]]:
    found = stage.aws.client("ssm").get_parameters(Names=[NAME])
    return list(found["Parameters"])


def _lease(stage: AwsStage) -> Lease:
    variables = stage.variables
    settings = AwsSettings(
        variables["aws_region"],
        "sandbox",
        variables["aws_credentials_file"],
        variables["aws_endpoint_url"],
    )
    return Lease(Account(settings), CLUSTER, "test")


def _ssm(stage: AwsStage) -> list[str]:
    return [call["action"] for call in stage.aws.calls(lease=True) if call["service"] == "ssm"]


def test_a_run_holds_the_lease_while_it_changes_and_leaves_none(stage: AwsStage) -> None:
    assert stage.play(STEPS).code == 0
    assert _ssm(stage) == ["GetParameter", "PutParameter", "DeleteParameter"]
    assert not _parameter(stage)
    stage.aws.control("DELETE", "calls")
    assert stage.play(STEPS, check=True).code == 0
    assert not _ssm(stage), "--check needs none"
    assert stage.play(STEPS).code == 0
    assert _ssm(stage) == ["GetParameter"], "what changes nothing takes none"
    assert not stage.delete(STEPS).gone["address"].reason
    assert not _parameter(stage)


def test_a_second_run_is_refused_with_its_holder_and_how_to_break_it(
    stage: AwsStage, capsys: pytest.CaptureFixture[str]
) -> None:
    _held_elsewhere(stage)
    options = Options((stage._inventory({}),), no_wait=True)
    assert run_plays(stage._plays(STEPS * 2), options, "test") == 2
    said = "".join(capsys.readouterr())
    assert said.count("another run works on") == 1
    assert "ada@laptop pid 77" in said and "eks.create" in said and "unlock" in said
    assert not stage.aws.client("ec2").describe_addresses()["Addresses"]
    assert stage.play(STEPS, aws_lease=False).code == 0


def test_a_run_waits_until_the_lease_is_broken(stage: AwsStage) -> None:
    _held_elsewhere(stage)
    inventory = stage._inventory({})
    run = _started("registry.create", "--inventory", inventory)
    try:
        assert run.stdout
        while "waiting: another run works on" not in (line := run.stdout.readline()):
            assert line, "it ended"
        assert not stage.aws.client("ecr").describe_repositories()["repositories"]
        look = _started("unlock", "--inventory", inventory, "--check").communicate(timeout=60)[0]
        assert "is held by ada@laptop pid 77" in look and _parameter(stage)
        unasked = _started("unlock", "--inventory", inventory)
        assert "use --yes" in unasked.communicate(timeout=60)[0] and unasked.returncode == 5
        broken = _started("unlock", "--inventory", inventory, "--yes").communicate(timeout=60)[0]
        assert "its lease is broken" in broken
        said = run.communicate(timeout=60)[0]
        assert run.returncode == 0, said
        assert not _parameter(stage)
    finally:
        run.kill()


def _started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "invoke", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[3],
    )


def test_what_is_not_renewed_is_taken_over(
    stage: AwsStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _held_elsewhere(stage)
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.5)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.1)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        assert stage.play(STEPS).code == 0
    assert "took over the lease" in errors.getvalue() and not _parameter(stage)


def test_the_lease_of_a_killed_run_of_this_machine_is_taken_over_at_once(stage: AwsStage) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    own = lease_entry.new_entry("create")
    _held_elsewhere(stage, machine=own.machine, pid=int(dead.stdout), started="1")
    started = time.monotonic()
    assert stage.play(STEPS).code == 0
    assert time.monotonic() - started < 20


def test_of_two_that_take_over_at_once_one_wins(stage: AwsStage) -> None:
    _held_elsewhere(stage)
    first, second = _lease(stage), _lease(stage)
    found = lease.held_by(first._aws, NAME)
    assert found and first._write(found) and not second._write(found)
    holder = lease.held_by(first._aws, NAME)
    assert holder and holder.holder == first._entry.holder
    first._renewed = 0.0
    first.confirm()  # though the other's entry came last
    with pytest.raises(LeaseNotHeld, match="was taken from this run"):
        second._renewed = 0.0
        second.confirm()
    second.release()
    assert _parameter(stage), "what is not ours is not deleted"
    first.release()
    assert not _parameter(stage)


def test_a_run_whose_lease_was_broken_changes_nothing_more(stage: AwsStage) -> None:
    mine = _lease(stage)
    mine.acquire(time.sleep, print)
    mine.confirm()
    stage.aws.client("ssm").delete_parameter(Name=NAME)
    mine._renewed = 0.0  # as after a machine's sleep
    with pytest.raises(LeaseNotHeld, match="nothing more is changed"):
        mine.confirm()
    assert not _parameter(stage)
    mine.release()


@pytest.mark.parametrize("action", ["PutParameter", "DeleteParameter"])
def test_a_lost_answer_neither_blocks_nor_leaves_it(stage: AwsStage, action: str) -> None:
    stage.aws.fault("lost", service="ssm", action=action, times=1)
    assert stage.play(STEPS).code == 0
    assert not _parameter(stage)


def test_a_step_of_the_run_that_holds_it_works_under_it(stage: AwsStage) -> None:
    own = lease_entry.new_entry("play site.yaml")
    _held_elsewhere(stage, machine=own.machine, pid=os.getpid(), started=own.started)
    assert stage.play(STEPS).code == 0
    assert _parameter(stage), "it stays with the run that started this one"


def test_what_is_no_lease_is_named(stage: AwsStage) -> None:
    stage.aws.client("ssm").put_parameter(Name=NAME, Value="{{ 7 * 7 }}", Type="String")
    run = stage.play(STEPS)
    assert run.code == 2 and "is no lease of this program" in run.messages
