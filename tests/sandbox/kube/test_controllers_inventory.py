"""The default inventory leads to the sandbox's cluster, which is started when a play needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.runner import REPOSITORY, invoke

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: a job
      k8s.manifest:
        name: greeting
        definition:
          apiVersion: batch/v1
          kind: Job
          metadata: {name: hello, namespace: default}
          spec:
            template:
              spec:
                restartPolicy: Never
                containers:
                  - {name: main, image: any, command: [sh, -c, 'echo hello from $(hostname)']}
    - name: what it says
      k8s.logs: {selector: {job-name: hello}}
"""


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    command = [sys.executable, "-m", "playrunner.sandbox", "down"]
    environment = {
        "PLAYRUNNER_STATE_HOME": str(tmp_path / "state"),
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
    }
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, timeout=120)


def test_a_play_brings_the_cluster_up_and_its_job_really_runs(state: Path, tmp_path: Path) -> None:
    playbook = tmp_path / "play.yaml"
    playbook.write_text(PLAY)
    first = invoke("play", "--playbook", playbook, "--json", state=state, KUBEBUILDER_ASSETS="")
    assert first.code == 0, first.text
    assert first.counts("localhost")["changed"] == 1
    assert "hello from hello-" in first.out
    second = invoke("play", "--playbook", playbook, "--json", state=state, KUBEBUILDER_ASSETS="")
    assert (second.code, second.counts("localhost")["changed"]) == (0, 0), second.text
