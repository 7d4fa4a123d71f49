"""train.stage: data of a store or web server on the claim that all nodes see; a second time nothing
is fetched."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.training.kube.one_off_job import Errand, send, tell
from playrunner.training.kube.site import Ground, Site, open_site
from playrunner.training.ssh.plan import refuse

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True)
class Wanted:
    """What is to be where, and how it is known to be all there."""

    source: str
    into: str  # a folder of the claim
    unpack: bool = False
    files: int = 0
    least: int = 0
    size: int = 0
    anonymous: bool = False
    region: str = ""


def stage(wanted: Wanted, options: Options) -> int:
    _check(wanted)
    site = open_site(options)
    refuse(_claim(site), "data")
    errand = stage_errand(wanted, site.ground)
    code, told = send(errand, site, options)
    files, size = told.get("files", 0), told.get("bytes", 0)
    word = "staged" if told.get("changed") else "complete already"
    return tell(
        {"into": wanted.into, **told},
        code,
        errand.title,
        options,
        f"{told.get('folder', wanted.into)} is {word}: {files} file{'s' * (files != 1)}, {size}"
        f" bytes, on claim {site.ground.claim}",
    )


def stage_errand(wanted: Wanted, ground: Ground) -> Errand:
    target = f"{ground.mount}/{wanted.into}"
    words = ["-m", "trainer.staging", "--source", wanted.source, "--target", target]
    for flag, value in (("files", wanted.files), ("least", wanted.least), ("bytes", wanted.size)):
        words += [f"--{flag}", str(value)] if value else []
    words += ["--region", wanted.region] if wanted.region else []
    words += ["--unpack"] * wanted.unpack + ["--anonymous"] * wanted.anonymous
    # Two that write to one folder at once would spoil it: its folder gives the job its name.
    slug = re.sub(r"[^a-z0-9]+", "-", wanted.into.lower()).strip("-")[:30].rstrip("-")
    return Errand(
        f"stage-{slug}-{hashlib.sha256(target.encode()).hexdigest()[:6]}",
        f"staging {wanted.into}",
        tuple(words),
        service_account=ground.service_account,
    )


def _check(wanted: Wanted) -> None:
    if not wanted.source or not wanted.into:
        raise BadInput(
            "say what and where to: --source s3://BUCKET/FOLDER --into FOLDER (of the claim)"
        )
    if "://" not in wanted.source:
        raise BadInput(
            f'--source "{wanted.source}": it is an address, as s3://BUCKET/FOLDER, gs://... or'
            " https://HOST/FILE.tar"
        )
    if not _NAME.fullmatch(wanted.into) or ".." in wanted.into.split("/"):
        raise BadInput(
            f'--into "{wanted.into}": it is a folder below the claim, as datasets/wikicorpus'
        )


def _claim(site: Site) -> list[str]:
    from playrunner.training.kube.plan import CLAIMS

    ground = site.ground
    if not ground.claim:
        return [
            "there is no volume to stage it on: set train_claim (invoke efs.create, fsx.create or"
            " nfs.create make one)"
        ]
    if site.kube.get(CLAIMS, ground.namespace, ground.claim) is None:
        return [
            f"there is no claim {ground.claim} in namespace {ground.namespace} (kubectl get pvc -A"
            " shows all)"
        ]
    return []
