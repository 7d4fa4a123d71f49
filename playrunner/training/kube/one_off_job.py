"""Something done once in a pod with the claim, beside the runs: sent, followed to its end, and
taken away.

One that is under way already is followed instead of sent again; one whose follower left goes on by
itself.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trainer.node.pod_entry
from playrunner.errors import BadInput, StepFailed
from playrunner.kube.objects.compare import CLUSTER
from playrunner.lifecycle.delete import Gone, removable, remove
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from playrunner.text.documents import json_object
from playrunner.text.written import Plain
from playrunner.training.code import code_archive
from playrunner.training.kube.command import CODE, FILES, START
from playrunner.training.kube.ending import await_gone
from playrunner.training.kube.follow import Follower
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.names import ID
from playrunner.training.kube.pod import CONTAINER
from playrunner.training.kube.run_view import ClusterRun, again
from playrunner.training.kube.site import Ground, Site
from playrunner.training.screen.screen import LiveLine

RESULT = "result "  # how the line with the outcome begins
GONE_SECONDS = 120.0
_FAILED = 2


@dataclass(frozen=True)
class Errand:
    id: str  # the same for the same errand, so that it is found again
    title: str
    words: tuple[str, ...]  # what Python is to run
    environment: Mapping[str, str] = field(default_factory=dict)
    service_account: str = ""
    role_arn: str = ""  # which the service account is to have


class Hearing:
    """What the pod says goes to the terminal; the line with the outcome is kept."""

    def __init__(self, line: LiveLine) -> None:
        self.live, self.result, self.last = line, dict[str, Any](), ""

    def begins(self, pod: str, anew: bool) -> None: ...

    def line(self, pod: str, text: str) -> None:
        if text.startswith(RESULT):
            self.result = json_object(text.removeprefix(RESULT)) or {}
            return
        self.last = text
        self.live.say(text)

    def say(self, text: str) -> None:
        self.live.say(text)

    def idle(self, pods: list[dict[str, Any]]) -> None: ...


def send(errand: Errand, site: Site, options: Options) -> tuple[int, dict[str, Any]]:
    """The exit code, and what the pod told in the end."""
    if not site.ground.image:
        raise BadInput("train_image is not set: give the image that trains in the inventory")
    line = LiveLine(0, quiet=options.json)
    run = _as_run(errand, site.ground)
    there = again(site.kube, run)
    if there.job and there.state in ("finished", "failed") and not options.check:
        take_away(errand, site, options)
        there = again(site.kube, run)
    if there.job and not options.check:
        line.say(
            f"{errand.title} is under way already as job {run.namespace}/{run.run_id}; it is"
            " followed"
        )
    else:
        code = _submit(errand, site, options)
        if code or options.check:
            return code, {"state": "failed" if code else "checked"}
    return _followed(errand, run, site, line, options)


def _followed(
    errand: Errand, run: ClusterRun, site: Site, line: LiveLine, options: Options
) -> tuple[int, dict[str, Any]]:
    hearing = Hearing(line)
    try:
        status = Follower(site.kube, run, hearing).follow()
    except KeyboardInterrupt:
        line.say(
            f"{errand.title} goes on by itself as job {run.namespace}/{run.run_id}; the same"
            " command follows it again"
        )
        raise
    finally:
        line.end()
    why = "" if status.state == "finished" else hearing.last or _why(site, run, status)
    take_away(errand, site, options)
    told = {"state": status.state, **({"reason": why} if why else {}), **hearing.result}
    return 0 if status.state == "finished" else _FAILED, told


def tell(told: dict[str, Any], code: int, title: str, options: Options, done: str) -> int:
    """One line in the end, or the same as JSON."""
    if options.json:
        print_json(told)
    elif code:
        raise StepFailed(f"{title}: {told.get('reason') or told['state']}")
    elif told["state"] == "finished":
        print(done)
    return code


def take_away(errand: Errand, site: Site, options: Options) -> None:
    """Its objects go, and with them a service account that it brought."""
    survey, gone = Survey(), list[Gone]()

    def go(shared: Any) -> int:
        gone.extend(remove(survey, removable(survey, with_kept=True), lambda one: None))
        return 0

    settings = replace(options, extra_vars=(), limit="", json=False, quiet=True, check=False)
    run_plays(
        [role_play("training", "localhost", "errand")],
        settings,
        f"{errand.title}: taken away",
        inventory=site.inventory,
        extra={"errand": Plain(variables(errand, site))},
        survey=survey,
        then=go,
    )
    failed = [f"{one.piece.title}: {one.reason}" for one in gone if one.status == "failed"]
    if failed:
        raise StepFailed(f"{errand.title}: its job is not gone: {'; '.join(failed)}")
    await_gone(site, _as_run(errand, site.ground), GONE_SECONDS)


def variables(errand: Errand, site: Site) -> dict[str, Any]:
    """Everything the template reads."""
    name, archive = code_archive()
    packed = site.ground.code == "configmap"
    labels = {
        "app.kubernetes.io/name": errand.id,
        "app.kubernetes.io/managed-by": "playrunner",
        ID: errand.id,
        CLUSTER: str(site.scope.lookup("cluster_name")),
    }
    return {
        "id": errand.id,
        "namespace": site.ground.namespace,
        "labels": labels,
        "service_account": errand.service_account,
        "role_arn": errand.role_arn,
        "code_hash": name if packed else site.ground.image,
        "texts": {START: Path(trainer.node.pod_entry.__file__).read_text()},
        "binaries": {CODE: base64.b64encode(archive.read_bytes()).decode()} if packed else {},
        "pod": {
            "metadata": {"labels": labels, "annotations": {"sidecar.istio.io/inject": "false"}},
            "spec": _pod(errand, site.ground),
        },
    }


def _pod(errand: Errand, ground: Ground) -> dict[str, Any]:
    environment = {
        **errand.environment,
        **({"TRAINER_CODE": f"{FILES}/{CODE}"} if ground.code == "configmap" else {}),
    }
    container = {
        "name": CONTAINER,
        "image": ground.image,
        "imagePullPolicy": ground.pull_policy,
        "command": [ground.python, "-u", f"{FILES}/{START}"],
        "args": ["--alone", *errand.words],
        "env": [{"name": name, "value": value} for name, value in sorted(environment.items())],
        "volumeMounts": [
            {"name": "files", "mountPath": FILES, "readOnly": True},
            {"name": "data", "mountPath": ground.mount},
        ],
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
        "serviceAccountName": errand.service_account or ground.service_account,
        "nodeSelector": ground.node_selector,
        # It needs no device, so it may stand on any node that has one.
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [
            {"name": "files", "configMap": {"name": errand.id}},
            {"name": "data", "persistentVolumeClaim": {"claimName": ground.claim}},
        ],
    }
    return {name: value for name, value in spec.items() if value not in ("", {}, [])}


def _submit(errand: Errand, site: Site, options: Options) -> int:
    settings = replace(options, extra_vars=(), limit="", json=False, quiet=options.json)
    return run_plays(
        [role_play("training", "localhost", "errand")],
        settings,
        errand.title,
        inventory=site.inventory,
        extra={"errand": Plain(variables(errand, site))},
    )


def _as_run(errand: Errand, ground: Ground) -> ClusterRun:
    summary = {
        "name": errand.id,
        "run_id": errand.id,
        "namespace": ground.namespace,
        "launcher": "job",
    }
    return ClusterRun(summary, Status("pending"))


def _why(site: Site, run: ClusterRun, status: Status) -> str:
    from playrunner.kube.watch import reasons

    told = [text for pod in again(site.kube, run).pods for text in reasons.pod(pod)]
    return "; ".join([*filter(None, [status.reason]), *told][:2]) or status.phase
