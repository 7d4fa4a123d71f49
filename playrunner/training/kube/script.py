"""A script of the user's own on a cluster: its folder is copied to the claim, where all pods of the
run see it as their working folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from playrunner.errors import StepFailed
from playrunner.options import Options
from playrunner.project import program
from playrunner.ssh.connection import Channel
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.one_off.job_pod import OneOffJob
from playrunner.training.kube.one_off.send_folder import send_folder
from playrunner.training.kube.session import ClusterSession, ClusterSettings
from playrunner.training.request import LaunchRefused
from playrunner.training.script_code import ScriptCode, script_code
from trainer.config import Profile

_MOST_NAME = 40
_PIECE = 1 << 18


class CodeFiles:
    """A script's files for the program in the pod: their list, and the contents it asks for."""

    def __init__(self, code: ScriptCode) -> None:
        self._code = code
        self._digests = {digest for _, digest, _ in code.files}

    def answer(self, request: dict[str, Any], channel: Channel) -> None:
        if request.get("list"):
            channel.send(json.dumps(self._code.files).encode() + b"\n")
            return
        digests = request.get("contents")
        if not isinstance(digests, list) or not self._digests.issuperset(map(str, digests)):
            raise StepFailed("code: contents were asked for that were not offered")
        data = self._code.pack({str(digest) for digest in digests}).read_bytes()
        channel.send(f"{len(data)}\n".encode())
        for start in range(0, len(data), _PIECE):
            channel.send(data[start : start + _PIECE])


def script_files(profile: Profile, settings: ClusterSettings) -> ScriptCode | None:
    """What is to be copied, looked at before anything is changed; nothing for a profile without a
    script."""
    if not profile.script:
        return None
    if not settings.claim:
        raise LaunchRefused(
            f"script {profile.script}: its folder reaches the pods through a claim: set train_claim"
            f" to a ReadWriteMany claim ({program()} efs.create, fsx.create or nfs.create make one)"
        )
    return script_code(profile.code, profile.script)


def copy_script(
    job: ClusterJob,
    code: ScriptCode,
    session: ClusterSession,
    options: Options,
    say: Callable[[str], None],
) -> None:
    """Only contents that the claim lacks travel."""
    settings = job.settings
    store = f"{settings.mount}/code/files"
    copying = OneOffJob(
        f"code-{job.name[:_MOST_NAME].rstrip('-')}",
        f"copying the script of {job.name}",
        ("-m", "trainer.staging.code", "--store", store, "--work", job.work),
        service_account=settings.service_account,
        opened=(f"{settings.mount}/runs", f"{settings.mount}/code"),
    )
    silent = replace(options, json=True)  # nothing of it is shown but what it answers
    begun = time.monotonic()
    ended, result = send_folder(copying, CodeFiles(code), session, silent, say)
    if ended:
        raise StepFailed(f"{copying.title}: {result.get('reason') or result['state']}")
    size = int(result.get("bytes") or 0) / 1e6
    say(f"code synced, {size:.1f} MB to the claim ({time.monotonic() - begun:.1f} s)")
