"""The gate of a launch on a cluster: the job's own ranks prove the network and judge it before they
train; the command that follows the job quarantines a node that fails the check, and the job is
created again without it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from playrunner.options import Options
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.network.pool import ClusterPool
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.netcheck.spares import launch_with_replacement_nodes
from playrunner.training.request import Request, default_name
from playrunner.variables.templating import MISSING
from trainer.netcheck.findings import Expected

ORIGIN = "train.launch"


def launch_past_gate(
    request: Request, options: Options, launcher: str, start: Callable[[Request], int]
) -> int:
    """Call `start` until the network check passes or no spare is left; an elastic run may continue
    with fewer nodes."""
    asked = [request]

    @contextmanager
    def pool() -> Iterator[ClusterPool]:
        made = ClusterPool(asked[-1], open_session(options), launcher)
        yield made
        asked.append(made.request)

    return launch_with_replacement_nodes(
        request.name or default_name(request), lambda: start(asked[-1]), pool
    )


def with_gate(
    job: ClusterJob, session: ClusterSession, gate: bool, say: Callable[[str], None]
) -> ClusterJob:
    """The job with what its ranks need for the gate; where there is none, why."""
    if not gate or job.nodes < 2:
        say(
            "network: not checked (--no-gate)"
            if not gate
            else "network: nothing to check on one node"
        )
        return job
    token = Variable(
        "TRAINER_RUN_TOKEN",
        secrets.token_hex(16),
        "ranks know one another by it while they prove it",
        ORIGIN,
    )
    return replace(
        job, environment=(*job.environment, token, *gate_variables(job, expected(session), ORIGIN))
    )


def gate_variables(job: ClusterJob, wanted: Expected, origin: str) -> tuple[Variable, ...]:
    return (
        Variable(
            "TRAINER_GATE",
            f"{job.folder}/gate.json",
            "the ranks prove the network before they train",
            origin,
        ),
        Variable(
            "TRAINER_GATE_LIFE",
            job.run_id,
            "pods that come back meet without proving it again",
            origin,
        ),
        Variable(
            "TRAINER_GATE_EXPECTED",
            wanted.text,
            "what links should have: train_expected_gbps, train_expected_latency_us",
            origin,
        ),
    )


def expected(session: ClusterSession) -> Expected:
    """What the inventory wants of the links."""
    values = {
        name: session.scope.lookup(f"train_expected_{name}") for name in ("gbps", "latency_us")
    }
    given = {
        name: float(each)
        for name, each in values.items()
        if each is not MISSING and each is not None
    }
    return Expected(given.get("gbps"), given.get("latency_us"))
