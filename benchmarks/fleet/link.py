"""A simulated network link: what passes through it arrives later, slower, or not at all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RETRANSMIT_SECONDS = 0.2  # the least time after which Linux sends a lost segment again


@dataclass(frozen=True)
class LinkSettings:
    """The network between the controller and one host."""

    round_trip_seconds: float = 0.0
    bytes_per_second: float = 0.0  # 0: without limit
    loss: float = 0.0  # the share of writes that need a second sending
    cut_after_bytes: int = 0  # the connection breaks once the host got so many; 0: never


class Direction:
    """One way of a connection: delivers in order, each piece when the link has carried it."""

    def __init__(self, settings: LinkSettings, rng: random.Random) -> None:
        self._settings, self._rng = settings, rng
        self._free_at = 0.0
        self._arrived = 0.0
        self.waiting = 0

    def carry(self, size: int, deliver: Callable[..., Any], *args: Any) -> None:
        settings, loop = self._settings, asyncio.get_running_loop()
        now = loop.time()
        self._free_at = max(now, self._free_at)
        if settings.bytes_per_second:
            self._free_at += size / settings.bytes_per_second
        arrives = self._free_at + settings.round_trip_seconds / 2
        if settings.loss and self._rng.random() < settings.loss:
            arrives += max(RETRANSMIT_SECONDS, settings.round_trip_seconds)
        self._arrived = max(self._arrived, arrives)
        if self._arrived <= now and not self.waiting:
            deliver(*args)
            return
        self.waiting += 1
        loop.call_at(self._arrived, self._deliver, deliver, args)

    def delay(self, seconds: float) -> None:
        """Nothing arrives before this time has passed: the connection is still being opened."""
        self._arrived = asyncio.get_running_loop().time() + seconds

    def _deliver(self, deliver: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.waiting -= 1
        deliver(*args)


class DelayedTransport:
    """The host's end of a connection: what it writes travels over the link."""

    def __init__(self, transport: asyncio.Transport, outgoing: Direction) -> None:
        self._transport, self._outgoing = transport, outgoing

    def write(self, data: bytes) -> None:
        data = bytes(data)
        self._outgoing.carry(len(data), self._send, data)

    def writelines(self, pieces: Any) -> None:
        self.write(b"".join(pieces))

    def close(self) -> None:
        self._outgoing.carry(0, self._transport.close)

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class LinkedProtocol(asyncio.Protocol):
    """Stands between a TCP connection and the SSH server that answers it."""

    def __init__(self, inner: Any, settings: LinkSettings, rng: random.Random) -> None:
        self._inner, self._settings = inner, settings
        self._incoming, self._outgoing = Direction(settings, rng), Direction(settings, rng)
        self._received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # The kernel has accepted it already; over a real link the host would see it only after
        # the third segment of the handshake, one and a half round trips later
        opened = 1.5 * self._settings.round_trip_seconds
        if opened:
            self._incoming.delay(opened)
            self._outgoing.delay(opened)
        self._inner.connection_made(DelayedTransport(transport, self._outgoing))

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if 0 < self._settings.cut_after_bytes < self._received:
            self._transport.abort()
            return
        self._incoming.carry(len(data), self._inner.data_received, data)

    def eof_received(self) -> None:
        self._incoming.carry(0, self._inner.eof_received)

    def connection_lost(self, error: Exception | None) -> None:
        self._incoming.carry(0, self._inner.connection_lost, error)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
