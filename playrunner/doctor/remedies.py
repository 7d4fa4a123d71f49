"""What `--fix` does by itself: folders, modes of files, and packages in the project's own
environment."""

from __future__ import annotations

import shlex
import subprocess
import sys

from playrunner.doctor.finding import Finding, Remedy
from playrunner.doctor.packages import source
from playrunner.errors import StepFailed


def mend(finding: Finding) -> None:
    """Do what its fix says; StepFailed when that did not work."""
    assert finding.remedy
    try:
        _apply(finding.remedy)
    except OSError as error:
        raise StepFailed(
            f"{finding.what} could not be mended: {error.strerror}: {finding.remedy.path}"
        ) from None


def _apply(remedy: Remedy) -> None:
    if remedy.kind == "folder":
        remedy.path.mkdir(mode=remedy.mode, parents=True, exist_ok=True)
    elif remedy.kind == "mode":
        remedy.path.chmod(remedy.mode)
    else:
        command = [sys.executable, "-m", "pip", "install", "-q", *shlex.split(source(remedy.extra))]
        ran = subprocess.run(command, check=False, capture_output=True, text=True)
        if ran.returncode:
            last = (ran.stderr.strip() or "it said nothing").splitlines()[-1]
            raise StepFailed(f"{shlex.join(command)} ended with code {ran.returncode}: {last}")
