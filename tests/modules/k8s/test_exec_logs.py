"""k8s.exec and k8s.logs: programs in pods, and what they have written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kube.local import LocalRuntime, served
from tests.support.kube.module_stage import Api, KubeStage


@pytest.fixture
def running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[KubeStage, LocalRuntime]]:
    """A cluster whose pods run programs of this machine, and a pod in it."""
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    runtime, folder = LocalRuntime(), tmp_path / "kube"
    folder.mkdir()
    with served(runtime, folder) as kubeconfig:
        stage = KubeStage(Api(Path(kubeconfig)), tmp_path, "demo")
        made = stage.api.call(
            "POST",
            "/api/v1/namespaces/default/pods",
            {
                "metadata": {"name": "web", "labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "web:1"}]},
            },
        )
        assert made["kind"] == "Pod", made
        yield stage, runtime


def exec_(**arguments: Any) -> dict[str, Any]:
    return {"name": "exec", "k8s.exec": {"timeout": 20, **arguments}}


def test_a_program_s_output_and_code_come_back(running: tuple[KubeStage, LocalRuntime]) -> None:
    stage, _ = running
    run = stage.play([exec_(pod="web", command="echo out; echo err >&2")])
    assert run.code == 0 and run.statuses["exec"] == "changed", run.messages
    assert run.values["exec"]["stdout"] == "out\n" and run.values["exec"]["stderr"] == "err\n"
    failed = stage.play(
        [exec_(selector={"app": "web"}, command=["/bin/sh", "-c", "echo no >&2; exit 3"])]
    )
    assert (
        failed.code == 2
        and failed.values["exec"]["rc"] == 3
        and "ended with code 3: no" in failed.messages
    )


def test_a_check_runs_nothing(running: tuple[KubeStage, LocalRuntime], tmp_path: Path) -> None:
    stage, _ = running
    run = stage.play([exec_(pod="web", command=f"touch {tmp_path}/mark")], check=True)
    assert run.statuses["exec"] == "unknown" and not (tmp_path / "mark").exists()


def test_a_pod_that_is_not_there_is_told_with_the_next_command(
    running: tuple[KubeStage, LocalRuntime],
) -> None:
    stage, _ = running
    run = stage.play([exec_(pod="other", command="true")])
    assert (
        run.code == 2
        and "there is no pod other" in run.messages
        and "kubectl get pods -n default" in run.messages
    )


def test_one_that_takes_too_long_is_given_up(running: tuple[KubeStage, LocalRuntime]) -> None:
    stage, _ = running
    run = stage.play([exec_(pod="web", command="echo started; sleep 30", timeout=1)])
    assert (
        run.code == 2
        and "not done within 1 seconds" in run.messages
        and run.values["exec"]["stdout"] == "started\n"
    )


def test_logs_are_read_by_name_and_by_labels(running: tuple[KubeStage, LocalRuntime]) -> None:
    stage, runtime = running
    for line in ("one", "two", "three"):
        runtime.say(line)
    step = {"name": "logs", "k8s.logs": {"pod": "web", "tail": 2}}
    run = stage.play([step])
    assert run.code == 0 and run.values["logs"]["stdout_lines"] == ["two", "three"], run.messages
    run = stage.play([{"name": "logs", "k8s.logs": {"selector": "app=web"}}])
    assert run.values["logs"]["logs"] == {"web/main": "one\ntwo\nthree\n"}
