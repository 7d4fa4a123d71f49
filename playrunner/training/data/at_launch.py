"""`train.launch --data`: a file or folder of this machine, or an address, staged before the launch
where the run's processes read it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path, PurePosixPath

from playrunner.errors import BadInput
from playrunner.training.data.request import StageRequest, given_source, target_of
from playrunner.training.request import Request, read_request

DATA_DIR = "DATA_DIR"  # where a script of the user's own finds it
_LEDGER = "ledger.json"  # of a folder of token shards
_LONGEST = 40


def launch_data(request: Request) -> StageRequest | None:
    """What is to be staged for the run; a path that is not here is refused."""
    if not request.data:
        return None
    source = given_source(request.data)
    if "://" not in source:
        path = Path(source).expanduser().absolute()
        if not path.exists():
            raise BadInput(
                f"--data {source}: no such file or folder on this machine, nor an address as"
                " s3://BUCKET/FOLDER, gs://... or hf://datasets/OWNER/NAME; what the nodes have"
                " already is named by --set train.data.path=PATH"
            )
        source = str(path)
    shown = source.partition("?")[0].rstrip("/")
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePosixPath(shown).name).strip("-.")[:_LONGEST]
    digest = hashlib.sha256(shown.encode()).hexdigest()[:8]
    return StageRequest(source, f"own/{slug or 'data'}-{digest}", title=shown)


def reading_data(request: Request, data: StageRequest | None, base: str) -> Request:
    """The request with the path at which the data will be; a run keeps it and resumes with it."""
    if data is None:
        return request
    path, profile = path_of(data, base), read_request(request)
    if profile.script:
        return replace(request, overrides=(*request.overrides, f"environment.{DATA_DIR}={path}"))
    settings = [f"train.data.path={path}"]
    if profile.train.data.source == "synthetic":
        settings.append(f"train.data.source={_kind(data)}")
    return replace(request, overrides=(*request.overrides, *settings))


def path_of(data: StageRequest, base: str) -> str:
    target = target_of(data, base)
    here = Path(data.source)
    return f"{target}/{here.name}" if data.is_folder and here.is_file() else target


def _kind(data: StageRequest) -> str:
    """How a profile that reads nothing so far is to read it."""
    here = Path(data.source)
    if data.is_folder and here.is_file():
        return "text"
    return "tokens" if data.is_folder and (here / _LEDGER).exists() else "folder"
