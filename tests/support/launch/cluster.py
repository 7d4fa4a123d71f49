"""A place to launch runs on a cluster from: a sandbox with nodes that run pods, a claim that all
see, and the operators."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from playrunner.sandbox.kube.process import process
from tests.support import runner
from tests.support.kube.module_stage import Api
from tests.support.launch.site import PATIENCE_SECONDS, Site, environments

CLAIM = "shared"
KINDS = {
    "/api/v1": ("pods", "configmaps", "secrets", "services"),
    "/apis/batch/v1": ("jobs",),
    "/apis/kubeflow.org/v1": ("pytorchjobs",),
    "/apis/elastic.pytorch.org/v1alpha1": ("elasticjobs",),
    "/apis/batch.volcano.sh/v1alpha1": ("jobs",),
    "/apis/jobset.x-k8s.io/v1alpha2": ("jobsets",),
    "/apis/trainer.kubeflow.org/v1alpha1": ("trainjobs", "trainingruntimes"),
    "/apis/networking.k8s.io/v1": ("networkpolicies",),
}
ROLES = {
    "pytorchjob": "kubeflow",
    "elasticjob": "elastic",
    "vcjob": "volcano",
    "jobset": "jobset",
    "trainjob": "kubeflow-trainer",
}


class ClusterSite(Site):
    """Launches on a cluster; what it makes there is looked at through the API, as somebody else
    would."""

    ends_failed = False  # operators start pods again

    def __init__(self, state: Path, api: Api) -> None:
        self.api, self.port = api, _free_port()
        super().__init__(state, state / "inventory.yaml")
        self._installed: set[str] = set()
        minor = int("".join(filter(str.isdigit, api.get("/version")["minor"])))
        self.indexed = minor >= 24  # whether it has Indexed Jobs
        self.has_standards = minor >= 23  # whether namespaces have Pod Security Standards
        self.launcher = "job" if self.indexed else "pytorchjob"
        self.say()

    def say(self, **more: Any) -> None:
        """What the inventory says, beside how the cluster is reached."""
        said = {
            "cluster_name": "rehearsal",
            "kubeconfig": str(self.api.kubeconfig),
            "train_launcher": self.launcher,
            "train_image": "registry.test/trainer:1",
            "train_claim": CLAIM,
            "train_port": self.port,
            # The nodes are said to have more cores than this machine, which their pods share.
            "train_environment": {"OMP_NUM_THREADS": "1"},
            **more,
        }
        assert self.inventory
        self.inventory.write_text(yaml.safe_dump({"all": {"vars": said}}))

    def ask(self, verb: str, *words: object) -> runner.Outcome:
        return self.invoke(verb, "--inventory", self.inventory, *words)

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("train.status", "--name", name, "--json").data
        return found

    def await_met(self, name: str, nodes: int) -> dict[str, Any]:
        """Until so many pods have met, one of them rank 0, and have trained on since; how it stands
        then."""
        seen: dict[str, Any] = {}

        def met(step: int = 0) -> bool:
            seen.update(self.status(name))
            assert seen["state"] in ("pending", "running"), seen
            return bool(
                len(seen["pods"]) == seen["met"] == nodes and seen["rank0"] and seen["step"] >= step
            )

        self.await_that(met, f"{nodes} pods of {name} that have met")
        further = max(self.losses(name), default=0) + 2
        self.await_step(name, further)
        self.await_that(
            lambda: met(further), f"step {further} of {name} in the words of {nodes} pods"
        )
        return seen

    def record(self, name: str) -> Path:
        return self.state / "training" / "runs" / name

    def recorded(self, name: str) -> dict[int, float]:
        path = self.record(name) / "metrics.jsonl"
        records = map(json.loads, path.read_text().splitlines() if path.exists() else ())
        return {each["step"]: each["loss"] for each in records if each.get("loss") is not None}

    @property
    def shared(self) -> Path:
        """What the claim holds."""
        return self.state / "sandbox" / "data" / CLAIM

    def things(self) -> list[str]:
        """Everything in the namespace that a run may leave behind."""
        found = []
        for home, kinds in KINDS.items():
            for kind in kinds:
                listed = (self.api.get(f"{home}/namespaces/default/{kind}") or {}).get("items", ())
                found += [f"{kind}/{one['metadata']['name']}" for one in listed]
        return sorted(found)

    def install(self, launcher: str) -> None:
        """The operator that a launcher needs, by its own role."""
        if launcher in ROLES and launcher not in self._installed:
            self._installed.add(launcher)
            made = self.invoke(f"{ROLES[launcher]}.create", "--inventory", self.inventory)
            assert made.code == 0, made.text

    def enforce(self, standard: str) -> None:
        """Hold the namespace's pods to a Pod Security Standard; "" to none."""
        labels = {"pod-security.kubernetes.io/enforce": standard or None}
        said = self.api.merge("/api/v1/namespaces/default", {"metadata": {"labels": labels}})
        assert said["kind"] == "Namespace", said

    def security(self, pods: list[dict[str, Any]]) -> list[str]:
        """The standard that each pod of a status was written for."""
        specs = [
            self.api.get(f"/api/v1/namespaces/default/pods/{pod['name']}")["spec"] for pod in pods
        ]
        contexts = [spec.get("securityContext") or {} for spec in specs]
        return ["restricted" if each.get("runAsNonRoot") else "baseline" for each in contexts]

    def rank_in_pods(self, name: str, rank: int) -> int:
        """The process that trains as this rank, 0 while there is none."""
        run_id = str(self.status(name)["run_id"])
        marks = {f"TRAINER_LAUNCH={run_id}".encode(), f"RANK={rank}".encode()}
        return next((pid for pid, environment in environments() if marks <= set(environment)), 0)

    def interrupt(self, process: subprocess.Popen[str]) -> runner.Outcome:
        process.send_signal(signal.SIGINT)
        return runner.finish(process, PATIENCE_SECONDS)


@contextmanager
def cluster_site(state: Path) -> Iterator[ClusterSite]:
    root = state / "sandbox"
    root.mkdir(parents=True)
    up = process.up(root, pretend=os.environ.get("PLAYRUNNER_TEST_KUBE") != "real", moving=True)
    try:
        api = Api(Path(up.kubeconfig), up.flavour)
        made = ClusterSite(state, api)
        for path, thing in (
            *storage(CLAIM, root / "data"),
            *storage("single", root / "data", "ReadWriteOnce"),
        ):
            said = api.call("POST", path, thing)
            assert said["kind"] != "Status", said
        made.install(made.launcher)
        yield made
    finally:
        process.down(root)


def storage(
    name: str, folder: Path, mode: str = "ReadWriteMany"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A volume, by default one that all nodes see and may write to, and the claim on it.

    Paths of nodes are folders of the sandbox, unless they lie there anyway.
    """
    spec: dict[str, Any] = {"accessModes": [mode], "storageClassName": ""}
    yield (
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": name},
            "spec": {
                **spec,
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": str(folder / name)},
            },
        },
    )
    yield (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {
            "metadata": {"name": name},
            "spec": {**spec, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}},
        },
    )


def _free_port() -> int:
    """Pods of the sandbox share this machine's ports, as do tests that run beside; below those that
    the kernel hands out by itself, and random, so that it is still free when the pods take it."""
    while True:
        port = random.randrange(10000, 20000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
