"""What a run's pods have written, from the cluster, or from the record of those that are gone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.watch.explain import PODS
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.runs.follow import curve, metrics_in
from playrunner.training.kube.runs.rank0 import first_of
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.runs.record import Record, parse_metrics
from trainer.node.restart import NOT_AGAIN

TAIL = 2000  # lines of a log's end that are looked through for who is rank 0, and for its metrics


def logs_of(kube: Kube, run: ClusterRun, tail: int = TAIL) -> dict[str, list[str]]:
    """Each pod's last lines; a pod that has written nothing yet has none."""
    names = [str(pod["metadata"]["name"]) for pod in run.pods]
    texts = kube.together(lambda name: _log(kube, run.namespace, name, tail), names)
    found = {name: text.splitlines() for name, text in zip(names, texts, strict=True)}
    return found or _recorded(run)


def first_pod(kube: Kube, run: ClusterRun, logs: dict[str, list[str]] | None = None) -> str:
    """The pod that is rank 0 now; nothing while the pods have not met. Where a log is long, its
    beginning is read too."""
    tails = logs if logs is not None else logs_of(kube, run)
    addresses = {
        str(pod["metadata"]["name"]): str((pod.get("status") or {}).get("podIP") or "")
        for pod in run.pods
    }
    found = first_of(tails, addresses)
    if not found and any(len(lines) >= TAIL for lines in tails.values()):
        found = first_of(logs_of(kube, run, 0), addresses)
    speaking = [pod for pod, lines in tails.items() if any(map(metrics_in, lines))]
    return found or (speaking[0] if len(speaking) == 1 else "")


def metrics_of(
    kube: Kube, run: ClusterRun, logs: dict[str, list[str]] | None = None
) -> list[dict[str, Any]]:
    """All that is known: what was recorded here, and what the pods have said since."""
    record = Record(run.name)
    known = record.metrics() if record.job().get("name") == run.name else []
    tails = logs if logs is not None else logs_of(kube, run)
    said = [metrics_in(line) for lines in tails.values() for line in lines]
    return curve([*known, *parse_metrics("\n".join(filter(None, said)))])


def _log(kube: Kube, namespace: str, pod: str, tail: int) -> str:
    try:
        return kube.text(
            f"{PODS.path(namespace, pod)}/log", container=CONTAINER, tailLines=tail or ""
        )
    except KubeError:
        return ""  # its container has not begun, or it has gone meanwhile


def _recorded(run: ClusterRun) -> dict[str, list[str]]:
    folder = Record(run.name).folder / "hosts"
    return {
        path.stem: path.read_text(errors="replace").splitlines()
        for path in sorted(folder.glob(f"{run.run_id}*.log"))
    }


def last_metric(run: ClusterRun) -> dict[str, Any] | None:
    """What was kept of a run that has ended."""
    said = Record(run.name).ending().get("last")
    return json.loads(json.dumps(said)) if isinstance(said, dict) else None


def not_restarted(lines: Iterable[str]) -> list[str]:
    """Why the pods that wrote these lines do not start the run again; empty where they may."""
    found = [line.partition(NOT_AGAIN)[2] for line in lines if NOT_AGAIN in line]
    return list(dict.fromkeys(reversed(found)))
