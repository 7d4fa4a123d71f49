"""A script of the user's own as settings of a profile: a run keeps them, and resuming it reads
them again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playrunner.errors import BadInput


def words_after_dashes() -> list[str]:
    """What the command line has after `--`."""
    return sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []


def script_settings(script: str, arguments: list[str]) -> list[str]:
    """As after --set. The folder that travels is the one that the command is typed in, or the
    script's own where that lies elsewhere, or where the former is no project."""
    given = [f"args={json.dumps(arguments)}"] if arguments else []
    if not script:
        return given
    path, here = Path(script).expanduser().resolve(), Path.cwd()
    if not path.is_file():
        raise BadInput(f"--script {script}: there is no such file")
    from playrunner.training.project_folder import is_project

    folder = here if path.is_relative_to(here) and is_project(here) else path.parent
    return [
        f"script={json.dumps(str(path.relative_to(folder)))}",
        f"code={json.dumps(str(folder))}",
        *given,
    ]


def more_arguments(name: str, arguments: list[str]) -> list[str]:
    """The arguments that a run has, and these, where it has not had them yet."""
    if not arguments:
        return []
    from playrunner.training.request import profile_of
    from playrunner.training.runs.record import Record

    job = Record(name).job() if name else {}
    if not job.get("script"):
        raise BadInput("what follows -- is for a script's run that --name names")
    before = list(profile_of(str(job["profile"]), job.get("overrides", ())).args)
    added = [] if before[-len(arguments) :] == arguments else arguments
    return [f"args={json.dumps([*before, *added])}"]


def whole_path(profile: str) -> str:
    """A profile's file by a path that holds in every folder; a name stays as it is."""
    path = Path(profile).expanduser()
    return str(path.resolve()) if path.suffix in (".yaml", ".yml") and path.is_file() else profile
