"""Giving up runs that cannot make progress any more: their operator does not run, their claim is
gone, or their pods do not start them again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.project import program
from playrunner.training.kube.job_spec.node_capacity import ENDED
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.plan import CLAIMS
from playrunner.training.kube.runs.run_view import ClusterRun
from trainer.errors import NotRestarted

LOOK_SECONDS = 1.0  # from one look to the next
NOT_RESTARTED_SECONDS = 10.0  # for the job's controller to end it by itself
# The phases of runs that were given up
NO_OPERATOR, CLAIM_GONE, NOT_RESTARTED = "Unheard", "Unkept", "NotRestarted"

Thing = Mapping[str, Any]


class GiveUpPolicy:
    """Looks at a run that is followed; when the same problem persists for long enough, it is
    given up."""

    def __init__(self, kube: Kube, run: ClusterRun, patience_seconds: float) -> None:
        self._kube, self._run, self._patience = Kube(kube.cluster), run, patience_seconds
        self._looked = self._since = 0.0
        self._seen: Status | None = None
        self.given_up = False

    def judge(self, job: Thing | None, pods: Sequence[Thing]) -> Status | None:
        """How the run ends, where it will not get on; None while it may."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS or job is None:
            return None
        self._looked = now
        seen = not_watched(self._run, job, pods) or self._claim_gone(pods) or _spent(pods)
        if seen != self._seen:
            self._seen, self._since = seen, now
        patience = self._patience
        if seen and seen.phase == NOT_RESTARTED:
            patience = min(patience, NOT_RESTARTED_SECONDS)
        self.given_up = seen is not None and now - self._since >= patience
        return seen if self.given_up else None

    def _claim_gone(self, pods: Sequence[Thing]) -> Status | None:
        """Pods that wait for a claim which is gone wait for ever."""
        name = str(self._run.summary.get("claim") or "")
        if not name or any(_phase(pod) == "Running" for pod in pods):
            return None
        self._kube.refresh()
        claim = self._kube.get(CLAIMS, self._run.namespace, name)
        leaving = claim is None or claim["metadata"].get("deletionTimestamp")
        phase = "gone" if leaving else str(((claim or {}).get("status") or {}).get("phase") or "")
        if phase not in ("gone", "Lost"):
            return None
        return Status(
            "failed",
            CLAIM_GONE,
            f"its claim {name} is {phase}, and its checkpoints with it: kubectl get pvc -n"
            f" {self._run.namespace}; {program()} efs.create, fsx.create or nfs.create make one",
        )


def not_watched(run: ClusterRun, job: Thing, pods: Sequence[Thing]) -> Status | None:
    """A job that its operator does not look at, from the beginning or since its pods have ended."""
    kind = run.kind
    if not kind.needs or kind.read(job).state in ("finished", "failed"):
        return None
    remedy = f"its operator does not run: {kind.needs} installs it"
    if not pods and not job.get("status"):
        what = f"{kind.resource[1]} {run.run_id}"
        return Status(
            "failed",
            NO_OPERATOR,
            f"no controller has updated {what} since it was submitted: {remedy}",
        )
    if (
        pods
        and len(pods) >= replace(run, job=dict(job)).replicas
        and all(_phase(pod) in ENDED for pod in pods)
    ):
        well = all(_phase(pod) == "Succeeded" for pod in pods)
        return Status(
            "finished" if well else "failed",
            NO_OPERATOR,
            f"its pods have ended, and no controller has recorded it: {remedy}",
        )
    return None


def _spent(pods: Sequence[Thing]) -> Status | None:
    """Pods that their node restarts find each time that the run is not to start again."""
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            for state in ("state", "lastState"):
                ended = (container.get(state) or {}).get("terminated") or {}
                if ended.get("exitCode") == NotRestarted.exit_code:
                    return Status("failed", NOT_RESTARTED, "its pods do not start it again")
    return None


def _phase(pod: Thing) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")
