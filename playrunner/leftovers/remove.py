"""Delete leftovers in reverse dependency order, in parallel where possible, and wait for each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.cloud.shared_reads import SHARED_SECONDS
from playrunner.errors import HostUnreachable
from playrunner.leftovers.leftover import Leftover, ServiceResource
from playrunner.leftovers.per_cloud import Client, Removable, about, kinds_of

AT_ONCE = 16  # removals side by side
# Seconds between looks: a tenth of the time waited so far, within these limits.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
# What something undeletable depends on is tried all the same, for this long: the dependency may be
# on another resource.
BRIEF_SECONDS = 45.0
STILL_SECONDS = 30.0  # a wait that lasts is reported again after so long

Sleep = Callable[[float], None]
Say = Callable[[str], None]


def remove(client: Client, leftovers: Iterable[Leftover], sleep: Sleep, say: Say) -> list[Leftover]:
    """Delete these and wait until each is gone; return those that still exist, with the reason."""
    return _Removal(client, leftovers, sleep, say).run()


class _Removal:
    """The deletion of many resources, which wait for each other."""

    def __init__(
        self, client: Client, leftovers: Iterable[Leftover], sleep: Sleep, say: Say
    ) -> None:
        self.client, self.sleep, self.say = client, sleep, say
        self.kinds = kinds_of(client)
        every = list(leftovers)
        self.waiting = [
            leftover for leftover in every if not leftover.stays and leftover.kind in self.kinds
        ]
        self.left = [leftover for leftover in every if leftover not in self.waiting]
        self.running: dict[Future[Leftover | None], Leftover] = {}
        self.stop = threading.Event()

    def run(self) -> list[Leftover]:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="leftovers") as pool:
            try:
                while self.waiting or self.running:
                    for leftover in [
                        waiting for waiting in self.waiting if self._deletable(waiting)
                    ]:
                        self.waiting.remove(leftover)
                        brief = self._depends_on(leftover, self.left)
                        self.running[pool.submit(self._delete, leftover, brief)] = leftover
                    done, _ = wait(self.running, return_when=FIRST_COMPLETED)
                    for future in done:
                        del self.running[future]
                        self.left += filter(None, [future.result()])
            except BaseException:
                # Nothing more is requested; deletions in progress go on in the cloud
                self.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return self.left

    def _deletable(self, leftover: Leftover) -> bool:
        return not self._depends_on(leftover, [*self.waiting, *self.running.values()])

    def _depends_on(self, leftover: Leftover, others: Iterable[Leftover]) -> bool:
        first = self.kinds[leftover.kind].after
        return any(other.kind in first and other.cluster == leftover.cluster for other in others)

    def _delete(self, leftover: Leftover, brief: bool) -> Leftover | None:
        kind, client = self.kinds[leftover.kind], about(self.client, str(leftover))
        try:
            why = self._until_gone(
                kind, client, leftover, BRIEF_SECONDS if brief else kind.gone_seconds
            )
        except (Refused, Unanswered, HostUnreachable) as error:
            why = str(error)
        self.say(f"still there: {leftover}: {why}" if why else f"deleted: {leftover}")
        return replace(leftover, why=why, by_tag=False) if why else None

    def _until_gone(self, kind: Removable, client: Client, leftover: Leftover, limit: float) -> str:
        """Request and wait until it is gone; otherwise the reason why it is not."""
        waited, reported, reported_at = 0.0, "", 0.0
        thing = _look(kind, client, leftover)
        while thing is not None:
            if self.stop.is_set():
                return "interrupted"
            why = "is being deleted"
            if not thing.deleting:
                why = self._request(kind, client, leftover, thing)
                if not why:
                    why, thing = "deletion requested", _look(kind, client, leftover)
                    if thing is None:
                        break
            if waited >= limit:
                return _reason(kind, client, thing, why, waited)
            if why != reported or waited - reported_at > STILL_SECONDS:
                since = f" (for {waited:.0f}s)" if why == reported else ""
                self.say(f"waiting: {leftover}: {why}{since}")
                reported, reported_at = why, waited
            pause = min(max(FIRST_PAUSE, waited / 10), LONGEST_PAUSE)
            self.sleep(pause)
            waited += pause
            thing = _look(kind, client, leftover)
        return ""

    def _request(
        self, kind: Removable, client: Client, leftover: Leftover, thing: ServiceResource
    ) -> str:
        """Request its deletion; returns what blocks it for now. A final refusal is raised."""
        busy = kind.busy(thing)
        if busy:
            return busy
        try:
            kind.delete(client, thing)
        except Unanswered as error:
            return str(error)
        except Refused as refusal:
            if not (_passes(refusal) or refusal.not_found):
                raise
            return str(refusal)
        return ""


def _look(kind: Removable, client: Client, leftover: Leftover) -> ServiceResource | None:
    # A read that another removal made within the last second will do; one from before our own
    # change will not.
    client.not_before = max(client.not_before, time.monotonic() - SHARED_SECONDS)
    return kind.look(client, leftover)


def _passes(refusal: Refused) -> bool:
    """Whether it is refused only for now."""
    return refusal.in_use or "LifeCycleState" in refusal.code or "in use" in str(refusal)


def _reason(
    kind: Removable, client: Client, thing: ServiceResource, why: str, waited: float
) -> str:
    holders = kind.holders(client, thing)
    parts = [
        why,
        f"used by {holders}" if holders else "",
        thing.state,
        f"given up after {waited:.0f} seconds",
    ]
    return "; ".join(filter(None, parts))
