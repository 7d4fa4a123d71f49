"""All that is known of a run on a cluster at one moment."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import EVENTS
from playrunner.project import program
from playrunner.training.diagnosis.blame import End, Finding
from playrunner.training.kube.job_spec.gangs import is_gang
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity, look
from playrunner.training.kube.plan import CLAIMS
from playrunner.training.kube.queueing import workload_of
from playrunner.training.kube.runs.bad_nodes import conditions_of, ends_of, with_lines
from playrunner.training.kube.runs.pod_output import logs_of, metrics_of
from playrunner.training.kube.runs.run_view import ClusterRun, events_of
from playrunner.training.kube.session import ClusterSession

POD_GROUPS = Resource("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", True)

Thing = Mapping[str, Any]


@frozen
class Facts:
    run: ClusterRun
    now: float
    events: Sequence[Thing] = ()
    logs: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by pod
    metrics: Sequence[Mapping[str, Any]] = ()
    claim: Thing | None = None
    claim_events: Sequence[Thing] = ()
    pod_group: Thing | None = None
    offers: Sequence[NodeCapacity] = ()
    ends: Sequence[End] = ()  # of its containers, with their last lines
    conditions: Mapping[str, Finding] = field(default_factory=dict)  # what ails its nodes
    workload: Thing | None = None  # what Kueue says of it

    @property
    def age(self) -> float:
        return self.now - float(self.run.summary.get("created", self.now))

    @property
    def resume(self) -> str:
        return f"{program()} train.resume --name {self.run.name}"

    @property
    def see_logs(self) -> str:
        return f"{program()} train.logs --name {self.run.name}"

    def phase(self, pod: Thing) -> str:
        return str((pod.get("status") or {}).get("phase") or "Pending")

    def events_about(self, name: str) -> list[Thing]:
        return [
            event
            for event in self.events
            if (event.get("involvedObject") or {}).get("name") == name
        ]


def gather(session: ClusterSession, run: ClusterRun) -> Facts:
    logs = logs_of(session.kube, run)
    claim, group = str(run.summary.get("claim") or ""), None
    if is_gang(run.kind, run.job):
        groups = if_allowed(lambda: session.kube.listing(POD_GROUPS, run.namespace).items, [])
        group = next(
            (one for one in groups if str(one["metadata"]["name"]).startswith(run.run_id)), None
        )
    claim_events = (
        if_allowed(
            lambda: (
                session.kube.listing(
                    EVENTS, run.namespace, fields=f"involvedObject.name={claim}"
                ).items
            ),
            [],
        )
        if claim
        else []
    )
    return Facts(
        run,
        time.time(),
        events_of(session.kube, run),
        logs,
        metrics_of(session.kube, run, logs),
        session.kube.get(CLAIMS, run.namespace, claim) if claim else None,
        claim_events,
        group,
        look(session.kube, namespace=run.namespace),
        [
            with_lines(session.kube, run.namespace, pod, end)
            for pod in run.pods
            for end in ends_of(pod)
        ],
        conditions_of(
            session.kube,
            {str((pod.get("spec") or {}).get("nodeName") or "") for pod in run.pods} - {""},
        ),
        workload_of(session.kube, run.namespace, run.job),
    )


def moment(text: Any) -> float:
    """A time of the API as seconds; 0 where there is none."""
    try:
        return float(calendar.timegm(time.strptime(str(text)[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return 0.0
