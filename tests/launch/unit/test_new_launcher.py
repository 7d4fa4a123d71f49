"""A newcomer's launcher: one file and one registration, and everything that lists launchers knows
it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.training.backend import choose_backend
from playrunner.training.launchers import CLUSTER_LAUNCHERS, SSH_LAUNCHERS, listed
from playrunner.training.ssh.commands import commands
from playrunner.training.ssh.job import Job, NodeSlot
from tests.support.launch.rendering import container, node, planned, rendered
from trainer.profile import read_profile

ON_A_CLUSTER = """
from playrunner.training.kube.job_spec.command import trainer_words
from playrunner.training.kube.launchers.job import first_pod, pods, read
from playrunner.training.kube.launchers.kind import Kind
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec


def _fill(job):
    spec = pod_spec(job, ["--plainly", *trainer_words(job)], "JOB_COMPLETION_INDEX=0", "Never")
    return {"pod": {"metadata": pod_metadata(job), "spec": spec}, "retries": 1}


LAUNCHER = Kind("plainjob", ("batch/v1", "Job"), "", _fill, first_pod, pods, read, template="job")
"""

OVER_SSH = """
from playrunner.training.ssh.launchers.launcher import SshLauncher


def _commands(job, node, trainer, common):
    words = ["-c", "import sys; print(*sys.argv[1:])", node.host, *trainer]
    return [{"argv": [node.python, *words], "environment": common, "label": "node"}]


LAUNCHER = SshLauncher("echo", _commands)
"""


@pytest.fixture
def newcomers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plainjob_launcher.py").write_text(ON_A_CLUSTER)
    (tmp_path / "echo_launcher.py").write_text(OVER_SSH)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(CLUSTER_LAUNCHERS, "plainjob", "plainjob_launcher")
    monkeypatch.setitem(SSH_LAUNCHERS, "echo", "echo_launcher")


@pytest.mark.usefixtures("newcomers")
def test_a_new_cluster_launcher_renders_a_job() -> None:
    job = rendered(planned("plainjob", "gpt2-micro-smoke", [node("a"), node("b")], 2))["Job"]
    assert job["spec"]["parallelism"] == 2
    arguments = container(job["spec"]["template"])["args"]
    assert arguments[:3] == ["--plainly", "-m", "trainer"]


@pytest.mark.usefixtures("newcomers")
def test_a_new_ssh_launcher_starts_its_processes(tmp_path: Path) -> None:
    host = NodeSlot("node1", "127.0.0.1", 1, str(tmp_path), sys.executable)
    profile = read_profile("gpt2-micro-smoke", ())
    job = Job("run", "run-1", "gpt2-micro-smoke", profile, "echo", (host,))
    (command,) = commands(job, host, str(tmp_path))
    printed = subprocess.check_output(
        command["argv"], env={**os.environ, **command["environment"]}, text=True
    )
    assert printed.split()[:3] == ["node1", "-m", "trainer"]
    assert job.elastic is None


@pytest.mark.usefixtures("newcomers")
def test_a_new_launcher_chooses_its_backend_and_is_listed(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("all: {hosts: {node1: {}}}\n")
    options = Options(inventory=(str(tmp_path / "inventory.yaml"),))
    assert choose_backend(options, launcher="plainjob").name == "cluster"
    assert choose_backend(options, launcher="echo").name == "ssh"
    with pytest.raises(BadInput, match=r"echo over SSH, or .*plainjob on a cluster"):
        choose_backend(options, launcher="unknown")
    assert listed(SSH_LAUNCHERS) == "deepspeed, torchrun, direct or echo"
