"""Reads from a channel what has a limited size, in linear time."""

from __future__ import annotations

from playrunner.ssh.connection import Channel

# Consumed bytes are dropped from the buffer once they are this many and half of it
_COMPACT_BYTES = 1 << 20


class ConnectionLost(Exception):
    """The connection broke; what the agent was doing may or may not have happened."""


class TooLong(Exception):
    """The agent sent more than the limit allows."""


class ReceiveTimeout(Exception):
    """Nothing arrived within the time limit."""


class FrameReader:
    """The incoming side of one channel."""

    def __init__(self, channel: Channel, silent_seconds: float) -> None:
        self._channel, self._silent_seconds = channel, silent_seconds
        self._buffer = bytearray()
        self._start = 0  # where the next frame begins

    def line(self, limit: int) -> bytes:
        searched = self._start
        while (end := self._buffer.find(b"\n", searched)) < 0:
            waiting = len(self._buffer) - self._start
            if waiting > limit:
                raise TooLong(f"a line of more than {limit} bytes")
            self._fill()
            searched = self._start + waiting
        if end - self._start > limit:
            raise TooLong(f"a line of more than {limit} bytes")
        return self._take(end - self._start, skip=1)

    def exactly(self, size: int) -> bytes | bytearray:
        if size > _COMPACT_BYTES:
            self._compact()
        while len(self._buffer) - self._start < size:
            self._fill()
        if self._start or size < len(self._buffer) or size < _COMPACT_BYTES:
            return self._take(size)
        taken, self._buffer = (
            self._buffer,
            bytearray(),
        )  # a large body with nothing after it: not copied
        return taken

    def _take(self, size: int, skip: int = 0) -> bytes:
        with memoryview(self._buffer) as view:
            taken = bytes(view[self._start : self._start + size])
        self._start += size + skip
        return taken

    def _compact(self) -> None:
        del self._buffer[: self._start]
        self._start = 0

    def _fill(self) -> None:
        if self._start == len(self._buffer):
            self._buffer = bytearray()
            self._start = 0
        elif self._start > _COMPACT_BYTES and 2 * self._start > len(self._buffer):
            self._compact()
        try:
            data = self._channel.receive(self._silent_seconds)
        except TimeoutError:
            raise ReceiveTimeout from None
        except (OSError, EOFError, ValueError) as error:
            raise ConnectionLost(str(error)) from None
        if not data:
            raise ConnectionLost(self._channel.stderr_text().strip())
        self._buffer += data


def read_all(channel: Channel, most: int) -> tuple[bytes, int]:
    """What a program writes until it ends, at most `most` bytes, and how many more there were."""
    kept, left_out = bytearray(), 0
    while data := channel.receive():
        taken = data[: most - len(kept)]
        kept += taken
        left_out += len(data) - len(taken)
    return bytes(kept), left_out
