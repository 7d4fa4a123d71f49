"""A run on a cluster: programs run in a pod of their own with the run's claim."""

from __future__ import annotations

import hashlib
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.options import Options
from playrunner.training.kube.one_off.job_pod import OneOffJob
from playrunner.training.kube.one_off.one_off_job import submit
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import open_session
from playrunner.training.model.program import Program


def run_in_pod(program: Program, options: Options, name: str) -> dict[str, Any]:
    session = open_session(options)
    run = the_run(session, name)
    if not run.summary.get("claim"):
        raise BadInput(
            f"{run.name} has no claim (train_claim): its checkpoints are in the store of"
            " checkpoint.upload; name that folder with --folder after copying it here"
        )
    words = ("-m", program.module, str(run.summary["output"]), *program.words)
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:6]
    job = OneOffJob(f"use-{run.name[:30].rstrip('-')}-{key}", program.title, words)
    code, result = submit(job, session, options)
    if code:
        raise StepFailed(f"{program.title}: {result.get('reason') or result['state']}")
    return {"name": run.name, **result}
