"""Frames: lines and bodies cut out of what a channel delivers, in time linear in their size, and no
longer than allowed."""

from __future__ import annotations

from playrunner.ssh.connection import Channel

_COMPACT_BYTES = (
    1 << 20
)  # what was read is dropped from the buffer once it is this much and half of it


class ConnectionLost(Exception):
    """The agent's end is gone; what it was doing may or may not have happened."""


class TooLong(Exception):
    """The other end sends more than it may."""


class Silent(Exception):
    """Nothing arrived for as long as may be waited."""


class FrameReader:
    """The incoming side of one channel."""

    def __init__(self, channel: Channel, silent_seconds: float) -> None:
        self._channel, self._silent_seconds = channel, silent_seconds
        self._buffer = bytearray()
        self._start = 0  # where the next frame begins

    def line(self, most: int) -> bytes:
        searched = self._start
        while (end := self._buffer.find(b"\n", searched)) < 0:
            waiting = len(self._buffer) - self._start
            if waiting > most:
                raise TooLong(f"a line of more than {most} bytes")
            self._fill()
            searched = self._start + waiting
        if end - self._start > most:
            raise TooLong(f"a line of more than {most} bytes")
        return self._take(end - self._start, skip=1)

    def exactly(self, size: int) -> bytes | bytearray:
        if size > _COMPACT_BYTES:
            self._compact()
        while len(self._buffer) - self._start < size:
            self._fill()
        if self._start or size < len(self._buffer) or size < _COMPACT_BYTES:
            return self._take(size)
        taken, self._buffer = self._buffer, bytearray()  # much, and nothing behind it: not copied
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
            raise Silent from None
        except (OSError, EOFError, ValueError) as error:
            raise ConnectionLost(str(error)) from None
        if not data:
            raise ConnectionLost(self._channel.complaints().strip())
        self._buffer += data
