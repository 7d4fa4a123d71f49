"""A folder of this machine sent to a claim: a pod with the claim waits, and the staging program
started in it asks for the files over the API server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from playrunner.errors import StepFailed
from playrunner.kube.client import websocket as kube_socket
from playrunner.kube.streams.exec import open_exec
from playrunner.kube.streams.pod_connection import CONNECT_SECONDS, PodChannel
from playrunner.kube.watch import reasons
from playrunner.options import Options
from playrunner.training.data.transfer import Sender, follow
from playrunner.training.kube.job_spec.command import FILES, START
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.one_off.job_pod import OneOffJob
from playrunner.training.kube.one_off.one_off_job import delete, pods_of, start
from playrunner.training.kube.session import ClusterSession

START_SECONDS = 600.0  # its image may have to be pulled
LOOK_SECONDS = 0.5
_WAIT = ("-c", "import time; time.sleep(8 * 3600)")  # one that was left behind ends by itself


def send_folder(
    job: OneOffJob,
    folder: Sender,
    session: ClusterSession,
    options: Options,
    say: Callable[[str], None],
) -> tuple[int, dict[str, Any]]:
    """`job` is what would run with an address; here its pod waits, and the same program is started
    in it with the folder at its input."""
    waiting = replace(job, words=_WAIT)
    code = start(waiting, session, options)
    if code or options.check:
        return code, {"state": "failed" if code else "checked"}
    try:
        channel = _channel(job, session, _running_pod(waiting, session))
        result, why = follow(channel, folder, say)
    finally:
        delete(waiting, session, options)
    state = "failed" if why else "finished"
    return (2 if why else 0), {"state": state, **({"reason": why} if why else {}), **result}


def _channel(job: OneOffJob, session: ClusterSession, pod: str) -> PodChannel:
    settings = session.settings
    command = [settings.python, "-u", f"{FILES}/{START}", "--alone", *job.words]
    query = urlencode(
        [
            *(("command", word) for word in command),
            *((name, "true") for name in ("stdin", "stdout", "stderr")),
            ("container", CONTAINER),
        ]
    )
    websocket = kube_socket.library(job.title)
    opened = open_exec(websocket, session.kube, settings.namespace, pod, query, CONNECT_SECONDS)
    return PodChannel(websocket, opened)


def _running_pod(job: OneOffJob, session: ClusterSession) -> str:
    deadline, why = time.monotonic() + START_SECONDS, "it has no pod"
    while time.monotonic() < deadline:
        for pod in pods_of(job, session):
            phase = (pod.get("status") or {}).get("phase")
            if phase == "Running":
                return str(pod["metadata"]["name"])
            why = "; ".join(reasons.pod(pod)) or f"its pod is {phase or 'Pending'}"
            if phase in ("Failed", "Succeeded"):
                raise StepFailed(f"{job.title}: {why}")
        session.kube.sleep(LOOK_SECONDS)
    raise StepFailed(f"{job.title}: not running after {START_SECONDS:g} s: {why}")
