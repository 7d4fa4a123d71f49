"""Following a run on a cluster: its job, its pods and their logs, as they change, until the job has
ended or is gone."""

from __future__ import annotations

import queue
import time
from typing import Any, Protocol

from playrunner.kube.client.client import Kube
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch import reasons
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.watch import Collection, News, Objects, key_of
from playrunner.training.kube.job_spec.names import ID
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.runs.bad_nodes import BadNodes
from playrunner.training.kube.runs.give_up import GiveUpPolicy
from playrunner.training.kube.runs.log_tails import Tails
from playrunner.training.kube.runs.rank0 import rank_of
from playrunner.training.kube.runs.run_view import ClusterRun, resource_of
from playrunner.training.runs.notices import Notices
from playrunner.training.runs.record import Record, parse_metrics
from playrunner.training.screen.screen import LiveLine

METRICS = "metrics {"  # how the trainer's lines of metrics begin in a log
LAST_WORDS_SECONDS = 20.0  # for logs to come to their end once the job has
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 15.0  # before it is said why a pod does not come

Events = list[tuple[Collection, dict[str, Any], bool]]


class RunListener(Protocol):
    """What happens in a run, as it is followed."""

    def begins(self, pod: str, first: bool) -> None: ...
    def line(self, pod: str, text: str) -> None: ...
    def say(self, text: str) -> None: ...
    def idle(self, pods: list[dict[str, Any]]) -> None: ...


class RecordingListener:
    """Everything is kept in the run's record, and the newest metrics are on the terminal."""

    def __init__(self, record: Record, line: LiveLine) -> None:
        self.record, self.live, self.trains, self._said = record, line, False, ""
        self._begun = time.monotonic()
        self._notices = Notices()

    def begins(self, pod: str, first: bool) -> None:
        if first:
            self.record.begin_log(pod)

    def line(self, pod: str, text: str) -> None:
        self.record.write_log(pod, text + "\n")
        for notice in self._notices.of(pod, text):
            self.live.say(notice)
        record = metrics_in(text)
        if record:
            self.trains = True
            self.record.write_metrics(record + "\n")
            for metrics in parse_metrics(record):
                self.live.metrics(metrics)

    def say(self, text: str) -> None:
        self.live.say(text)

    def idle(self, pods: list[dict[str, Any]]) -> None:
        if self.trains:
            return
        phases = [str((pod.get("status") or {}).get("phase") or "Pending") for pod in pods]
        counts = (
            ", ".join(f"{phases.count(phase)} {phase}" for phase in sorted(set(phases)))
            or "no pods yet"
        )
        self.live.waiting(f"waiting for the first step: {counts}")
        held = [text for pod in pods for text in reasons.pod(pod)]
        if held and held[0] != self._said and time.monotonic() - self._begun > PATIENCE_SECONDS:
            self._said = held[0]
            self.live.say(held[0])


class Follower:
    def __init__(
        self,
        kube: Kube,
        run: ClusterRun,
        listener: RunListener,
        until_gone: bool = False,
        nodes: BadNodes | None = None,
        give_up: GiveUpPolicy | None = None,
    ) -> None:
        self.kube, self.run, self.listener, self.until_gone, self.nodes, self.give_up = (
            kube,
            run,
            listener,
            until_gone,
            nodes,
            give_up,
        )
        self.tails = Tails(kube, run.namespace)
        self.pods: Objects = {}
        self.job: dict[str, Any] | None = run.job
        self._seen: set[str] = set()
        self._given_up: Status | None = None

    def follow(self) -> Status:
        """Until the job has ended or will not get on, or with `until_gone` no pod is left; how it
        stands then."""
        resource = resource_of(self.kube, self.run.kind)
        collections = [Collection(PODS, self.run.namespace, f"{ID}={self.run.run_id}")]
        if resource:
            collections.append(
                Collection(resource, self.run.namespace, fields=f"metadata.name={self.run.run_id}")
            )
        try:
            with News(self.kube) as news:
                self._begin(news, collections)
                while not self._over():
                    for event in news.wait(LOOK_SECONDS):
                        self._take(event.collection.resource, event.thing, event.gone)
                    if not self._hear():
                        self.listener.idle(list(self.pods.values()))
                        if self.nodes:
                            self.nodes.idle()
                        self._given_up = (
                            self.give_up.judge(self.job, list(self.pods.values()))
                            if self.give_up
                            else None
                        )
            self._last_words()
        finally:
            self.tails.close()
        return self._given_up or self._status()

    def _begin(self, news: News, collections: list[Collection]) -> None:
        self.kube.refresh()
        for collection in collections:
            listing = self.kube.listing(
                collection.resource, collection.namespace, collection.selector, collection.fields
            )
            if collection.resource is not PODS:
                self.job = listing.items[0] if listing.items else None
            for item in listing.items:
                self._take(collection.resource, item, False)
            news.follow(collection, listing.version, {key_of(item) for item in listing.items})

    def _take(self, resource: Resource, thing: dict[str, Any], gone: bool) -> None:
        if resource is not PODS:
            self.job = None if gone else thing
            return
        if gone:
            self.pods.pop(key_of(thing), None)
            return
        self.pods[key_of(thing)] = thing
        if self.nodes:
            self.nodes.observe(thing)
        name = str(thing["metadata"]["name"])
        if self.tails.attend(thing):
            self.listener.begins(name, name not in self._seen)
            self._seen.add(name)

    def _hear(self) -> bool:
        """Lines that have come; whether there were any."""
        heard = False
        while True:
            try:
                pod, text = self.tails.lines.get_nowait()
            except queue.Empty:
                return heard
            heard = True
            self.listener.line(pod, text)

    def _over(self) -> bool:
        if self._given_up:
            return True
        if self.job is None:
            return not self.pods  # deleted by another process: its pods may still write
        return not self.until_gone and self._status().state in ("finished", "failed")

    def _last_words(self) -> None:
        deadline = time.monotonic() + LAST_WORDS_SECONDS
        while self.tails.busy and time.monotonic() < deadline:
            if not self._hear():
                time.sleep(0.05)
        self._hear()

    def _status(self) -> Status:
        return (
            self.run.kind.read(self.job)
            if self.job
            else Status("lost", "gone", "its job was deleted")
        )


def metrics_in(line: str) -> str:
    """The trainer's record in a line of rank 0; nothing in other lines."""
    if rank_of(line) != 0:
        return ""
    text = line.partition("] ")[2]
    if not text.startswith(METRICS):
        return ""
    text = text.removeprefix("metrics ")
    # Behind a line that it read before its end torchrun writes its prefix again.
    return text[: text.rfind("}") + 1]


def curve(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record for each step: what was done again after a restart counts as it was done last."""
    found = {int(each["step"]): each for each in records}
    return [found[step] for step in sorted(found)]
