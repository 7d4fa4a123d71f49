"""Connections to the API server that break, stall or are refused: steps wait, go on where they
were, or say that the server cannot be reached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
import yaml

from tests.modules.k8s.test_manifest import config, path, step
from tests.modules.k8s.test_ready import apps, deployment, later, pods, ready
from tests.support.kube.module_stage import KubeStage
from tests.support.kube.request_gate import Gate


@pytest.fixture
def gate(stage: KubeStage) -> Iterator[Gate]:
    """Between the steps and the server."""
    made = Gate(urlsplit(stage.api.server).port or 0)
    content = yaml.safe_load(stage.api.kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{made.port}"
    file = stage.folder / "kubeconfig.yaml"
    file.write_text(yaml.safe_dump(content))
    stage.variables["kubeconfig"] = str(file)
    yield made
    made.close()


def test_a_server_that_goes_away_in_the_middle_is_waited_for(stage: KubeStage, gate: Gate) -> None:
    objects = [config(f"c{number}", a="1") for number in range(60)]
    cutting = threading.Event()

    def restart() -> None:
        gate.shut()
        cutting.set()
        later(1.5, gate.reopen)

    _when(lambda: stage.api.get(path(stage, "c5")) is not None, restart)
    made = stage.play([step(stage, *objects)])
    assert cutting.is_set() and made.code == 0, made.messages
    assert all(stage.api.get(path(stage, f"c{number}")) for number in range(60))


def test_a_server_that_is_not_there_is_unreachable(
    stage: KubeStage, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playrunner.kube.client.requests.FIRST_SECONDS", 0.5)
    gate.shut()
    run = stage.play([step(stage, config("one"))])
    assert run.code == 4 and "has not answered" in run.messages, (run.code, run.messages)


def test_a_watch_that_drops_goes_on_where_it_was(stage: KubeStage, gate: Gate) -> None:
    stage.api.call("POST", apps(stage), deployment())
    cuts: list[int] = []
    for moment in (0.6, 1.2):
        later(moment, lambda: cuts.append(gate.cut()))
    later(2.0, lambda: stage.api.status(f"{apps(stage)}/web", **pods(2)))
    run = stage.play([ready(stage, kind="Deployment", name="web")])
    assert run.code == 0 and all(cuts) and len(cuts) == 2, (run.messages, cuts)


def test_a_watch_too_old_to_go_on_starts_anew(stage: KubeStage, gate: Gate, pretend: None) -> None:
    stage.api.call("POST", apps(stage), deployment())

    def forget() -> None:
        gate.shut()
        stage.api.status(f"{apps(stage)}/web", **pods(2))
        stage.api.call("POST", "/_sandbox/forget-history")
        gate.reopen()

    later(0.8, forget)
    assert stage.play([ready(stage, kind="Deployment", name="web")]).code == 0


def test_too_many_requests_and_lost_answers_are_asked_again(
    stage: KubeStage, pretend: None
) -> None:
    stage.api.call(
        "POST",
        "/_sandbox/faults",
        [
            {
                "kind": "throttle",
                "action": "configmaps:*",
                "probability": 0.3,
                "times": 30,
                "seed": 1,
            },
            {
                "kind": "lost",
                "action": "configmaps:apply",
                "probability": 0.3,
                "times": 10,
                "seed": 2,
            },
            {
                "kind": "error",
                "status": 503,
                "action": "configmaps:*",
                "probability": 0.2,
                "times": 10,
                "seed": 3,
            },
        ],
    )
    try:
        made = stage.play(
            [step(stage, *(config(f"c{number}", a="1") for number in range(20)), timeout=60)]
        )
    finally:
        struck = sum(fault["struck"] for fault in stage.api.call("GET", "/_sandbox/faults"))
        stage.api.call("DELETE", "/_sandbox/faults")
    assert made.code == 0 and struck > 10, (made.messages, struck)
    assert all(stage.api.get(path(stage, f"c{number}")) for number in range(20))


def _when(condition: Callable[[], bool], do: Callable[[], None]) -> None:
    def watch() -> None:
        for _ in range(2000):
            if condition():
                do()
                return

    threading.Thread(target=watch, daemon=True).start()
