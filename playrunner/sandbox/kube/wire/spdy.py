"""The server's end of SPDY/3.1, which older kubectl speaks for exec and port-forward. No flow
control: its clients have none."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from typing import Any

_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
_FIN = 1
_NAMES = {"stdin": 0, "stdout": 1, "stderr": 2, "error": 3, "resize": 4}
PROTOCOLS = (
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
    "portforward.k8s.io",
)

# The words that headers are compressed with: part of the protocol.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language"
    " accept-ranges age allow authorization cache-control connection content-base content-encoding"
    " content-language content-length content-location content-md5 content-range content-type date"
    " etag expect expires from host if-match if-modified-since if-none-match if-range"
    " if-unmodified-since last-modified location max-forwards pragma proxy-authenticate"
    " proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade"
    " user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url"
    " public set-cookie keep-alive origin"
)
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203"
    " Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404"
    " Not Found500 Internal "
    "Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct"
    " Nov Dec 00:00:00 Mon, "
    "Tue, Wed, Thu, Fri, Sat, Sun,"
    " GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,"
    "text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
_DICTIONARY = (
    b"".join(
        struct.pack(">I", len(word)) + word.replace("_", " ").encode() for word in _WORDS.split()
    )
    + _TAIL.encode()
)


def wanted(headers: Message) -> bool:
    return headers.get("Upgrade", "").lower().startswith("spdy/3.1")


class Spdy:
    """A connection with streams that the client opens."""

    def __init__(self, handler: Any) -> None:
        """Answers the client's handshake; the connection is ours from here."""
        offered = [
            one.strip()
            for value in handler.headers.get_all("X-Stream-Protocol-Version", [])
            for one in value.split(",")
        ]
        self.protocol = next((one for one in PROTOCOLS if one in offered), "")
        handler.send_response(101, "Switching Protocols")
        handler.send_header("Upgrade", "SPDY/3.1")
        handler.send_header("Connection", "Upgrade")
        if self.protocol:
            handler.send_header("X-Stream-Protocol-Version", self.protocol)
        handler.end_headers()
        handler.wfile.flush()
        self._in, self._out = handler.rfile, handler.wfile
        self._lock = threading.Lock()
        self._inflate = zlib.decompressobj(zdict=_DICTIONARY)
        self._deflate = zlib.compressobj(zdict=_DICTIONARY)

    def frames(self) -> Iterator[tuple[int, dict[str, str] | None, bytes, bool]]:
        """(stream, its headers when it is opened, data, whether the client closes it)."""
        while len(head := self._in.read(8)) == 8:
            first, second = struct.unpack(">II", head)
            flags, size = second >> 24, second & 0xFFFFFF
            body = self._in.read(size)
            if not first & 0x80000000:
                yield first, None, body, bool(flags & _FIN)
                continue
            kind = first & 0xFFFF
            if kind == _SYN_STREAM:
                stream = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF
                headers = self._headers(body[10:])
                self._reply(stream)
                yield stream, headers, b"", bool(flags & _FIN)
            elif kind == _RST_STREAM:
                yield struct.unpack(">I", body[:4])[0], None, b"", True
            elif kind == _PING:
                self._control(_PING, body)
            elif kind == _GOAWAY:
                return

    def data(self, stream: int, data: bytes, *, last: bool = False) -> None:
        for at in range(0, max(len(data), 1), 1 << 20):
            piece = data[at : at + (1 << 20)]
            final = last and at + len(piece) >= len(data)
            self._write(
                struct.pack(">II", stream, (_FIN if final else 0) << 24 | len(piece)) + piece
            )

    def go_away(self, last: int) -> None:
        with suppress(OSError):
            self._control(_GOAWAY, struct.pack(">II", last, 0))

    def _reply(self, stream: int) -> None:
        with self._lock:
            block = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(
                zlib.Z_SYNC_FLUSH
            )
            body = struct.pack(">I", stream) + block
            self._out.write(struct.pack(">HHI", 0x8003, _SYN_REPLY, len(body)) + body)
            self._out.flush()

    def _control(self, kind: int, body: bytes) -> None:
        self._write(struct.pack(">HHI", 0x8003, kind, len(body)) + body)

    def _write(self, frame: bytes) -> None:
        with self._lock:
            self._out.write(frame)
            self._out.flush()

    def _headers(self, block: bytes) -> dict[str, str]:
        plain = self._inflate.decompress(block)
        count, at = struct.unpack(">I", plain[:4])[0], 4
        words = []
        for _ in range(2 * count):
            size = struct.unpack(">I", plain[at : at + 4])[0]
            words.append(plain[at + 4 : at + 4 + size].decode())
            at += 4 + size
        return dict(zip(words[::2], words[1::2], strict=True))


class SpdyChannels:
    """The streams of an exec or attach, numbered as on a WebSocket."""

    def __init__(self, spdy: Spdy, expected: int) -> None:
        """Waits until the client has opened the streams that it asked for."""
        self._spdy = spdy
        self._frames = spdy.frames()
        self._streams: dict[int, int] = {}  # channel to stream
        while len(self._streams) < expected:
            stream, headers, _, _ = next(self._frames, (0, None, b"", True))
            if not stream:
                break
            if headers is not None:
                self._streams[_NAMES[headers.get("streamtype", "error")]] = stream

    def send(self, channel: int, data: bytes) -> None:
        if channel in self._streams:
            self._spdy.data(self._streams[channel], data)

    def received(self) -> Iterator[tuple[int, bytes]]:
        channels = {stream: channel for channel, stream in self._streams.items()}
        for stream, headers, data, last in self._frames:
            if headers is not None:
                channel = channels[stream] = _NAMES[headers.get("streamtype", "error")]
                self._streams[channel] = stream
            if stream in channels and data:
                yield channels[stream], data
            if stream in channels and last:
                yield channels[stream], b""

    def close(self) -> None:
        for stream in self._streams.values():
            self._spdy.data(stream, b"", last=True)
        self._spdy.go_away(max(self._streams.values(), default=0))
