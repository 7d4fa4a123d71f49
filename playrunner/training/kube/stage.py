"""train.stage: data of a store or web server on the claim that all nodes see; a second time nothing
is fetched."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.project import program
from playrunner.training.kube.one_off.one_off_job import OneOffJob, submit, tell
from playrunner.training.kube.session import ClusterSession, ClusterSettings, open_session
from playrunner.training.request import refuse

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True)
class StageRequest:
    """What is to be where, and how it is known to be all there."""

    source: str
    into: str  # a folder of the claim
    unpack: bool = False
    files: int = 0
    least: int = 0
    size: int = 0
    anonymous: bool = False
    region: str = ""


def stage(request: StageRequest, options: Options) -> int:
    _check(request)
    session = open_session(options)
    refuse(_claim(session), "data")
    job = stage_job(request, session.settings)
    code, result = submit(job, session, options)
    files, size = result.get("files", 0), result.get("bytes", 0)
    word = "staged" if result.get("changed") else "complete already"
    return tell(
        {"into": request.into, **result},
        code,
        job.title,
        options,
        f"{result.get('folder', request.into)} is {word}: {files} file{'s' * (files != 1)}, {size}"
        f" bytes, on claim {session.settings.claim}",
    )


def stage_job(request: StageRequest, settings: ClusterSettings) -> OneOffJob:
    target = f"{settings.mount}/{request.into}"
    words = ["-m", "trainer.staging", "--source", request.source, "--target", target]
    for flag, value in (
        ("files", request.files),
        ("least", request.least),
        ("bytes", request.size),
    ):
        words += [f"--{flag}", str(value)] if value else []
    words += ["--region", request.region] if request.region else []
    words += ["--unpack"] * request.unpack + ["--anonymous"] * request.anonymous
    # Two that write to one folder at once would spoil it: its folder gives the job its name.
    slug = re.sub(r"[^a-z0-9]+", "-", request.into.lower()).strip("-")[:30].rstrip("-")
    return OneOffJob(
        f"stage-{slug}-{hashlib.sha256(target.encode()).hexdigest()[:6]}",
        f"staging {request.into}",
        tuple(words),
        service_account=settings.service_account,
    )


def _check(request: StageRequest) -> None:
    if not request.source or not request.into:
        raise BadInput(
            "say what and where to: --source s3://BUCKET/FOLDER --into FOLDER (of the claim)"
        )
    if "://" not in request.source:
        raise BadInput(
            f'--source "{request.source}": it is an address, as s3://BUCKET/FOLDER, gs://... or'
            " https://HOST/FILE.tar"
        )
    if not _NAME.fullmatch(request.into) or ".." in request.into.split("/"):
        raise BadInput(
            f'--into "{request.into}": it is a folder below the claim, as datasets/wikicorpus'
        )


def _claim(session: ClusterSession) -> list[str]:
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
