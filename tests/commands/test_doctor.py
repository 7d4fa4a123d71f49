"""The doctor on real machines: a bare one that is fixed line by line, and a jump host behind a
real sshd."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox.aws.api.process import Aws
from tests.support import runner
from tests.support.doctoring import BareMachine, api_server, write_kubeconfig
from tests.support.runner import Stage


@pytest.fixture
def machine(tmp_path: Path) -> BareMachine:
    return BareMachine(tmp_path)


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    """A pretend AWS."""
    from playrunner.sandbox.aws.api import process

    root = tmp_path_factory.mktemp("aws")
    yield process.up(root)
    process.down(root)


def inventory(machine: BareMachine, hosts: dict[str, Any] | None = None, **variables: Any) -> Path:
    path = machine.folder / "inventory.yaml"
    path.write_text(json.dumps({"all": {"vars": variables, "hosts": hosts or {}}}))
    return path


def test_a_bare_machine_lacks_exactly_what_is_missing_and_following_the_lines_makes_all_green(
    machine: BareMachine, aws: Aws
) -> None:
    key, kubeconfig, credentials = (
        machine.home / "key",
        machine.home / "kubeconfig",
        machine.home / "aws-credentials",
    )
    hosts = {"far": {"ansible_host": "192.0.2.1", "ansible_ssh_private_key_file": str(key)}}
    about = inventory(
        machine,
        hosts,
        aws_region="us-west-2",
        aws_profile="mine",
        aws_endpoint_url=aws.endpoint_url,
        aws_credentials_file=str(credentials),
        kubeconfig=str(kubeconfig),
    )
    before = machine.doctor(about)
    assert before.code == 6, before.text
    room = [
        name for name in before.data["missing"] if name.startswith("30 GiB")
    ]  # a small disk is not what is tested
    assert set(before.data["missing"]) - set(room) == {
        "ssh",
        "image builder (docker, buildah or podman)",
        "~/.ssh",
        f"private key {key}",
        "AWS login",
        "Kubernetes API",
    }
    with api_server() as server:
        for finding in [each for each in before.data["findings"] if not each["there"]]:
            _follow(finding, machine, aws, credentials, kubeconfig, server)
        after = machine.doctor(about)
    assert after.data["missing"] == room and after.code == (6 if room else 0), after.text


def _follow(
    finding: dict[str, Any],
    machine: BareMachine,
    aws: Aws,
    credentials: Path,
    kubeconfig: Path,
    server: str,
) -> None:
    """What the line says, as far as it does not reach out of the test."""
    fix = finding["fix"]
    if " install " in fix:
        machine.install(fix.split(" install ")[1].split(";")[0])
    elif fix.startswith("mkdir"):
        machine.shell(fix)
    elif "create one: " in fix:
        machine.shell(f"{fix.partition('create one: ')[2]} -q -N ''")
    elif fix.startswith("aws configure --profile mine"):
        keys = (
            f"aws_access_key_id = {aws.access_key_id}\naws_secret_access_key ="
            f" {aws.secret_access_key}\n"
        )
        credentials.write_text(f"[mine]\n{keys}")
        credentials.chmod(0o600)
    elif "kubeconfig" in fix:
        write_kubeconfig(kubeconfig, server)
    else:
        assert finding["what"].startswith("30 GiB"), finding


def test_fix_does_what_is_safe_and_nothing_else(machine: BareMachine) -> None:
    key = machine.home / "key"
    key.write_text("a key")
    key.chmod(0o644)
    about = inventory(
        machine, {"far": {"ansible_host": "192.0.2.1", "ansible_ssh_private_key_file": str(key)}}
    )
    outcome = machine.doctor(about, "--roles", "training", "--fix")
    assert outcome.code == 0 and outcome.data["missing"] == [], outcome.text
    assert outcome.data["mended"] == ["mkdir -m 700 ~/.ssh", f"chmod 600 {key}"]
    assert (
        stat.S_IMODE(key.stat().st_mode) == 0o600
        and stat.S_IMODE((machine.home / ".ssh").stat().st_mode) == 0o700
    )
    assert list(machine.programs.iterdir()) == []
    again = machine.doctor(about, "--roles", "training", "--fix")
    assert again.code == 0 and again.data["mended"] == []


def test_a_docker_whose_daemon_does_not_answer_is_no_builder(machine: BareMachine) -> None:
    machine.program(
        "docker", "#!/bin/sh\necho permission denied while connecting to the daemon >&2\nexit 1\n"
    )
    about = inventory(machine)
    refused = machine.doctor(about, "--roles", "nccl-image")
    (finding,) = [
        each for each in refused.data["findings"] if each["what"].startswith("image builder")
    ]
    assert not finding["there"] and "permission denied while connecting" in finding["said"]
    assert "group docker" in finding["fix"]
    machine.program("podman")
    found = machine.doctor(about, "--roles", "nccl-image").data["findings"]
    assert [each["there"] for each in found if each["what"].startswith("image builder")] == [True]


def test_an_ssh_that_is_too_old_is_named_with_its_version(machine: BareMachine) -> None:
    machine.program("ssh", "#!/bin/sh\necho OpenSSH_6.6.1p1 >&2\n")
    outcome = machine.doctor(inventory(machine), "--roles", "jumphost")
    (finding,) = [each for each in outcome.data["findings"] if each["what"] == "ssh"]
    assert (
        not finding["there"]
        and finding["said"] == "ssh 6.6.1 is older than 7.3: ProxyJump is not supported"
    )


def test_a_clock_that_is_an_hour_off_is_noticed(machine: BareMachine) -> None:
    with api_server(skew_seconds=3600) as server:
        write_kubeconfig(machine.home / "kubeconfig", server)
        outcome = machine.doctor(inventory(machine, kubeconfig=str(machine.home / "kubeconfig")))
    assert "clock in sync with the cluster" in outcome.data["missing"], outcome.text


def test_the_jump_host_is_asked_the_same_over_ssh(stage: Stage) -> None:
    content = json.dumps(
        {"all": {"hosts": {"inner": {"ansible_host": "192.0.2.7", "via": "node1"}}}}
    )
    (stage.folder / "inner.yaml").write_text(content)
    outcome = stage.invoke(
        "doctor",
        "--json",
        "--roles",
        "training",
        "--inventory",
        stage.inventory,
        "--inventory",
        stage.folder / "inner.yaml",
    )
    found = {each["what"]: each for each in outcome.data["findings"] if each["where"] == "node1"}
    assert {
        "Python 3.9 or later",
        "clock in sync with this machine",
        "ssh",
        "1 GiB free disk for runs",
    } <= set(found)
    assert (
        found["Python 3.9 or later"]["there"] and found["clock in sync with this machine"]["there"]
    )


def test_a_jump_host_that_is_down_is_one_line(machine: BareMachine) -> None:
    hosts = {
        "gate": {"ansible_host": "127.0.0.1", "ansible_port": 1},
        "inner": {"ansible_host": "192.0.2.7", "via": "gate"},
    }
    outcome = machine.doctor(inventory(machine, hosts), "--roles", "training")
    (finding,) = [each for each in outcome.data["findings"] if each["where"] == "gate"]
    assert not finding["there"] and "invoke hosts.trust gate" in finding["fix"], finding


def test_a_role_that_is_not_there_is_bad_input_and_names_those_that_are(tmp_path: Path) -> None:
    outcome = runner.invoke("doctor", "--roles", "eksx", state=tmp_path)
    assert outcome.code == 5 and "eks" in outcome.err


def test_the_rehearsal_on_this_machine_says_one_line_for_each_finding(tmp_path: Path) -> None:
    outcome = runner.invoke("doctor", state=tmp_path)
    lines = [line for line in outcome.out.splitlines() if line.startswith("  ")]
    assert any("sshd" in line for line in lines) and all(
        line.split()[0] in ("ok", "missing") for line in lines
    ), outcome.text
    assert outcome.code == (6 if any(line.split()[0] == "missing" for line in lines) else 0)
