"""Why pods do not come: the gang, quotas, devices, taints, the autoscaler, volumes, images, or an
operator that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from playrunner.kube.watch import reasons
from playrunner.project import program
from playrunner.training.diagnosis.evidence import Cause
from playrunner.training.kube.diagnosis.facts import Facts
from playrunner.training.kube.queueing import QUEUED, queue_of
from playrunner.training.kube.runs.give_up import not_watched

SLOW_OPERATOR_SECONDS = 20.0
_REFUSED = ("is forbidden:", "exceeded quota", "denied the request", "denied request")
_RULES = (
    ("quota", "the namespace's quota"),
    ("violates PodSecurity", "the namespace's Pod Security standard"),
    (" usage per ", "the namespace's limit range"),
    ("ValidatingAdmissionPolicy", "an admission policy"),
    ("webhook", "an admission webhook"),
    ("serviceaccount", "the service account"),
)
_GROWN, _NOT_GROWN = (
    ("TriggeredScaleUp", "ScaledUpGroup"),
    ("NotTriggerScaleUp", "ScaleUpFailed", "FailedToScaleUpGroup"),
)


def waits(facts: Facts) -> Iterator[Cause]:
    refused = list(_refused_pods(facts))
    yield from refused
    yield from _queued(facts)
    if not refused:
        yield from _no_operator(facts)
        yield from _gang(facts)
    yield from _volume(facts)
    yield from _autoscaler(facts)
    yield from _scheduling(facts)
    yield from _held_up(facts)


def _no_operator(facts: Facts) -> Iterator[Cause]:
    """A job without a controller has neither status nor pods, or does not report that its pods
    have ended."""
    job = facts.run.job
    if job is None or facts.age < SLOW_OPERATOR_SECONDS:
        return
    namespace, role = facts.run.kind.controller
    command = f"kubectl get pods -n {namespace}" + (f"; {program()} {role}.check" if role else "")
    if not job.get("status") and not facts.run.pods:
        what = f"{facts.run.kind.resource[1]} {facts.run.run_id}"
        yield Cause(
            92,
            f"no controller has updated {what} since it was submitted: its operator does not run",
            (f"{facts.age:.0f} s old, no status, no pods",),
            command,
        )
    elif facts.run.pods and (seen := not_watched(facts.run, job, facts.run.pods)):
        yield Cause(92, seen.reason, (f"the job says {facts.run.status.phase}",), command)


def _queued(facts: Facts) -> Iterator[Cause]:
    """Kueue holds the whole run back until its queue has room for all pods."""
    if facts.run.status.phase != QUEUED:
        return
    queue, namespace = queue_of(facts.run.job), facts.run.namespace
    conditions = ((facts.workload or {}).get("status") or {}).get("conditions") or ()
    messages = [
        f"{each.get('type')} {each.get('status')}: {' '.join(str(each['message']).split())}"
        for each in conditions
        if each.get("message")
    ]
    missing = () if facts.workload else ("Kueue has made no Workload of it yet",)
    name = facts.workload["metadata"]["name"] if facts.workload else ""
    yield Cause(
        94,
        f"it waits in the queue {queue} of Kueue: all {facts.run.replicas} pods or none",
        (*missing, *messages[-2:]),
        f"kubectl describe workload {name} -n {namespace}".replace("  ", " ")
        + f"; kubectl describe localqueue {queue} -n {namespace}",
    )


def _gang(facts: Facts) -> Iterator[Cause]:
    """A gang waits as a whole: without pods the autoscaler sees nothing to scale for."""
    group = facts.pod_group
    if group is None:
        return
    status, spec = group.get("status") or {}, group.get("spec") or {}
    phase = str(status.get("phase") or "Pending")
    if phase not in ("Pending", "Inqueue") or facts.run.state != "pending":
        return
    messages = [
        " ".join(str(one.get("message") or one.get("reason") or "").split())
        for one in status.get("conditions") or ()
        if one.get("type") == "Unschedulable" and str(one.get("status")) == "True"
    ]
    queue, least = spec.get("queue", "default"), spec.get("minMember", "?")
    lines = [
        (
            f"PodGroup {group['metadata']['name']} is {phase}: all {least} pods or none, in queue"
            f" {queue}"
        ),
        *messages[-1:],
    ]
    if any("queue" in line.lower() or "overused" in line.lower() for line in messages) or (
        phase == "Pending" and not messages
    ):
        title = (
            f"the queue {queue} has no room for the gang of {least}; its pods are not made, and no"
            " autoscaler sees them"
        )
        yield Cause(
            91,
            title,
            tuple(lines),
            f"kubectl get queue {queue} -o yaml (its capability); {program()} volcano.create sizes"
            " it"
            " from the nodes",
        )
    else:
        fit = sum(offer.usable for offer in facts.offers)
        yield Cause(
            90,
            f"the gang of {least} does not fit the nodes as they are now",
            tuple(lines),
            f"kubectl describe nodes ({fit} can be used); add nodes, or {facts.resume} --nodes N"
            " after train.stop",
        )


def _refused_pods(facts: Facts) -> Iterator[Cause]:
    """A rule of the namespace or the cluster that its pods break, in the rule's own words."""
    messages = [
        " ".join(str(event.get("message")).split())
        for event in facts.events
        if any(words in str(event.get("message")) for words in _REFUSED)
    ]
    if not messages or facts.run.pods:
        return
    rule = next((what for words, what in _RULES if words in messages[-1]), "a rule of the cluster")
    see = "resourcequota" if "quota" in rule else "limitrange" if "range" in rule else "namespace"
    name = facts.run.namespace if see == "namespace" else f"-n {facts.run.namespace}"
    yield Cause(
        98,
        f"{rule} does not let its pods be made",
        (messages[-1],),
        f"kubectl describe {see} {name}; a new launch tries it beforehand: {facts.resume}",
    )


def _volume(facts: Facts) -> Iterator[Cause]:
    name, namespace = str(facts.run.summary.get("claim") or ""), facts.run.namespace
    if not name or facts.run.state != "pending":
        return
    see = f"kubectl describe pvc {name} -n {namespace}"
    if facts.claim is None:
        yield Cause(
            95,
            f"its claim {name} is gone",
            (),
            f"kubectl get pvc -n {namespace}; {program()} efs.create or fsx.create",
        )
        return
    phase = str((facts.claim.get("status") or {}).get("phase") or "Pending")
    failed = [
        " ".join(str(event.get("message")).split())
        for event in facts.claim_events
        if event.get("reason") in ("ProvisioningFailed", "FailedBinding")
    ]
    if phase != "Bound" and (failed or facts.run.pods):
        yield Cause(93, f"its claim {name} is {phase}, not Bound", tuple(failed[-2:]), see)
    mounts = [
        event
        for event in facts.events
        if event.get("reason") in ("FailedMount", "FailedAttachVolume")
    ]
    if mounts:
        said = " ".join(str(mounts[-1].get("message")).split())
        yield Cause(
            88,
            "a volume is not mounted",
            (said,),
            f"{see}; is the CSI driver on that node? kubectl get daemonsets -n kube-system",
        )


def _autoscaler(facts: Facts) -> Iterator[Cause]:
    grown = [event for event in facts.events if event.get("reason") in _GROWN]
    refused = [event for event in facts.events if event.get("reason") in _NOT_GROWN]
    if grown and any(facts.phase(pod) == "Pending" for pod in facts.run.pods):
        yield Cause(
            80,
            "the autoscaler is adding nodes: a few minutes",
            (str(grown[-1].get("message")),),
            "kubectl get nodes -w",
        )
    elif refused and any(facts.phase(pod) == "Pending" for pod in facts.run.pods):
        yield Cause(
            86,
            "the autoscaler adds no node for it",
            (" ".join(str(refused[-1].get("message")).split()),),
            "the node group's largest size, its zone: eks_nodegroups in the inventory; then"
            f" {program()}"
            " eks.create",
        )


def _scheduling(facts: Facts) -> Iterator[Cause]:
    for pod in facts.run.pods:
        conditions = (pod.get("status") or {}).get("conditions") or ()
        held = next(
            (
                one
                for one in conditions
                if one.get("type") == "PodScheduled" and one.get("status") == "False"
            ),
            None,
        )
        message = str((held or {}).get("message") or "")
        name = str(pod["metadata"]["name"])
        if not message and facts.phase(pod) == "Pending":
            events = [
                event
                for event in facts.events_about(name)
                if event.get("reason") == "FailedScheduling"
            ]
            message = str(events[-1].get("message")) if events else ""
        for text in reasons.scheduling(message) if message else ():
            title, _, command = text.rpartition(": ")
            yield Cause(89, title or text, (f"{name}: {' '.join(message.split())}",), command)


def _held_up(facts: Facts) -> Iterator[Cause]:
    """A container that cannot begin: its image, or what it reads."""
    for pod in facts.run.pods:
        if facts.phase(pod) == "Pending":
            for text in reasons.pod(pod):
                if "is not scheduled" not in text and "nodes" not in text:
                    yield Cause(
                        87,
                        text,
                        (),
                        f"kubectl describe pod -n {facts.run.namespace} {pod['metadata']['name']}",
                    )
