"""train.precompile: a few steps within Neuron's parallel compiler, so that training finds every
graph in its cacheset."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from playrunner.errors import BadInput, StepFailed
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.code import code_archive
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.data import with_data
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.launch import submit
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.one_off.cacheset import hold, release
from playrunner.training.kube.one_off.compiling import CompileListener
from playrunner.training.kube.plan import CLAIMS, plan
from playrunner.training.kube.runs.ending import end
from playrunner.training.kube.runs.follow import Follower
from playrunner.training.kube.runs.run_view import ClusterRun, find
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.launchers import CLUSTER_LAUNCHERS
from playrunner.training.profile_text import profile_text
from playrunner.training.request import LaunchRefused, Request, read_request, run_name
from playrunner.training.runs.record import Record
from playrunner.training.screen.screen import LiveLine

_KEPT = "compiled"  # of a run's record
COMPILER = "neuron_parallel_compile"
MOST_STEPS = 10  # every graph has been seen by then; the rest would only take time
_ONLY_TRACED = (
    "train.checkpoint.every=0",
    "train.checkpoint.schedule=[]",
    "train.checkpoint.resume=never",
    "train.checkpoint.upload=",
    "train.evaluate.every=0",
)


def precompile(request: Request, options: Options) -> int:
    if request.launcher not in CLUSTER_LAUNCHERS:
        raise BadInput(
            "precompiling is for clusters: set train_launcher in the inventory (vcjob), or"
            " --launcher"
        )
    name = f"{request.name or run_name(request.profile)}-precompile"
    request = replace(shortened(request), name=name)
    profile = read_request(request)
    session = open_session(options)
    line = LiveLine(profile.train.steps, quiet=options.json)
    existing = next(iter(find(session.kube, session.settings.namespace, name)), None)
    if existing and existing.state in ("pending", "running"):
        raise LaunchRefused(
            f"{name} is {existing.state} already as {existing.run_id}: {program()} train.logs"
            " --name"
            f" {name} --follow"
        )
    job = _within(
        with_data(plan(request, profile, session, request.launcher), session, options, line.say)
    )
    if _done_before(job, session) and not request.replace:
        line.say(
            f"{name}: these graphs are compiled in cacheset {job.settings.cacheset}: nothing"
            " to do"
            " (--replace does it again)"
        )
        if options.json:
            print_json(
                {
                    "name": name,
                    "state": "finished",
                    "changed": False,
                    "cacheset": job.settings.cacheset,
                }
            )
        return 0
    if options.check:
        return submit(job, session, options)
    if existing and existing.job:
        end(session, existing, options, existing.state)
    hold(session.kube, session.settings.namespace, job.settings.cacheset, job.run_id)
    try:
        return _compiled(job, session, line, options)
    finally:
        release(session.kube, session.settings.namespace, job.run_id)


def shortened(request: Request) -> Request:
    """The same run in a few steps. Its schedule stays that of the whole run: a warm-up may be
    longer than the steps that are compiled in."""
    train = read_request(request).train
    few = (
        f"train.schedule.decay_steps={train.schedule.decay_steps or train.steps}",
        f"train.steps={min(train.steps, MOST_STEPS)}",
    )
    return replace(request, overrides=(*request.overrides, *_ONLY_TRACED, *few))


def _done_before(job: ClusterJob, session: ClusterSession) -> bool:
    kept = Record(job.name).folder / _KEPT
    return kept.is_file() and kept.read_text() == _key(job, session)


def _key(job: ClusterJob, session: ClusterSession) -> str:
    """Graphs follow from profile, code, image and number of nodes; the cache goes with its
    claim."""
    claim = session.kube.get(CLAIMS, job.settings.namespace, job.settings.claim) or {"metadata": {}}
    parts = [
        profile_text(job.profile),
        code_archive()[0],
        job.settings.image,
        job.settings.cacheset,
        job.nodes,
        job.share.processes,
        claim["metadata"].get("uid"),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _within(job: ClusterJob) -> ClusterJob:
    wrapper = Variable(
        "TRAINER_WITHIN",
        COMPILER,
        "graphs are compiled side by side, not one by one as they come up",
        "train.precompile",
    )
    return replace(job, environment=(*job.environment, wrapper))


def _compiled(job: ClusterJob, session: ClusterSession, line: LiveLine, options: Options) -> int:
    code = submit(job, session, options)
    if code:
        return code
    record = Record(job.name)
    record.begin(job.summary(), past=False)
    run = ClusterRun(job.summary(), Status("pending"))
    listener = CompileListener(record, line)
    state, reason = "stopped", "interrupted with Ctrl-C"
    try:
        status = Follower(session.kube, run, listener).follow()
        state, reason = status.state, status.reason
    finally:
        line.end()
        record.close()
        end(session, run, options, state, reason)
    trouble = listener.counts.trouble(job.nodes) if state == "finished" else reason or state
    sums = listener.counts.summed()
    if not trouble:
        record.keep(_KEPT, _key(job, session))
    if options.json:
        print_json(
            {
                "name": job.name,
                "run_id": job.run_id,
                "state": "failed" if trouble else state,
                "changed": True,
                "reason": trouble,
                **sums,
                "cacheset": job.settings.cacheset,
            }
        )
        return 2 if trouble else 0
    if trouble:
        raise StepFailed(f"{job.name}: {trouble}; the compiler's output: {record.folder}/hosts")
    line.say(
        f"{job.name}: {sums['compiled']} graphs are compiled in cacheset"
        f" {job.settings.cacheset};"
        f" now: {program()} train.launch --profile {job.profile_name}"
    )
    return 0
