"""What is to be staged: from a profile, a declared data set, or a source and a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.training.data.declared import (
    DataSet,
    check_folder,
    declared,
    named,
    on_mirror,
    read_by,
)
from playrunner.training.data.places import is_optional
from playrunner.training.request import profile_of
from trainer.config import Profile

PIPE = "pipe:"  # how the trainer calls a folder that is sent to it
STDIN, ENVIRONMENT = "stdin:", "env:TRAINER_SOURCE"  # where it reads an address that is a secret


@frozen
class StageRequest:
    """What is to be where, and how it is known to be all there."""

    source: str  # an address, or a folder of this machine; empty where nothing is to be staged
    into: str  # the folder below the claim's mount, or below the data folder of nodes
    unpack: bool = False
    files: int = 0
    least: int = 0
    size: int = 0
    anonymous: bool = False
    region: str = ""
    names: Mapping[str, str] = field(default_factory=dict)  # only these files, with their SHA-256
    sha256: str = ""  # of the only file
    path: str = ""  # where the profile reads it, if it says so
    title: str = ""
    profile: str = ""  # what the user named
    dataset: str = ""
    optional: bool = False  # the profile reads the hub where nothing is staged
    compiled: bool = False  # the profile's graphs are compiled into folders of the claim

    @property
    def shown_source(self) -> str:
        """Without what a signed address is signed with, which is a secret."""
        return self.source if self.is_folder else self.source.partition("?")[0]

    @property
    def is_signed(self) -> bool:
        """Whether the address holds what opens it: it then stands on no command line."""
        return not self.is_folder and "?" in self.source

    @property
    def is_folder(self) -> bool:
        """A folder of this machine."""
        return "://" not in self.source

    def words(self, target: str, hidden: str = "") -> list[str]:
        """The arguments of `python -m trainer.staging`; `hidden` is where it reads a signed address
        from."""
        source = f"{PIPE}{self.into}" if self.is_folder else self.source
        source = hidden if hidden and self.is_signed else source
        words = ["--source", source, "--target", target]
        for flag, value in (
            ("files", self.files),
            ("least", self.least),
            ("bytes", self.size),
        ):
            words += [f"--{flag}", str(value)] if value else []
        for flag, text in (("region", self.region), ("sha256", self.sha256)):
            words += [f"--{flag}", text] if text else []
        for name, digest in self.names.items():
            words += ["--file", f"{name}={digest}" if digest else name]
        return words + ["--unpack"] * self.unpack + ["--anonymous"] * self.anonymous


def given_source(text: str) -> str:
    """--source as typed, or what the file or variable holds that it names."""
    kind, _, name = text.partition(":")
    if text.startswith("@"):
        try:
            return Path(text[1:]).expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"--source {text}: the file cannot be read: {error}") from None
    if kind == "env" and name.isidentifier():
        if not os.environ.get(name):
            raise BadInput(f"--source {text}: {name} is not set in this shell's environment")
        return os.environ[name]
    return text


def resolved(
    request: StageRequest, overrides: tuple[str, ...], variable: Callable[[str], Any]
) -> StageRequest:
    """With what profile, declaration and inventory say; `variable` is an inventory's value, None
    where it has none. What cannot work is refused."""
    if not request.profile and not request.dataset and not (request.source and request.into):
        raise BadInput(
            "say what to stage: --profile P (what it reads), --dataset NAME (of"
            " manifests/datasets.yaml), or --source ADDRESS --into FOLDER"
        )
    data_set = None
    if request.profile or request.dataset:
        # A rehearsal declares stand-ins; asked for only when they are needed.
        sets = declared(variable("train_datasets"))
        data_set = named(sets, request.dataset) if request.dataset else None
        if request.profile:
            profile = profile_of(request.profile, overrides)
            data_set = data_set or read_by(sets, profile.train.data)
            request = _for_profile(request, profile, data_set)
    if data_set:
        request = _filled(request, on_mirror(data_set, str(variable("train_mirror") or "")))
    _check(request)
    return request


def _for_profile(request: StageRequest, profile: Profile, data_set: DataSet | None) -> StageRequest:
    data, launch = profile.train.data, profile.launch
    request = replace(
        request,
        compiled=profile.train.strategy.name == "neuron",
        optional=is_optional(profile) and not request.source,
    )
    if data.source == "synthetic":
        return replace(request, source="", title="synthetic data")
    if data_set is None and data.source == "hf" and not data.path and not request.source:
        return replace(request, source="", title=f"{data.dataset} of the hub")
    if data_set is None and not request.source:
        raise BadInput(
            f"profile {request.profile} reads {data.path or data.dataset}, which is no data set of"
            " manifests/datasets.yaml: give it with --source ADDRESS or --source FOLDER"
        )
    least = launch.nodes * launch.processes_per_node if data.source == "hdf5" else 0
    into = data_set.into if data_set else PurePosixPath(data.path or data.dataset).name
    return replace(
        request,
        into=request.into or into,
        path="" if request.into else data.path,
        least=request.least or least,
    )


def _filled(request: StageRequest, data_set: DataSet) -> StageRequest:
    """The declaration's values where the user gave none; a source of the user's own has its own
    files."""
    if request.source:
        return replace(
            request,
            into=request.into or data_set.into,
            unpack=request.unpack or data_set.unpack,
            title=data_set.title,
        )
    return replace(
        request,
        source=data_set.source,
        into=request.into or data_set.into,
        unpack=request.unpack or data_set.unpack,
        anonymous=request.anonymous or data_set.anonymous,
        region=request.region or data_set.region,
        names=data_set.files,
        title=data_set.title,
        dataset=data_set.name,
    )


def _check(request: StageRequest) -> None:
    if not request.source:
        return
    check_folder(request.into, "--into")
    if request.is_folder:
        if not Path(request.source).expanduser().exists():
            raise BadInput(
                f'--source "{request.source}": no such folder on this machine, nor an address, as'
                " s3://BUCKET/FOLDER, gs://..., hf://datasets/OWNER/NAME or https://HOST/FILE.tar"
            )
    elif "@" in request.source.partition("://")[2].partition("/")[0]:
        raise BadInput(
            "--source: remove the part before the @; credentials come from the environment or the"
            " machine's role"
        )


def target_of(request: StageRequest, base: str) -> str:
    """Where it goes: the profile's own path if that is below the base, else a folder of it."""
    if request.path and PurePosixPath(request.path).is_relative_to(base):
        return request.path
    return f"{base}/{request.into}"
