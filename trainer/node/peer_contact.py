"""A node's contact with the others of its run: the first node hears all of them, the others hear
the first one.

Whoever falls silent is lost: the first node says so of another, and another of the first one once
its lease is over.
"""

from __future__ import annotations

import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trainer.node.failure import Failure, failure_from
from trainer.node.heartbeat_link import BEAT_SECONDS, Centre, Peer, call


@dataclass(frozen=True)
class Concerns:
    """What a keeper does about what it hears."""

    note: Callable[[str], None]  # a line for the log
    fail: Callable[[Failure], None]
    stop: Callable[[str, bool], None]  # why, and whether at once
    changed: Callable[[], None]  # who is lost is another than before
    shake_off: Callable[[], None]  # ranks wait for one that will not come


class Contact:
    def __init__(
        self, told: dict[str, Any], token: str, selector: selectors.BaseSelector, concerns: Concerns
    ) -> None:
        self.told, self.token, self.selector, self.concerns = told, token, selector, concerns
        self.host: str = told["host"]
        self.first: bool = told["node_rank"] == 0
        self.others: set[str] = set(told["others"]) if self.first else set()
        self.lost: set[str] = set()
        self.ended: set[str] = set()
        self.first_is_done = False
        self.centre: Centre | None = None
        self.line: Peer | None = None  # to the first node, from the others
        self.heard: dict[str, float] = {}
        self.begun = self.beaten = self.renewed = time.monotonic()

    def open(self) -> None:
        if self.others:
            self.centre = Centre(
                self.told["link"]["address"],
                self.told["link"]["port"],
                self.token,
                self.others,
                self.selector,
                self.concerns.note,
            )

    @property
    def awaited(self) -> set[str]:
        """Nodes that have neither ended nor been lost."""
        return self.others - self.lost - self.ended

    def keep_up(self, busy: bool, running: bool) -> None:
        """Called again and again; busy: our processes live, running: nothing went wrong and nobody
        asked to stop."""
        if not self.first and not self.first_is_done and busy:
            self._reach_centre()
        if time.monotonic() - self.beaten >= BEAT_SECONDS:
            self.beaten = time.monotonic()
            if self.centre:
                self.centre.tell(
                    {"beat": 1, **({"finished": True} if running and not busy else {})}
                )
            if self.line:
                self.line.send({"beat": 1})
        if self.centre:
            self.centre.drop_the_silent()
            self._look_for_lost()

    def hear(self, peer: Peer) -> None:
        messages = self.centre.hear(peer) if self.centre else peer.receive()
        try:
            for message in messages:
                self._take(peer, message)
        except (ValueError, TypeError, OverflowError) as error:
            peer.open = False
            self.concerns.note(
                f"{peer.name} said what is no message of a run ({error}): its connection is closed"
            )
            if self.centre:
                self.centre.drop(peer)
        if peer is self.line and not peer.open:
            self._hang_up()
        if self.centre and self.centre.peers.get(peer.name) is peer:
            self._welcome(peer.name)

    def tell_stop(self, reason: str, at_once: bool) -> None:
        if self.centre:
            self.centre.tell({"stop": reason, "at_once": at_once})

    def tell_failure(self, failure: Failure) -> None:
        if self.line:
            self.line.send({"failed": failure.plain()})

    def tell_end(self) -> None:
        if self.line:
            self.line.send({"ended": 1})

    def _take(self, peer: Peer, message: dict[str, Any]) -> None:
        if "failed" in message and self.first and self.told["elastic_min"]:
            self._lose(peer.name, failure_from(message["failed"]).what)
        elif "failed" in message:
            self.concerns.fail(failure_from(message["failed"]))
        if "ended" in message:
            self.ended.add(peer.name)
        elif "beat" in message:
            self.ended.discard(peer.name)  # a node of an elastic run that was started again
        if "stop" in message:
            self.concerns.stop(str(message["stop"]), bool(message.get("at_once")))
        if message.get("finished"):
            self.first_is_done = True

    def _reach_centre(self) -> None:
        if self.line and not self.line.open:
            self._hang_up()
        if self.line is None:
            self.line = call(
                self.told["link"]["address"], self.told["link"]["port"], self.token, self.host
            )
            if self.line:
                self.selector.register(self.line.line, selectors.EVENT_READ, self.line)
                self.renewed = time.monotonic()
        else:
            self.renewed = max(self.renewed, self.line.heard)
        if time.monotonic() - self.renewed > self.told["lease_seconds"]:
            silence = f"the first node has not been heard from for {self.told['lease_seconds']:g} s"
            self.concerns.fail(Failure(self.host, silence, time.time()))

    def _hang_up(self) -> None:
        assert self.line
        self.selector.unregister(self.line.line)
        self.line.close()
        self.line = None

    def _welcome(self, name: str) -> None:
        if name in self.lost:
            self.lost.discard(name)
            self.concerns.note(f"{name} is back")
            self.concerns.changed()
        elif name not in self.heard:
            self.heard[name] = time.monotonic()
            self.concerns.note(f"{name} has joined")

    def _look_for_lost(self) -> None:
        assert self.centre
        now = time.monotonic()
        for name in sorted(self.awaited):
            peer = self.centre.peers.get(name)
            if peer:
                self.heard[name] = peer.heard
            known = self.heard.get(name)
            patience = self.told["silence_seconds"] if known else self.told["join_seconds"]
            if now - (known or self.begun) > patience:
                how = "has not been heard from for" if known else "did not join within"
                self._lose(name, f"{how} {patience:g} s")

    def _lose(self, name: str, how: str) -> None:
        if name in self.lost:
            return
        self.lost.add(name)
        left = 1 + len(self.others - self.lost)
        if not self.told["elastic_min"] or left < self.told["elastic_min"]:
            self.concerns.fail(Failure(name, how, time.time(), -signal.SIGKILL))
            return
        self.concerns.note(
            f"{name} {how}; the run goes on with {left} of {1 + len(self.others)} nodes"
        )
        self.concerns.changed()
        peer = self.centre.peers.get(name) if self.centre else None
        if self.centre and peer:
            self.centre.drop(peer)  # its last words, should they still come, are no longer heard
        self.concerns.shake_off()
