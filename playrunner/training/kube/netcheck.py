"""train.netcheck: from inside the job's pods, in order: names, the port at which they meet, and the
address rank 0 was given."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.streams.exec import run_in_pod
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.text.documents import json_object
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.network import connectivity
from playrunner.training.kube.runs.pod_output import first_pod, logs_of
from playrunner.training.kube.runs.rank0 import newest_rendezvous
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import ClusterSession, open_session

POLICIES = Resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", True)
SECONDS = 10  # names come late, and the port listens only once the first pod has begun
UNHEALTHY = 6
_NO_NAME = "kubectl get endpoints; kubectl get pods -n kube-system -l k8s-app=kube-dns"


@frozen
class Check:
    """One thing asked in one pod."""

    pod: str
    what: str
    ok: bool
    said: str
    next_command: str = ""


def netcheck(options: Options, name: str) -> int:
    session = open_session(options)
    run = the_run(session, name)
    running = [pod for pod in run.pods if (pod.get("status") or {}).get("phase") == "Running"]
    if not running:
        raise BadInput(
            f"{run.name} has no pod that runs, so its network cannot be asked from inside:"
            f" {program()}"
            f" train.why --name {run.name}"
        )
    targets = _targets(session, run)
    checks = [
        check
        for checks in session.kube.together(lambda pod: _ask(session, run, pod, targets), running)
        for check in checks
    ]
    notes = policies(session, run)
    if options.json:
        print_json(
            {"name": run.name, "checks": [asdict(check) for check in checks], "policies": notes}
        )
    else:
        _tell(checks, notes)
    return 0 if all(check.ok for check in checks) else UNHEALTHY


def policies(session: ClusterSession, run: ClusterRun) -> list[str]:
    """Who else may speak to the pods: a debug pod that is kept out proves nothing about the job."""
    notes = []
    for policy in session.kube.listing(POLICIES, run.namespace).items:
        chosen = ((policy.get("spec") or {}).get("podSelector") or {}).get("matchLabels") or {}
        labels = (run.pods[0]["metadata"].get("labels") or {}) if run.pods else {}
        if any(labels.get(key) != value for key, value in chosen.items()):
            continue
        own = any(
            chosen.items() <= (((peer.get("podSelector") or {}).get("matchLabels")) or {}).items()
            and chosen
            for rule in (policy.get("spec") or {}).get("ingress") or ()
            for peer in rule.get("from") or ()
        )
        who = "only pods of the same job" if own else "only those it names"
        notes.append(
            f"NetworkPolicy {policy['metadata']['name']} admits {who}: a debug pod cannot reach the"
            " port, which is no fault; these checks were made inside"
        )
    return notes


def _targets(session: ClusterSession, run: ClusterRun) -> list[str]:
    """The meeting point by its short and its full name, then the address that rank 0's agent gave,
    once they have met."""
    words = [
        word
        for one in run.pods[0]["spec"]["containers"]
        if one["name"] == CONTAINER
        for word in one.get("args") or ()
    ]
    endpoints = [word.partition("=")[2] for word in words if word.startswith("--rdzv_endpoint=")]
    point = endpoints[-1] if endpoints else f"{run.run_id}-worker-0:{run.summary['port']}"
    host, _, port = point.rpartition(":")
    full = f"{host}.{run.namespace}.svc.cluster.local:{port}" if "svc" not in host else point
    logs = logs_of(session.kube, run)
    meeting = newest_rendezvous(logs.get(first_pod(session.kube, run, logs), ()))
    return [
        point,
        full,
        *(
            [f"{meeting.master}:{meeting.port}"]
            if meeting and meeting.master and meeting.port
            else []
        ),
    ]


def _ask(
    session: ClusterSession, run: ClusterRun, pod: dict[str, Any], targets: list[str]
) -> list[Check]:
    name = str(pod["metadata"]["name"])
    words = [
        str(run.summary.get("python") or "python3"),
        "-c",
        Path(connectivity.__file__).read_text(),
        str(SECONDS),
        *targets,
    ]
    try:
        ran = run_in_pod(
            session.kube, run.namespace, name, CONTAINER, words, seconds=SECONDS * 4 + 30
        )
    except (Failed, KubeError, PlayrunnerError) as error:
        return [
            Check(
                name, "exec", False, str(error), f"kubectl describe pod -n {run.namespace} {name}"
            )
        ]
    answers = [
        found for line in ran.out.splitlines() if (found := json_object(line)) and "target" in found
    ]
    if not answers:
        return [
            Check(
                name,
                "exec",
                False,
                (ran.err or ran.out).strip()[-300:] or f"exit code {ran.rc}",
                "",
            )
        ]
    return [
        check for each in answers for check in _checks(name, each, each["target"] in targets[2:])
    ]


def _checks(pod: str, answer: dict[str, Any], is_master: bool) -> list[Check]:
    host = answer["target"].rpartition(":")[0]
    checks = []
    if not is_master:
        checks.append(
            Check(
                pod,
                f"name {host}",
                bool(answer["addresses"]),
                ", ".join(answer["addresses"]) or answer["unknown"],
                "" if answer["addresses"] else _NO_NAME,
            )
        )
    what = f"rank 0 at {answer['target']}" if is_master else f"connect {answer['target']}"
    silent = answer["silent"]
    hint = (
        f"it listens once the first pod has begun: {program()} train.logs --all; then security"
        " groups and"
        " network policies"
    )
    checks.append(
        Check(
            pod,
            what,
            not silent,
            silent or f"{1000 * answer['seconds']:.1f} ms",
            hint if silent else "",
        )
    )
    return checks


def _tell(checks: list[Check], notes: list[str]) -> None:
    width = max(len(check.pod) for check in checks)
    wide = max(len(check.what) for check in checks)
    for check in checks:
        print(
            f"{check.pod:<{width}}  {'ok    ' if check.ok else 'FAILED'}  {check.what:<{wide}} "
            f" {check.said}"
        )
        if check.next_command:
            print(f"{'':<{width}}  next: {check.next_command}")
    for note in notes:
        print(note)
