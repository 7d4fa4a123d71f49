"""train.bench on a cluster: the network check alone, as a job whose ranks measure the network,
report it, and train nothing."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.watch import reasons
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.names import new_id
from playrunner.training.kube.job_spec.node_capacity import look
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.launch import submit
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.network.gate import expected, gate_variables
from playrunner.training.kube.network.gate_result import GateResultReader
from playrunner.training.kube.plan import environment_of
from playrunner.training.kube.runs.ending import await_gone, remove_objects
from playrunner.training.kube.runs.follow import Follower
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.netcheck.errors import NETWORK_BAD, NoResult
from playrunner.training.netcheck.sizes import DEFAULT_PROFILE, GATE_SIZES
from playrunner.training.netcheck.verdict_table import table
from playrunner.training.request import Request, read_request
from trainer.config import Profile
from trainer.netcheck.verdict import Verdict, judge

NAME, ORIGIN = "network", "train.bench"
LIMIT_SECONDS = 1800.0  # images of several gigabytes are pulled first
GONE_SECONDS = 120.0


def bench(request: Request, options: Options, launcher: str) -> int:
    """Measure, judge and print; no node is quarantined."""
    session = open_session(options)
    profile = read_request(replace(request, profile=request.profile or DEFAULT_PROFILE))
    nodes = request.nodes or (
        profile.launch.nodes
        if request.profile
        else sum(offer.usable for offer in look(session.kube, namespace=session.settings.namespace))
    )
    result, verdict = prove(bench_job(session, launcher, nodes, profile), session, options)
    if options.json:
        print_json({"result": result, "verdict": asdict(verdict)})
    else:
        print(table(result))
        print("\n".join(verdict.lines))
    return 0 if verdict.ok else NETWORK_BAD


def bench_job(
    session: ClusterSession, launcher: str, nodes: int, profile: Profile, image: str = ""
) -> ClusterJob:
    """A pod on each node, with every device that the nodes have; it needs no claim, since nothing
    is kept."""
    kind, settings = (
        KINDS[launcher],
        replace(session.settings, claim="", image=image or session.settings.image),
    )
    if not settings.image:
        raise BadInput(
            f"train_image is not set: give the image that trains in the inventory ({program()}"
            " nccl-image.build makes one)"
        )
    if kind.needs and not session.kube.resource(*kind.resource):
        raise BadInput(
            f"the cluster has no {kind.resource[1]} of {kind.resource[0]}; run {kind.needs} first"
        )
    if nodes < 2:
        raise BadInput(
            f"a network has two nodes at least, and the cluster has {nodes} to measure between"
        )
    share = share_of(
        profile,
        look(session.kube, namespace=session.settings.namespace),
        settings,
        RequestedNodes(nodes, nodes),
    )
    train = replace(
        profile.train,
        batch_size=profile.train.device_batch_size * nodes * share.processes,
        fast=replace(profile.train.fast, cuda_graphs="off"),
    )
    fitting = replace(
        profile, train=train, launch=replace(profile.launch, nodes=nodes, min_nodes=0)
    )
    job = ClusterJob(NAME, new_id(NAME), DEFAULT_PROFILE, fitting, launcher, nodes, settings, share)
    alone = (
        Variable("TRAINER_GATE_ALONE", "1", "nothing is trained", ORIGIN),
        Variable("TRAINER_GATE_SIZES", GATE_SIZES, "bytes to sum", ORIGIN),
    )
    decided = environment_of(job, session.environment)
    return replace(
        job, environment=(*decided, *gate_variables(job, expected(session), ORIGIN), *alone)
    )


def prove(
    job: ClusterJob, session: ClusterSession, options: Options
) -> tuple[dict[str, Any], Verdict]:
    """The result, and the verdict on it; the job is deleted in any case."""
    run = ClusterRun(job.summary(), Status("pending"))
    quiet = replace(options, json=True)
    try:
        if submit(job, session, quiet):
            raise NoResult(
                f"the job that measures could not be submitted: {run.namespace}/{run.run_id}"
            )
        result = _heard(session, run)
    finally:
        remove_objects(session, run, quiet)
        await_gone(session, run, GONE_SECONDS)
    return result, judge(result, expected(session))


class _Told(Exception):
    """The result is here: there is nothing more to wait for."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


class _ResultListener:
    def __init__(self, reader: GateResultReader) -> None:
        self._reader, self.last = reader, dict[str, str]()
        self._deadline = time.monotonic() + LIMIT_SECONDS

    def begins(self, pod: str, first: bool) -> None: ...

    def line(self, pod: str, text: str) -> None:
        self.last[pod] = text
        if result := self._reader.hear(pod, text):
            raise _Told(result)

    def say(self, text: str) -> None: ...

    def idle(self, pods: list[dict[str, Any]]) -> None:
        if time.monotonic() > self._deadline:
            held = [text for pod in pods for text in reasons.pod(pod)] or [
                f"{len(pods)} pods, and no result yet"
            ]
            raise NoResult(
                f"the network was not measured within {LIMIT_SECONDS:g} s: {'; '.join(held[:2])}"
            )


def _heard(session: ClusterSession, run: ClusterRun) -> dict[str, Any]:
    listener = _ResultListener(GateResultReader(session.kube, run))
    try:
        status = Follower(session.kube, run, listener).follow()
    except _Told as received:
        return received.result
    said = "; ".join(f"{pod}: {text}" for pod, text in sorted(listener.last.items())[:3])
    raise NoResult(
        f"the network could not be measured: the job {status.state}"
        f" ({status.reason or status.phase}); {said}"
    )
