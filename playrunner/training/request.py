"""What the user asked for: a profile, a name, a number of nodes, and how to launch them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.frozen import frozen
from trainer import errors as trainer_errors
from trainer.config import Profile
from trainer.profile import read_profile


@frozen
class Request:
    """What the user asked for."""

    profile: str
    name: str = ""
    nodes: int = 0
    overrides: tuple[str, ...] = ()
    launcher: str = ""
    detach: bool = False
    replace: bool = False
    gate: bool = True
    stage_only: bool = False
    data: str = ""  # a path of this machine or an address, staged before the launch
    secrets: tuple[str, ...] = ()  # NAME, or NAME=FILE: where their values come from
    notify: str = ""  # an address or a command that is told of the run's end and stalls
    avoid: tuple[str, ...] = ()  # nodes of a cluster that a network check found bad

    def on_fewer(self, nodes: int) -> Request:
        """The same run going on with the nodes that are left."""
        return replace(self, nodes=nodes, overrides=continued(self.overrides, True))


def as_asked(request: Request, nodes: int) -> dict[str, Any]:
    """A request as a job is written down, for one that has not become a job."""
    return {
        "profile": request.profile,
        "launcher": request.launcher,
        "overrides": list(request.overrides),
        "nodes": [{} for _ in range(nodes)],
    }


_RESUME = "train.checkpoint.resume="


def continued(overrides: Sequence[str], has_checkpoints: bool) -> tuple[str, ...]:
    """The settings of a run that goes on: one that was to begin from nothing, or from another's
    checkpoint, resumes from its own."""
    if not has_checkpoints:
        return tuple(overrides)
    return (*(each for each in overrides if not each.startswith(_RESUME)), f"{_RESUME}auto")


def begins_elsewhere(overrides: Sequence[str]) -> bool:
    """Whether the settings name a checkpoint to begin from."""
    values = [each.removeprefix(_RESUME) for each in overrides if each.startswith(_RESUME)]
    return bool(values) and values[-1] not in ("auto", "never")


class LaunchRefused(PlayrunnerError):
    """Preflight, the network check or the environment refuses the launch."""

    exit_code = 6


def read_request(request: Request) -> Profile:
    if not request.profile and not _given(request, "script"):
        raise BadInput(
            "--profile is missing: a name from trainer/profiles (gpt2-micro-smoke trains in"
            " seconds), or a YAML file; --script trains with a program of your own"
        )
    profile = profile_of(request.profile, request.overrides)
    if profile.script:
        from playrunner.training.project_folder import check_project

        check_project(profile.code, profile.script)
    return profile


def wanted_nodes(request: Request, profile: Profile) -> int:
    count = request.nodes or profile.launch.nodes
    if count < 1:
        raise BadInput(f"--nodes must be 1 or more, not {count}")
    return count


def check_bounds(nodes: int, profile: Profile) -> None:
    """An elastic run begins on a number of nodes that it may have."""
    least, most = profile.launch.min_nodes, profile.launch.max_nodes  # 0 is not set
    if most and least > most:
        raise BadInput(
            f"launch.min_nodes {least} is more than launch.max_nodes {most}; change one of them"
        )
    if not least or least <= nodes <= (most or nodes):
        return
    setting = "min_nodes" if nodes < least else "max_nodes"
    raise BadInput(
        f"--nodes {nodes}: the run may have {least} to {most or 'any number of'} nodes"
        " (launch.min_nodes, launch.max_nodes); give another number, or --set"
        f" launch.{setting}={nodes}"
    )


def default_name(request: Request) -> str:
    """The name a run gets when none is given: its script's, or its profile's."""
    script = _given(request, "script")
    return run_name(request.profile) if request.profile else run_name(PurePath(script).stem)


def _given(request: Request, setting: str) -> str:
    values = [each for each in request.overrides if each.startswith(f"{setting}=")]
    return json.loads(values[-1].partition("=")[2]) if values else ""


def run_name(profile: str) -> str:
    """The name a run gets when none is given: its profile's."""
    return profile.rpartition("/")[2].removesuffix(".yaml").replace("_", "-").lower()


def check_name(name: str) -> str:
    """A run's name becomes a folder, a process mark and a rendezvous id."""
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    if (
        not name
        or len(name) > 53
        or not set(name) <= allowed
        or name.startswith("-")
        or name.endswith("-")
    ):
        raise BadInput(f'--name "{name}": use up to 53 of a-z, 0-9 and "-", as in gpt2-micro-2')
    return name


def profile_of(name: str, overrides: Sequence[str]) -> Profile:
    """The profile with its overrides; what the trainer refuses is the user's input error."""
    try:
        profile = read_profile(name, overrides)
    except trainer_errors.TrainerError as error:
        raise BadInput(str(error)) from None
    if not profile.script:
        return profile
    beside = Path(name).resolve().parent if name and Path(name).is_file() else Path.cwd()
    return replace(profile, code=str(beside / profile.code))


def refuse(complaints: list[str], stage: str) -> None:
    if complaints:
        raise LaunchRefused(f"{stage}: " + "\n       ".join(complaints))
