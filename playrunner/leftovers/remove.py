"""Removing: what is left goes in reverse dependency order, side by side where nothing depends, and
is waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.cloud.shared_reads import SHARED_SECONDS
from playrunner.errors import HostUnreachable
from playrunner.leftovers.leftover import Leftover, Thing
from playrunner.leftovers.per_cloud import Client, Removable, about, kinds_of

AT_ONCE = 16  # removals side by side
FIRST_PAUSE, LONGEST_PAUSE = (
    0.1,
    10.0,
)  # seconds between looks; a tenth of what was waited so far, within these
# What stands on something that would not go is tried all the same, for this long: it may stand on
# something else.
BRIEF_SECONDS = 45.0
ASKED = "asked to go"

Sleep = Callable[[float], None]
Say = Callable[[str], None]


def remove(client: Client, leftovers: Iterable[Leftover], sleep: Sleep, say: Say) -> list[Leftover]:
    """Remove these and wait until each is gone; what is still there comes back with the reason."""
    return _Removal(client, leftovers, sleep, say).run()


class _Removal:
    """One removal of many things, which wait for each other."""

    def __init__(
        self, client: Client, leftovers: Iterable[Leftover], sleep: Sleep, say: Say
    ) -> None:
        self.client, self.sleep, self.say = client, sleep, say
        self.kinds = kinds_of(client)
        given = list(leftovers)
        self.waiting = [one for one in given if not one.stays and one.kind in self.kinds]
        self.left = [one for one in given if one not in self.waiting]
        self.running: dict[Future[Leftover | None], Leftover] = {}
        self.stop = threading.Event()

    def run(self) -> list[Leftover]:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="leftovers") as pool:
            try:
                while self.waiting or self.running:
                    for leftover in [one for one in self.waiting if self._may_go(one)]:
                        self.waiting.remove(leftover)
                        brief = self._stands_on(leftover, self.left)
                        self.running[pool.submit(self._go, leftover, brief)] = leftover
                    done, _ = wait(self.running, return_when=FIRST_COMPLETED)
                    for future in done:
                        del self.running[future]
                        self.left += filter(None, [future.result()])
            except BaseException:
                # Nothing more is asked for; what was asked for goes on in the cloud
                self.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return self.left

    def _may_go(self, leftover: Leftover) -> bool:
        return not self._stands_on(leftover, [*self.waiting, *self.running.values()])

    def _stands_on(self, leftover: Leftover, others: Iterable[Leftover]) -> bool:
        first = self.kinds[leftover.kind].after
        return any(other.kind in first and other.cluster == leftover.cluster for other in others)

    def _go(self, leftover: Leftover, brief: bool) -> Leftover | None:
        kind, client = self.kinds[leftover.kind], about(self.client, str(leftover))
        try:
            why = self._until_gone(
                kind, client, leftover, BRIEF_SECONDS if brief else kind.gone_seconds
            )
        except (Refused, Unanswered, HostUnreachable) as error:
            why = str(error)
        self.say(f"still there: {leftover}: {why}" if why else f"gone: {leftover}")
        return replace(leftover, why=why) if why else None

    def _until_gone(self, kind: Removable, client: Client, leftover: Leftover, limit: float) -> str:
        """Ask and look until it is gone; else the reason why it is not."""
        waited, said = 0.0, ""
        thing = _look(kind, client, leftover)
        while thing is not None:
            if self.stop.is_set():
                return "interrupted"
            why = "is being deleted" if thing.going else self._ask(kind, client, leftover, thing)
            if why == ASKED:
                thing = _look(kind, client, leftover)
                if thing is None:
                    break
            if waited >= limit:
                return _reason(kind, client, thing, why, waited)
            if why != said:
                self.say(f"waiting: {leftover}: {why}")
                said = why
            pause = min(max(FIRST_PAUSE, waited / 10), LONGEST_PAUSE)
            self.sleep(pause)
            waited += pause
            thing = _look(kind, client, leftover)
        return ""

    def _ask(self, kind: Removable, client: Client, leftover: Leftover, thing: Thing) -> str:
        """Ask for its removal; what is in the way, when it cannot go now. A refusal for good is
        raised."""
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
        return ASKED


def _look(kind: Removable, client: Client, leftover: Leftover) -> Thing | None:
    # A read that another removal made within the last second will do; one from before our own
    # change will not.
    client.not_before = max(client.not_before, time.monotonic() - SHARED_SECONDS)
    return kind.look(client, leftover)


def _passes(refusal: Refused) -> bool:
    """Whether it is refused only for now."""
    return refusal.in_use or "LifeCycleState" in refusal.code or "in use" in str(refusal)


def _reason(kind: Removable, client: Client, thing: Thing, why: str, waited: float) -> str:
    held = kind.holders(client, thing)
    parts = [
        why,
        f"held by {held}" if held else "",
        thing.state,
        f"given up after {waited:.0f} seconds",
    ]
    return "; ".join(filter(None, parts))
