"""Whether a run's data is where its pods will read it, before anything is launched: a pod with the
same image and claim looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from playrunner.options import Options
from playrunner.training.data.places import candidates, instead, is_optional, reading, remedy
from playrunner.training.data.request import StageRequest
from playrunner.training.inventory_scope import value_of
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.one_off.job_pod import OneOffJob
from playrunner.training.kube.one_off.one_off_job import submit
from playrunner.training.kube.session import ClusterSession
from playrunner.training.kube.stage import bring, stage_job
from playrunner.training.request import refuse

_MOST_NAME = 40


def bring_data(
    data: StageRequest, session: ClusterSession, options: Options, say: Callable[[str], None]
) -> None:
    """What --data names, on the claim."""
    if options.check:
        say(f"data: {data.title} would be copied to claim {session.settings.claim}")
        return
    begun = time.monotonic()
    code, result = bring(
        data, stage_job(data, session.settings), session, replace(options, json=True)
    )
    if code:
        refuse([str(result.get("reason") or result["state"])], f"--data {data.title}")
    word = "copied" if result.get("changed") else "there"
    size = int(result.get("bytes") or 0) / 1e6
    say(f"data {word}: {size:.1f} MB on the claim ({time.monotonic() - begun:.1f} s)")


def with_data(
    job: ClusterJob, session: ClusterSession, options: Options, say: Callable[[str], None]
) -> ClusterJob:
    """The job with the path at which its data is; data that is missing is refused by name."""
    if job.profile.script:
        return job  # only the script knows what it reads
    settings = job.settings
    base = settings.mount if settings.claim else ""
    paths = candidates(job.profile, base, lambda name: value_of(session.scope, name, None))
    if not paths or options.check:  # a look is a pod, and --check makes none
        return job
    data = job.profile.train.data
    words = ["-m", "trainer.staging.look", "--source", data.source]
    words += [word for path in paths for word in ("--path", path)]
    words += ["--least", str(job.world_size)] if data.source == "hdf5" else []
    words += ["--optional"] if is_optional(job.profile) else []
    look = OneOffJob(
        f"look-{job.name[:_MOST_NAME].rstrip('-')}",
        f"looking for the data of {job.name}",
        tuple(words),
        service_account=settings.service_account,
    )
    # As for --json: nothing of it is shown but what it finds.
    code, result = submit(look, session, replace(options, json=True))
    if code:
        reason = str(result.get("reason") or result["state"]).removeprefix("data: ")
        refuse([f"{reason}; {remedy(job.profile_name, options)}"], "data")
    path = str(result.get("path") or "")
    if path and is_optional(job.profile):
        say(instead(job.profile, path))
    return replace(job, profile=reading(job.profile, path)) if path else job
