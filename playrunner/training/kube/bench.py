"""train.bench on a cluster: the gate by itself, as a job whose ranks measure the network, tell of
it, and train nothing."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.watch import reasons
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.ending import await_gone, remove_objects
from playrunner.training.kube.follow import Follower
from playrunner.training.kube.gate import expected, gate_variables
from playrunner.training.kube.gate_result import Ear
from playrunner.training.kube.job import ClusterJob
from playrunner.training.kube.launch import submit
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.names import new_id
from playrunner.training.kube.node_capacity import look
from playrunner.training.kube.plan import environment_of
from playrunner.training.kube.run_view import ClusterRun
from playrunner.training.kube.site import Site, open_site
from playrunner.training.kube.sizing import Wish, share_of
from playrunner.training.netcheck.verdict import Verdict, judge, table
from playrunner.training.ssh.bench import CLOSED, DEFAULT_PROFILE, SIZES, NoResult
from playrunner.training.ssh.plan import Request, read_request
from trainer.config import Profile

NAME, ORIGIN = "network", "train.bench"
LIMIT_SECONDS = 1800.0  # images of several gigabytes are pulled first
GONE_SECONDS = 120.0


def bench(request: Request, options: Options, launcher: str) -> int:
    """Measured, judged and told; nobody is put aside."""
    site = open_site(options)
    profile = read_request(replace(request, profile=request.profile or DEFAULT_PROFILE))
    nodes = request.nodes or (
        profile.launch.nodes if request.profile else sum(offer.usable for offer in look(site.kube))
    )
    result, verdict = prove(bench_job(site, launcher, nodes, profile), site, options)
    if options.json:
        print_json({"result": result, "verdict": asdict(verdict)})
    else:
        print(table(result))
        print("\n".join(verdict.lines))
    return 0 if verdict.ok else CLOSED


def bench_job(
    site: Site, launcher: str, nodes: int, profile: Profile, image: str = ""
) -> ClusterJob:
    """A pod on each node, with every device that the nodes have; it needs no claim, since nothing
    is kept."""
    kind, ground = KINDS[launcher], replace(site.ground, claim="", image=image or site.ground.image)
    if not ground.image:
        raise BadInput(
            "train_image is not set: give the image that trains in the inventory (invoke"
            " nccl-image.build makes one)"
        )
    if kind.needs and not site.kube.resource(*kind.resource):
        raise BadInput(
            f"the cluster has no {kind.resource[1]} of {kind.resource[0]}; run {kind.needs} first"
        )
    if nodes < 2:
        raise BadInput(
            f"a network has two nodes at least, and the cluster has {nodes} to measure between"
        )
    share = share_of(profile, look(site.kube), ground, Wish(nodes, nodes))
    train = replace(
        profile.train,
        batch_size=profile.train.device_batch_size * nodes * share.processes,
        fast=replace(profile.train.fast, cuda_graphs=False),
    )
    fitting = replace(
        profile, train=train, launch=replace(profile.launch, nodes=nodes, min_nodes=0)
    )
    job = ClusterJob(NAME, new_id(NAME), DEFAULT_PROFILE, fitting, launcher, nodes, ground, share)
    alone = (
        Variable("TRAINER_GATE_ALONE", "1", "nothing is trained", ORIGIN),
        Variable("TRAINER_GATE_SIZES", SIZES, "bytes to sum", ORIGIN),
    )
    decided = environment_of(job, site.environment)
    return replace(
        job, environment=(*decided, *gate_variables(job, expected(site), ORIGIN), *alone)
    )


def prove(job: ClusterJob, site: Site, options: Options) -> tuple[dict[str, Any], Verdict]:
    """What was measured, and what that means; the job is taken away whatever happened."""
    run = ClusterRun(job.summary(), Status("pending"))
    quiet = replace(options, json=True)
    try:
        if submit(job, site, quiet):
            raise NoResult(
                f"the job that measures could not be submitted: {run.namespace}/{run.run_id}"
            )
        result = _heard(site, run)
    finally:
        remove_objects(site, run, quiet)
        await_gone(site, run, GONE_SECONDS)
    return result, judge(result, expected(site))


class _Told(Exception):
    """The result is here: there is nothing more to wait for."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


class _Ears:
    def __init__(self, ear: Ear) -> None:
        self._ear, self.last = ear, dict[str, str]()
        self._deadline = time.monotonic() + LIMIT_SECONDS

    def begins(self, pod: str, anew: bool) -> None: ...

    def line(self, pod: str, text: str) -> None:
        self.last[pod] = text
        if result := self._ear.hear(pod, text):
            raise _Told(result)

    def say(self, text: str) -> None: ...

    def idle(self, pods: list[dict[str, Any]]) -> None:
        if time.monotonic() > self._deadline:
            held = [text for pod in pods for text in reasons.pod(pod)] or [
                f"{len(pods)} pods, and no word of a result"
            ]
            raise NoResult(
                f"the network was not measured within {LIMIT_SECONDS:g} s: {'; '.join(held[:2])}"
            )


def _heard(site: Site, run: ClusterRun) -> dict[str, Any]:
    ears = _Ears(Ear(site.kube, run))
    try:
        status = Follower(site.kube, run, ears).follow()
    except _Told as told:
        return told.result
    said = "; ".join(f"{pod}: {text}" for pod, text in sorted(ears.last.items())[:3])
    raise NoResult(
        f"the network could not be measured: the job {status.state}"
        f" ({status.reason or status.phase}); {said}"
    )
