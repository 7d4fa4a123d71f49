"""train.precompile: a few steps within Neuron's parallel compiler, so that training finds every
graph in its cacheset."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from playrunner.errors import BadInput, StepFailed
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.code import code_archive
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.cacheset import hold, release
from playrunner.training.kube.compiling import Counting
from playrunner.training.kube.ending import end
from playrunner.training.kube.follow import Follower
from playrunner.training.kube.job import ClusterJob
from playrunner.training.kube.launch import submit
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.plan import CLAIMS, plan
from playrunner.training.kube.render import profile_text
from playrunner.training.kube.run_view import ClusterRun, find
from playrunner.training.kube.site import Site, open_site
from playrunner.training.runs.record import Record
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.plan import LaunchRefused, Request, read_request, run_name
from playrunner.training.where import ON_CLUSTERS

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
    if request.launcher not in ON_CLUSTERS:
        raise BadInput(
            "precompiling is for clusters: set train_launcher in the inventory (vcjob), or"
            " --launcher"
        )
    name = f"{request.name or run_name(request.profile)}-precompile"
    asked = read_request(request).train.steps
    request = replace(
        request,
        name=name,
        overrides=(*request.overrides, *_ONLY_TRACED, f"train.steps={min(asked, MOST_STEPS)}"),
    )
    profile = read_request(request)
    site = open_site(options)
    line = LiveLine(profile.train.steps, quiet=options.json)
    existing = next(iter(find(site.kube, site.ground.namespace, name)), None)
    if existing and existing.state in ("pending", "running"):
        raise LaunchRefused(
            f"{name} is {existing.state} already as {existing.run_id}: invoke train.logs --name"
            f" {name} --follow"
        )
    job = _within(plan(request, profile, site, request.launcher))
    if _done_before(job, site) and not request.replace:
        line.say(
            f"{name}: these graphs are compiled in cacheset {site.ground.cacheset}: nothing to do"
            " (--replace does it again)"
        )
        if options.json:
            print_json(
                {
                    "name": name,
                    "state": "finished",
                    "changed": False,
                    "cacheset": site.ground.cacheset,
                }
            )
        return 0
    if options.check:
        return submit(job, site, options)
    if existing and existing.job:
        end(site, existing, options, existing.state)
    hold(site.kube, site.ground.namespace, site.ground.cacheset, job.run_id)
    try:
        return _compiled(job, site, line, options)
    finally:
        release(site.kube, site.ground.namespace, job.run_id)


def _done_before(job: ClusterJob, site: Site) -> bool:
    kept = Record(job.name).folder / _KEPT
    return kept.is_file() and kept.read_text() == _key(job, site)


def _key(job: ClusterJob, site: Site) -> str:
    """Graphs follow from profile, code, image and number of nodes; the cache goes with its claim."""
    claim = site.kube.get(CLAIMS, job.ground.namespace, job.ground.claim) or {"metadata": {}}
    parts = [
        profile_text(job),
        code_archive()[0],
        job.ground.image,
        job.ground.cacheset,
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


def _compiled(job: ClusterJob, site: Site, line: LiveLine, options: Options) -> int:
    code = submit(job, site, options)
    if code:
        return code
    record = Record(job.name)
    record.begin(job.summary(), past=False)
    run = ClusterRun(job.summary(), Status("pending"))
    ears = Counting(record, line)
    state, reason = "stopped", "interrupted by whoever followed it"
    try:
        status = Follower(site.kube, run, ears).follow()
        state, reason = status.state, status.reason
    finally:
        line.end()
        record.close()
        end(site, run, options, state, reason)
    trouble = ears.counts.trouble(job.nodes) if state == "finished" else reason or state
    sums = ears.counts.summed()
    if not trouble:
        record.keep(_KEPT, _key(job, site))
    if options.json:
        print_json(
            {
                "name": job.name,
                "run_id": job.run_id,
                "state": "failed" if trouble else state,
                "changed": True,
                "reason": trouble,
                **sums,
                "cacheset": site.ground.cacheset,
            }
        )
        return 2 if trouble else 0
    if trouble:
        raise StepFailed(f"{job.name}: {trouble}; the compiler's words: {record.folder}/hosts")
    line.say(
        f"{job.name}: {sums['compiled']} graphs are compiled in cacheset {site.ground.cacheset};"
        f" now: invoke train.launch --profile {job.profile_name}"
    )
    return 0
