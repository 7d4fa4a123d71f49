"""A job that runs once in a pod with the claim, beside the runs: submitted, followed to its end,
and deleted.

One that is already running is followed instead of submitted again; without a follower it continues
in the background.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import trainer.node.pod_entry
from playrunner.errors import BadInput, StepFailed
from playrunner.kube.objects.compare import CLUSTER
from playrunner.lifecycle.delete import Deletion, removable, remove
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from playrunner.text.documents import json_object
from playrunner.text.written import Plain
from playrunner.training.code import code_archive
from playrunner.training.kube.job_spec.command import CODE, START
from playrunner.training.kube.job_spec.names import ID
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.one_off.job_pod import OneOffJob, job_pod
from playrunner.training.kube.runs.ending import await_gone
from playrunner.training.kube.runs.follow import Follower
from playrunner.training.kube.runs.run_view import ClusterRun, again
from playrunner.training.kube.session import ClusterSession, ClusterSettings
from playrunner.training.screen.screen import LiveLine

RESULT = "result "  # how the line with the outcome begins
GONE_SECONDS = 120.0
_FAILED = 2


class OutputListener:
    """What the pod says goes to the terminal; the line with the outcome is kept."""

    def __init__(self, line: LiveLine) -> None:
        self.live, self.result, self.last = line, dict[str, Any](), ""

    def begins(self, pod: str, first: bool) -> None: ...

    def line(self, pod: str, text: str) -> None:
        if text.startswith(RESULT):
            self.result = json_object(text.removeprefix(RESULT)) or {}
            return
        self.last = text
        self.live.say(text)

    def say(self, text: str) -> None:
        self.live.say(text)

    def idle(self, pods: list[dict[str, Any]]) -> None: ...


def submit(job: OneOffJob, session: ClusterSession, options: Options) -> tuple[int, dict[str, Any]]:
    """The exit code, and what the pod told in the end."""
    if not session.settings.image:
        raise BadInput("train_image is not set: give the image that trains in the inventory")
    line = LiveLine(0, quiet=options.json)
    run = _as_run(job, session.settings)
    there = again(session.kube, run)
    if there.job and there.state in ("finished", "failed") and not options.check:
        delete(job, session, options)
        there = again(session.kube, run)
    if there.job and not options.check:
        line.say(
            f"{job.title} is already running as job {run.namespace}/{run.run_id}; it is followed"
        )
    else:
        code = start(job, session, options)
        if code or options.check:
            return code, {"state": "failed" if code else "checked"}
    return _followed(job, run, session, line, options)


def _followed(
    job: OneOffJob, run: ClusterRun, session: ClusterSession, line: LiveLine, options: Options
) -> tuple[int, dict[str, Any]]:
    listener = OutputListener(line)
    try:
        status = Follower(session.kube, run, listener).follow()
    except KeyboardInterrupt:
        line.say(
            f"{job.title} continues in the background as job {run.namespace}/{run.run_id}; the same"
            " command follows it again"
        )
        raise
    finally:
        line.end()
    why = "" if status.state == "finished" else listener.last or _why(session, run, status)
    delete(job, session, options)
    result = {"state": status.state, **({"reason": why} if why else {}), **listener.result}
    return 0 if status.state == "finished" else _FAILED, result


def tell(result: dict[str, Any], code: int, title: str, options: Options, done: str) -> int:
    """One line in the end, or the same as JSON."""
    if options.json:
        print_json(result)
    elif code:
        raise StepFailed(f"{title}: {result.get('reason') or result['state']}")
    elif result["state"] == "finished":
        print(done)
    return code


def delete(job: OneOffJob, session: ClusterSession, options: Options) -> None:
    """Its objects go, and with them a service account that it brought."""
    survey, gone = Survey(), list[Deletion]()

    def go(shared: Any) -> int:
        gone.extend(remove(survey, removable(survey, with_kept=True), lambda resource: None))
        return 0

    settings = replace(options, extra_vars=(), limit="", json=False, quiet=True, check=False)
    run_plays(
        [role_play("training", "localhost", "one_off_job")],
        settings,
        f"{job.title}: deleted",
        inventory=session.inventory,
        extra={"one_off_job": Plain(variables(job, session))},
        survey=survey,
        then=go,
    )
    failed = [
        f"{resource.resource.title}: {resource.reason}"
        for resource in gone
        if resource.status == "failed"
    ]
    if failed:
        raise StepFailed(f"{job.title}: its job is not deleted: {'; '.join(failed)}")
    await_gone(session, _as_run(job, session.settings), GONE_SECONDS)


def variables(job: OneOffJob, session: ClusterSession) -> dict[str, Any]:
    """Everything the template reads."""
    name, archive = code_archive()
    packed = session.settings.code == "configmap"
    labels = {
        "app.kubernetes.io/name": job.id,
        "app.kubernetes.io/managed-by": "playrunner",
        ID: job.id,
        CLUSTER: str(session.scope.lookup("cluster_name")),
    }
    return {
        "id": job.id,
        "namespace": session.settings.namespace,
        "labels": labels,
        "service_account": job.service_account,
        "role_arn": job.role_arn,
        "secrets": dict(job.secrets),
        "code_hash": name if packed else session.settings.image,
        "texts": {START: Path(trainer.node.pod_entry.__file__).read_text()},
        "binaries": {CODE: base64.b64encode(archive.read_bytes()).decode()} if packed else {},
        "pod": {
            "metadata": {"labels": labels, "annotations": {"sidecar.istio.io/inject": "false"}},
            "spec": job_pod(job, session.kube, session.settings),
        },
    }


def pods_of(job: OneOffJob, session: ClusterSession) -> list[dict[str, Any]]:
    return list(again(session.kube, _as_run(job, session.settings)).pods)


def start(job: OneOffJob, session: ClusterSession, options: Options) -> int:
    settings = replace(options, extra_vars=(), limit="", json=False, quiet=options.json)
    return run_plays(
        [role_play("training", "localhost", "one_off_job")],
        settings,
        job.title,
        inventory=session.inventory,
        extra={"one_off_job": Plain(variables(job, session))},
    )


def _as_run(job: OneOffJob, settings: ClusterSettings) -> ClusterRun:
    summary = {
        "name": job.id,
        "run_id": job.id,
        "namespace": settings.namespace,
        "launcher": "job",
    }
    return ClusterRun(summary, Status("pending"))


def _why(session: ClusterSession, run: ClusterRun, status: Status) -> str:
    from playrunner.kube.watch import reasons

    pod_reasons = [text for pod in again(session.kube, run).pods for text in reasons.pod(pod)]
    return "; ".join([*filter(None, [status.reason]), *pod_reasons][:2]) or status.phase
