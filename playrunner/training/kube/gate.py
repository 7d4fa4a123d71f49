"""The gate of a launch on a cluster: the job's own ranks prove the network and judge it before they
train; whoever follows the job puts a node that keeps the gate closed into quarantine, and the job
is made anew without it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from playrunner.options import Options
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.job import ClusterJob
from playrunner.training.kube.pool import ClusterPool
from playrunner.training.kube.site import Site, open_site
from playrunner.training.netcheck.spares import past_gate
from playrunner.training.netcheck.verdict import Expected
from playrunner.training.ssh.plan import Request, run_name
from playrunner.variables.templating import MISSING

ORIGIN = "train.launch"


def launch_past_gate(
    request: Request, options: Options, launcher: str, start: Callable[[Request], int]
) -> int:
    """`start` until a gate opens or nobody is left to replace a bad node; an elastic run may go on
    with fewer."""
    asked = [request]

    @contextmanager
    def pool() -> Iterator[ClusterPool]:
        made = ClusterPool(asked[-1], open_site(options), launcher)
        yield made
        asked.append(made.request)

    return past_gate(request.name or run_name(request.profile), lambda: start(asked[-1]), pool)


def with_gate(job: ClusterJob, site: Site, gate: bool, say: Callable[[str], None]) -> ClusterJob:
    """The job with what its ranks need for the gate; where there is none, why."""
    if not gate or job.nodes < 2:
        say(
            "network: not proved (--no-gate)" if not gate else "network: one node has none to prove"
        )
        return job
    token = Variable(
        "TRAINER_RUN_TOKEN",
        secrets.token_hex(16),
        "ranks know one another by it while they prove it",
        ORIGIN,
    )
    return replace(
        job, environment=(*job.environment, token, *gate_variables(job, expected(site), ORIGIN))
    )


def gate_variables(job: ClusterJob, wanted: Expected, origin: str) -> tuple[Variable, ...]:
    figures = ",".join(
        "" if each is None else f"{each:g}" for each in (wanted.gbps, wanted.latency_us)
    )
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
            figures,
            "what links should have: train_expected_gbps, train_expected_latency_us",
            origin,
        ),
    )


def expected(site: Site) -> Expected:
    """What the inventory wants of the links."""
    found = {name: site.scope.lookup(f"train_expected_{name}") for name in ("gbps", "latency_us")}
    given = {
        name: float(each)
        for name, each in found.items()
        if each is not MISSING and each is not None
    }
    return Expected(given.get("gbps"), given.get("latency_us"))
