"""Drills on a cluster of three nodes: a run of one or two pods, something that strikes it, and how
it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from playrunner.sandbox.kube.controllers.control import control_request
from playrunner.sandbox.kube.operators.installed import Operator
from tests.support import runner
from tests.support.launch.cluster import ClusterSite
from tests.support.launch.site import PATIENCE_SECONDS

STEPS = 80
BEFORE = 12  # so many steps are done when it strikes
SETTINGS = (
    f"train.steps={STEPS}",
    "train.log.every=1",
    "train.checkpoint.every=5",
    "train.checkpoint.keep=2",
    "train.evaluate.batches=1",
)


class Drill:
    """A run of two nodes among three, something that strikes it, and how it ends."""

    def __init__(self, cluster: ClusterSite) -> None:
        self.cluster = cluster

    def steer(self, method: str, path: str, body: Any = None) -> Any:
        return control_request(self.cluster.state / "sandbox" / "kube", method, path, body)

    def spare(self) -> None:
        """As many nodes as at first."""
        self.steer("DELETE", "nodes")
        self.steer("POST", "nodes", {"name": "spare", "cpu": 4})
        self.cluster.await_that(lambda: len(self.ready()) >= 3, "three nodes")

    def ready(self) -> list[str]:
        nodes = self.cluster.api.get("/api/v1/nodes")["items"]
        return [
            node["metadata"]["name"]
            for node in nodes
            if any(
                one["type"] == "Ready" and one["status"] == "True"
                for one in node["status"].get("conditions") or ()
            )
        ]

    def pods(self, name: str) -> list[dict[str, Any]]:
        found = self.cluster.api.get(
            f"/api/v1/namespaces/default/pods?labelSelector=playrunner.io/training={name}"
        )["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def nodes(self, name: str) -> list[str]:
        """Where its pods are."""
        return [str(pod["spec"].get("nodeName")) for pod in self.pods(name)]

    def runs(self, pod: str, restarts: int) -> bool:
        """Whether its container runs, after so many restarts."""
        found = self.cluster.api.get(f"/api/v1/namespaces/default/pods/{pod}") or {}
        return any(
            "running" in one["state"] and one["restartCount"] == restarts
            for one in (found.get("status") or {}).get("containerStatuses") or ()
        )

    def begin(self, name: str, launcher: str, *more: str, nodes: int = 2) -> Any:
        self.cluster.install(launcher)
        running = self.cluster.begin(
            name, "--nodes", nodes, "--launcher", launcher, "--json", settings=(*SETTINGS, *more)
        )
        self.cluster.await_that(
            lambda: len(self.cluster.recorded(name)) >= BEFORE, f"{BEFORE} steps of {name}", running
        )
        return running

    def end(self, name: str, running: Any, expected: dict[int, float]) -> dict[str, Any]:
        """It has finished, with the right losses, and goes without a trace; what it said."""
        done = runner.finish(running, PATIENCE_SECONDS)
        assert done.code == 0, done.text
        losses = self.cluster.recorded(name)
        assert losses == pytest.approx(expected, abs=1e-4)
        self.leave(name)
        said: dict[str, Any] = done.data
        return said

    def fail(self, name: str, running: Any, cause: str) -> None:
        """It has ended failed, its words and train.why's name the cause, and it goes without a
        trace."""
        done = runner.finish(running, PATIENCE_SECONDS)
        assert (done.code, done.data["state"], cause in done.data["reason"]) == (
            100,
            "failed",
            True,
        ), done.text
        told = self.cluster.ask("train.why", "--name", name)
        assert told.code == 0 and cause in told.out and "next: " in told.out, told.text
        self.leave(name)

    def leave(self, name: str) -> None:
        assert self.cluster.ask("train.stop", "--name", name).code == 0
        self.gone(name)

    def gone(self, name: str) -> None:
        self.cluster.await_that(
            lambda: not any(name in thing for thing in self.cluster.things()),
            "the end of all it had made",
        )

    def strike(self, name: str, restarts: int, running: Any = None, line: str = "") -> None:
        """A pod's container is killed for memory, or ends with this line, once it runs after so
        many restarts."""
        self.cluster.await_that(
            lambda: self.runs(name, restarts), f"{name} after {restarts} restarts", running
        )
        self.steer("POST", f"pods/default/{name}/{'say' if line else 'oom'}", {"line": line})

    @contextmanager
    def without(self, operator: Operator) -> Iterator[None]:
        """An operator is away for good, as far as the run can tell."""
        deployment = (
            f"/apis/apps/v1/namespaces/{operator.namespace}/deployments/{operator.deployment}"
        )

        def scaled(replicas: int) -> None:
            self.cluster.api.merge(deployment, {"spec": {"replicas": replicas}})
            self.cluster.await_that(
                lambda: (
                    int(self.cluster.api.get(deployment)["status"].get("readyReplicas") or 0)
                    == replicas
                ),
                f"{replicas} of {operator.deployment}",
            )

        scaled(0)
        self.cluster.say(train_patience_seconds=3)
        try:
            yield
        finally:
            self.cluster.say()
            scaled(1)

    def release_all(self) -> None:
        listed = self.cluster.ask("nodes.list", "--json").data["nodes"]
        for one in listed:
            if one["quarantine"]:
                assert (
                    self.cluster.invoke(
                        "nodes.release", one["name"], "--inventory", self.cluster.inventory
                    ).code
                    == 0
                )
