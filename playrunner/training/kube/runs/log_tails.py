"""Logs of pods as they grow: taken up again where they broke off, line by line, each line once."""

from __future__ import annotations

import queue
import threading
from dataclasses import field
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.frozen import mutable
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.transport import NoAnswer, NotReached, Stream
from playrunner.kube.watch.explain import PODS
from playrunner.training.kube.job_spec.pod import CONTAINER

SILENCE_SECONDS = 600.0  # a trainer may compile for minutes without a word
AGAIN_SECONDS = 0.5

Line = tuple[str, str]  # pod and text
Instance = tuple[str, str, int]  # pod, its uid, and which run of its container


@mutable
class Tails:
    """Every pod's log, followed by a thread of its own; all lines come out of one queue."""

    kube: Kube
    namespace: str
    lines: queue.SimpleQueue[Line] = field(default_factory=queue.SimpleQueue)
    over: threading.Event = field(default_factory=threading.Event)
    _threads: dict[Instance, threading.Thread] = field(default_factory=dict)
    _streams: dict[Instance, Stream] = field(default_factory=dict)

    def attend(self, pod: dict[str, Any]) -> bool:
        """Follow this pod's container if it has begun and is not followed yet; whether it was
        new."""
        instance = instance_of(pod)
        if instance is None or instance in self._threads:
            return False
        thread = threading.Thread(
            target=self._follow, args=(instance,), name=f"log {instance[0]}", daemon=True
        )
        self._threads[instance] = thread
        thread.start()
        return True

    @property
    def busy(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values()) or not self.lines.empty()

    def close(self) -> None:
        self.over.set()
        for stream in list(self._streams.values()):
            stream.close()

    def _follow(self, instance: Instance) -> None:
        place = _Place()
        while not self.over.is_set():
            # Asked first: only what is read after a container's end is read to the end, whatever
            # broke off before.
            stage = self._stage(instance)
            if stage == "gone":
                return
            try:
                stream = self.kube.cluster.transport.stream(
                    f"{PODS.path(self.namespace, instance[0])}/log",
                    {
                        "container": CONTAINER,
                        "follow": "true",
                        "timestamps": "true",
                        "sinceTime": place.since,
                    },
                    SILENCE_SECONDS,
                )
            except (NotReached, NoAnswer, HostUnreachable):
                self.over.wait(AGAIN_SECONDS)
                continue
            self._streams[instance] = stream
            if stream.status == 200:
                place.again()
                for raw in stream.lines():
                    text = place.new(raw.decode(errors="replace"))
                    if text is not None:
                        self.lines.put((instance[0], text))
                if stage == "ended":
                    return
            else:
                stream.close()
            self.over.wait(AGAIN_SECONDS)

    def _stage(self, instance: Instance) -> str:
        """Whether this run of the container goes on, has ended, or is gone: with its pod, or
        because another took its place."""
        fresh = Kube(self.kube.cluster)
        fresh.refresh()
        try:
            pod = fresh.get(PODS, self.namespace, instance[0])
        except (KubeError, HostUnreachable):
            return "unknown"
        if pod is None or instance_of(pod) != instance:
            return "gone"
        return "running" if "running" in _state(pod) else "ended"


@mutable
class _Place:
    """How far a log has been read: the time of the last line, and how many of that time."""

    since: str = ""
    count: int = 0
    _skipped: int = 0

    def again(self) -> None:
        self._skipped = 0

    def new(self, line: str) -> str | None:
        """The text of a line that was not seen before."""
        moment, _, text = line.partition(" ")
        if moment < self.since:
            return None
        if moment == self.since:
            self._skipped += 1
            if self._skipped <= self.count:
                return None
            self.count += 1
        else:
            self.since, self.count, self._skipped = moment, 1, 1
        return text


def instance_of(pod: dict[str, Any]) -> Instance | None:
    """Which run of the trainer's container this is; None while none has begun."""
    status = _status(pod)
    if not status or (
        "waiting" in (status.get("state") or {"waiting": {}}) and not status.get("restartCount")
    ):
        return None
    meta = pod["metadata"]
    waiting = "waiting" in (status.get("state") or {})
    return (
        str(meta["name"]),
        str(meta.get("uid")),
        int(status.get("restartCount") or 0) - int(waiting),
    )


def _status(pod: dict[str, Any]) -> dict[str, Any]:
    return next(
        (
            one
            for one in (pod.get("status") or {}).get("containerStatuses") or ()
            if one.get("name") == CONTAINER
        ),
        {},
    )


def _state(pod: dict[str, Any]) -> dict[str, Any]:
    return _status(pod).get("state") or {}
