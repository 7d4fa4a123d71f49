"""Applies what `--fix` may fix: folders, file modes, packages in the project's own environment."""

from __future__ import annotations

import shlex
import subprocess
import sys

from playrunner.doctor.finding import Finding, Remedy
from playrunner.errors import StepFailed
from playrunner.project import install_extra


def apply_fix(finding: Finding) -> None:
    """Apply the finding's fix; StepFailed when it does not work."""
    assert finding.remedy
    try:
        _apply(finding.remedy)
    except OSError as error:
        raise StepFailed(
            f"{finding.what} could not be fixed: {error.strerror}: {finding.remedy.path}"
        ) from None


def _apply(remedy: Remedy) -> None:
    if remedy.kind == "folder":
        remedy.path.mkdir(mode=remedy.mode, parents=True, exist_ok=True)
    elif remedy.kind == "mode":
        remedy.path.chmod(remedy.mode)
    else:
        command = [sys.executable, "-m", *shlex.split(install_extra(remedy.extra)), "-q"]
        ran = subprocess.run(command, check=False, capture_output=True, text=True)
        if ran.returncode:
            last = (ran.stderr.strip() or "no error output").splitlines()[-1]
            raise StepFailed(
                f"{shlex.join(command)} failed with exit code {ran.returncode}: {last}"
            )
