"""The server's end of a WebSocket (RFC 6455), its first byte the number of a stream."""

from __future__ import annotations

import base64
import hashlib
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from typing import Any

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_CLOSE_STREAM = 255  # in v5, a message on this channel closes the stream it names
PROTOCOLS = (
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
)


def wanted(headers: Message) -> bool:
    return headers.get("Upgrade", "").lower() == "websocket"


class WebSocket:
    """Streams over one WebSocket."""

    def __init__(self, handler: Any) -> None:
        """Answers the client's handshake; the connection is ours from here."""
        offered = [
            one.strip() for one in handler.headers.get("Sec-WebSocket-Protocol", "").split(",")
        ]
        self.protocol = next((one for one in PROTOCOLS if one in offered), "")
        key = handler.headers.get("Sec-WebSocket-Key", "").encode()
        handler.send_response(101, "Switching Protocols")
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header(
            "Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key + _MAGIC).digest()).decode()
        )
        if self.protocol:
            handler.send_header("Sec-WebSocket-Protocol", self.protocol)
        handler.end_headers()
        handler.wfile.flush()
        self._in, self._out = handler.rfile, handler.wfile
        self._lock = threading.Lock()

    def send(self, channel: int, data: bytes) -> None:
        self._frame(_BINARY, bytes([channel]) + data)

    def received(self) -> Iterator[tuple[int, bytes]]:
        for message in self._messages():
            if not message:
                continue
            if message[0] == _CLOSE_STREAM and self.protocol.startswith("v5") and len(message) > 1:
                yield message[1], b""
            elif len(message) > 1:
                yield message[0], message[1:]

    def close(self) -> None:
        with suppress(OSError):
            self._frame(_CLOSE, struct.pack(">H", 1000))

    def _messages(self) -> Iterator[bytes]:
        message = b""
        while (head := self._in.read(2)) and len(head) == 2:
            final, opcode, size = head[0] & 0x80, head[0] & 0x0F, head[1] & 0x7F
            if size == 126:
                size = struct.unpack(">H", self._in.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._in.read(8))[0]
            mask = self._in.read(4) if head[1] & 0x80 else b""
            data = self._in.read(size)
            if mask:
                data = _unmasked(data, mask)
            if opcode == _CLOSE:
                return
            if opcode == _PING:
                self._frame(_PONG, data)
            elif opcode in (_CONTINUATION, _TEXT, _BINARY):
                message += data
                if final:
                    yield message
                    message = b""

    def _frame(self, opcode: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 0x80 | opcode, size)
        elif size < 65536:
            head = struct.pack(">BBH", 0x80 | opcode, 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 127, size)
        with self._lock:
            self._out.write(head + data)
            self._out.flush()


def _unmasked(data: bytes, mask: bytes) -> bytes:
    repeated = int.from_bytes(mask * (len(data) // 4 + 1), "big") >> (8 * (4 - len(data) % 4))
    return (int.from_bytes(data, "big") ^ repeated).to_bytes(len(data), "big")
