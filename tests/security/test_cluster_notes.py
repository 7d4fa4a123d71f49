"""What anyone who may write to a cluster can put on its objects does no harm to this machine: names
of runs, marks on nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import Access
from playrunner.kube.client.transport import Transport
from playrunner.kube.nodes.quarantine import entries
from playrunner.training.kube.job_spec.names import LABEL, SUMMARY
from playrunner.training.kube.runs.run_view import find
from tests.support.security.rubbish import Said, said, serving

GOOD: dict[str, Any] = {
    "name": "run",
    "run_id": "run-1",
    "launcher": "job",
    "namespace": "default",
    "world_size": 1,
    "replicas": 1,
    "processes": 1,
    "steps": 5,
    "output": "/data/run",
    "created": 5.0,
}


def kube_at(url: str) -> Kube:
    return Kube(Cluster(lambda: Transport(Access(url))))


def jobs(annotation: str) -> Any:
    job = {
        "metadata": {
            "name": "j",
            "namespace": "default",
            "labels": {LABEL: "run"},
            "annotations": {SUMMARY: annotation},
        }
    }

    def answer(method: str, path: str) -> Said:
        where = path.partition("?")[0]
        if where == "/apis/batch/v1":
            return said(
                {
                    "kind": "APIResourceList",
                    "resources": [{"name": "jobs", "kind": "Job", "namespaced": True}],
                }
            )
        if where.endswith("/jobs"):
            return said({"kind": "JobList", "metadata": {}, "items": [job]})
        if where.endswith("/pods"):
            return said({"kind": "PodList", "metadata": {}, "items": []})
        return Said(b"404 page not found\n", "text/plain", 404)

    return answer


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_a_run_that_was_launched_from_elsewhere_is_found() -> None:
    with serving(jobs(json.dumps(GOOD))) as server:
        assert [run.name for run in find(kube_at(server.url), "default")] == ["run"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../../outside"},
        {"name": "/etc"},
        {"name": ".."},
        {"name": ""},
        {"name": 5},
        {"run_id": "a/b"},
        {"name": "a\nb"},
        {"replicas": "many"},
        {"output": None},
        {"created": "soon"},
        {"steps": []},
    ],
)
def test_a_run_whose_annotation_was_not_written_here_is_passed_over(wrong: dict[str, Any]) -> None:
    with serving(jobs(json.dumps({**GOOD, **wrong}))) as server:
        assert find(kube_at(server.url), "default") == []


@pytest.mark.parametrize("text", ["5", "null", "[]", "hello", "{", "[" * 50_000])
def test_an_annotation_that_is_no_summary_is_passed_over(text: str) -> None:
    with serving(jobs(text)) as server:
        assert find(kube_at(server.url), "default") == []


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "null",
        "[]",
        "hello",
        "{}",
        '{"reason": 5}',
        "[" * 50_000,
        '{"reason": "x", "since": "y", "until": 5, "who": "z"}',
    ],
)
def test_a_mark_on_a_node_that_was_not_written_here_says_nothing(text: str) -> None:
    from playrunner.kube.nodes.quarantine import MARK

    node = {"metadata": {"name": "n", "annotations": {MARK: text}}, "spec": {}}
    with serving(said({"kind": "NodeList", "metadata": {}, "items": [node]})) as server:
        assert list(entries(kube_at(server.url))) == []
