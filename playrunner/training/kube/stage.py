"""train.stage on a cluster: data of a store, hub, web server or folder on the claim that all nodes
see; a second time nothing is fetched."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path, PurePosixPath
from typing import Any

from playrunner.options import Options
from playrunner.project import program
from playrunner.ssh.sandbox_autostart import ensure_datasets_running
from playrunner.training.data.request import ENVIRONMENT, StageRequest, resolved, target_of
from playrunner.training.data.transfer import Folder
from playrunner.training.inventory_scope import value_of
from playrunner.training.kube.one_off.job_pod import OPENED, OneOffJob
from playrunner.training.kube.one_off.one_off_job import submit, tell
from playrunner.training.kube.one_off.send_folder import send_folder
from playrunner.training.kube.session import ClusterSession, ClusterSettings, open_session
from playrunner.training.request import refuse
from playrunner.training.screen.screen import LiveLine


def stage(request: StageRequest, overrides: tuple[str, ...], options: Options) -> int:
    session = open_session(options)

    def variable(name: str) -> object:
        if name == "train_datasets":
            ensure_datasets_running(session.inventory)
        return value_of(session.scope, name, None)

    request = resolved(request, overrides, variable)
    if not session.settings.claim and (not request.source or request.optional):
        result = {"state": "finished", "changed": False, "title": request.title}
        text = (
            f"{request.title}: there is no claim (train_claim) to stage it on; it is read as it is"
        )
        return tell(result, 0, "staging", options, text)
    refuse(claim_problems(session), "data")
    made = stage_job if request.source else open_job
    job = made(request, session.settings)
    code, result = bring(request, job, session, options)
    claim = session.settings.claim
    if not request.source:
        result = {"changed": False, **result, "title": request.title}
        text = f"{request.title} needs no staging; the folder of runs on claim {claim} is writable"
        return tell(result, code, job.title, options, text)
    files, size = result.get("files", 0), result.get("bytes", 0)
    word = "staged" if result.get("changed") else "complete already"
    return tell(
        {"into": request.into, "source": request.shown_source, **result},
        code,
        job.title,
        options,
        f"{result.get('folder', request.into)} is {word}: {files} file{'s' * (files != 1)}, {size}"
        f" bytes, on claim {claim}",
    )


def bring(
    request: StageRequest, job: OneOffJob, session: ClusterSession, options: Options
) -> tuple[int, dict[str, Any]]:
    """The exit code, and what the pod answered."""
    if not request.source or not request.is_folder:
        return submit(job, session, options)
    line = LiveLine(0, quiet=options.json)
    try:
        folder = Folder(Path(request.source).expanduser())
        return send_folder(job, folder, session, options, line.say)
    finally:
        line.end()


def stage_job(request: StageRequest, settings: ClusterSettings) -> OneOffJob:
    target = target_of(request, settings.mount)
    # Two that write to one folder at once would spoil it: its folder gives the job its name.
    slug = re.sub(r"[^a-z0-9]+", "-", request.into.lower()).strip("-")[:30].rstrip("-")
    return OneOffJob(
        f"stage-{slug}-{hashlib.sha256(target.encode()).hexdigest()[:6]}",
        f"staging {request.into}",
        ("-m", "trainer.staging", *request.words(target, ENVIRONMENT)),
        secrets={ENVIRONMENT.partition(":")[2]: request.source} if request.is_signed else {},
        service_account=settings.service_account,
        opened=(*_run_folders(request, settings), *_made_folders(target, settings.mount)),
    )


def open_job(request: StageRequest, settings: ClusterSettings) -> OneOffJob:
    """Only the folders of runs, for profiles that read nothing from the claim."""
    folders = _run_folders(request, settings)
    slug = re.sub(r"[^a-z0-9]+", "-", settings.claim.lower()).strip("-")[:40]
    words = ("-m", "trainer.staging.open_folders", "--verify", "--note", OPENED, *folders)
    return OneOffJob(f"open-{slug}", f"opening claim {settings.claim}", words, opened=folders)


def _run_folders(request: StageRequest, settings: ClusterSettings) -> tuple[str, ...]:
    caches = ("neuron_cache", "transformers_cache") if request.compiled else ()
    return tuple(f"{settings.mount}/{name}" for name in ("runs", *caches))


def _made_folders(target: str, mount: str) -> tuple[str, ...]:
    """The target and what is above it, up to the mount, outermost first."""
    above = [each for each in PurePosixPath(target).parents if each.is_relative_to(mount)]
    return tuple(str(each) for each in (*reversed(above[:-1]), target))


def claim_problems(session: ClusterSession) -> list[str]:
    from playrunner.training.kube.plan import CLAIMS

    settings = session.settings
    if not settings.claim:
        return [
            f"there is no volume to stage it on: set train_claim ({program()} efs.create,"
            " fsx.create or"
            " nfs.create make one)"
        ]
    if session.kube.get(CLAIMS, settings.namespace, settings.claim) is None:
        return [
            f"there is no claim {settings.claim} in namespace {settings.namespace} (kubectl get"
            " pvc -A"
            " shows all)"
        ]
    return []
