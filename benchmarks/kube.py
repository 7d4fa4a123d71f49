"""`python -m benchmarks.kube`: 200 objects applied, and applied again with nothing to do, by
kubectl and by us; then 1,000 applied by us, against our 200: the cost of an object does not grow
with their number.

The same file on the same API server (a real kube-apiserver where its programs are found, otherwise
the sandbox's own), each time in a namespace of its own; rounds alternate, numbers are medians. What
is timed is the whole command, start-up included: `kubectl apply --server-side`, and `invoke play`
with one step. Afterwards the objects of both are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
OBJECTS, MANY, ROUNDS = 200, 1000, 5
GOAL_FIRST, GOAL_AGAIN, GOAL_MANY = 0.5, 0.5, 5.5


@dataclass
class Times:
    """Seconds of each round."""

    first: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)


class Arena:
    """An API server of the run's own, the file, and the two commands."""

    def __init__(self, folder: Path, pretend: bool) -> None:
        from playrunner.sandbox.kube.process import process

        self.folder = folder
        up = process.up(folder / "sandbox", pretend=pretend)
        self.flavour, self.kubeconfig = up.flavour, up.kubeconfig
        self.environment = {
            **os.environ,
            "KUBECONFIG": up.kubeconfig,
            "PLAYRUNNER_STATE_HOME": str(folder / "state"),
            "HOME": str(folder),
        }
        self.file, self.many = folder / "objects.yaml", folder / "many.yaml"
        self.file.write_text(yaml.safe_dump_all(objects(OBJECTS)))
        self.many.write_text(yaml.safe_dump_all(objects(MANY)))
        self.inventory = folder / "inventory.yaml"
        self.inventory.write_text(
            yaml.safe_dump(
                {"all": {"vars": {"cluster_name": "bench", "kubeconfig": up.kubeconfig}}}
            )
        )

    def down(self) -> None:
        from playrunner.sandbox.kube.process import process

        process.down(self.folder / "sandbox")

    def kubectl(self, namespace: str) -> float:
        return self._timed(
            "kubectl", "apply", "--server-side", "-n", namespace, "-f", str(self.file)
        )

    def ours(self, namespace: str, file: Path | None = None) -> float:
        source = str(file or self.file)
        wanted = {"name": namespace, "src": source, "namespace": namespace, "wait": False}
        step = {"name": "objects", "k8s.manifest": wanted}
        play = self.folder / f"{namespace}.yaml"
        play.write_text(
            yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [step]}])
        )
        return self._timed(
            sys.executable, "-m", "invoke", "play", str(play), "--inventory", str(self.inventory)
        )

    def namespace(self, name: str) -> str:
        self._run("kubectl", "create", "namespace", name)
        return name

    def there(self, namespace: str) -> set[tuple[str, str]]:
        """Everything of the file's kinds, but the record of ours and what every namespace has."""
        kinds = "configmaps,services,deployments,serviceaccounts"
        told = json.loads(self._run("kubectl", "get", kinds, "-n", namespace, "-o", "json"))
        return {
            (one["kind"], one["metadata"]["name"])
            for one in told["items"]
            if one["metadata"]["name"].startswith("bench-")
        }

    def _timed(self, *words: str) -> float:
        started = time.monotonic()
        self._run(*words)
        return time.monotonic() - started

    def _run(self, *words: str) -> str:
        ran = subprocess.run(
            words, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        if ran.returncode:
            sys.exit(
                f"{' '.join(words)} ended with"
                f" {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"
            )
        return ran.stdout


def objects(count: int) -> list[dict[str, Any]]:
    """What applications are made of, in equal parts."""
    return [_KINDS[number % len(_KINDS)](f"bench-{number:03}") for number in range(count)]


def _config(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"settings": f"name: {name}\nsize: 3\n"},
    }


def _account(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "labels": {"app": name}},
    }


def _service(name: str) -> dict[str, Any]:
    ports = [{"name": "web", "port": 80, "targetPort": 8080, "protocol": "TCP"}]
    spec = {"selector": {"app": name}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _deployment(name: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example.com/app:1.2.3",
        "args": ["--verbose"],
        "env": [{"name": "NAME", "value": name}],
        "ports": [{"containerPort": 8080}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }


_KINDS: tuple[Callable[[str], dict[str, Any]], ...] = (_config, _account, _service, _deployment)


def measured(arena: Arena, rounds: int) -> dict[str, Times]:
    times = {"kubectl": Times(), "ours": Times()}
    doing = {"kubectl": arena.kubectl, "ours": arena.ours}
    for number in range(rounds):
        seen = []
        for name, do in doing.items():
            place = arena.namespace(f"{name}-{number}")
            times[name].first.append(do(place))
            times[name].again.append(do(place))
            seen.append(arena.there(place))
        if len(seen[0]) != OBJECTS or seen[0] != seen[1]:
            sys.exit(
                f"round {number}: kubectl made {len(seen[0])} objects and we {len(seen[1])}, of"
                f" {OBJECTS}"
            )
    return times


def measured_many(arena: Arena, rounds: int) -> list[float]:
    """Seconds of each round for the first apply of many objects, by us."""
    seconds = []
    for number in range(rounds):
        place = arena.namespace(f"many-{number}")
        seconds.append(arena.ours(place, arena.many))
        made = len(arena.there(place))
        if made != MANY:
            sys.exit(f"round {number}: we made {made} objects, of {MANY}")
    return seconds


def main() -> int:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument(
        "--pretend",
        action="store_true",
        help="the sandbox's own API server even where there is a real one",
    )
    given = asked.parse_args()
    if shutil.which("kubectl") is None:
        sys.exit("there is no kubectl to compare with; make kube-assets brings one")
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder), given.pretend)
        try:
            times = measured(arena, given.rounds)
            many = statistics.median(measured_many(arena, given.rounds))
        finally:
            arena.down()
    print(
        f"{OBJECTS} objects, {arena.flavour} API server, {given.rounds} rounds, {os.cpu_count()}"
        " cores; seconds are medians\n"
    )
    print(f"{'':<16}{'kubectl':>9}{'ours':>9}{'ratio':>8}")
    results = []
    for title, which, goal in (
        ("first", "first", GOAL_FIRST),
        ("nothing to do", "again", GOAL_AGAIN),
    ):
        theirs, own = (
            statistics.median(getattr(times[name], which)) for name in ("kubectl", "ours")
        )
        results.append(own / theirs <= goal)
        print(
            f"{title:<16}{theirs:>9.2f}{own:>9.2f}{own / theirs:>8.2f}   goal {goal}x:"
            f" {'pass' if results[-1] else 'miss'}"
        )
    few = statistics.median(times["ours"].first)
    results.append(many / few <= GOAL_MANY)
    print(
        f"\nfirst apply of {MANY} by us: {many:.2f} s, {many / few:.2f}x that of {OBJECTS}   goal"
        f" {GOAL_MANY}x: {'pass' if results[-1] else 'miss'}"
    )
    making, again = (
        statistics.median(times["kubectl"].first),
        statistics.median(times["ours"].again),
    )
    print(
        f"\nour nothing to do against kubectl's first: {again / making:.2f}x (no goal: above,"
        " kubectl has nothing to do either)"
    )
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
