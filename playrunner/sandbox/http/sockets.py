"""What a fault does to a connection: reset it, or keep it waiting."""

from __future__ import annotations

import os
import select
import socket
import struct
import time


def reset(connection: socket.socket) -> ConnectionResetError:
    """Reset it; the error is for the caller to raise, so that nothing more is written."""
    # With no time to linger, closing sends a reset; taken out of the object's hands, which others
    # still refer to.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(connection.detach())
    return ConnectionResetError("a fault asked for this")


def keep_silent(connection: socket.socket, seconds: float) -> None:
    """Say nothing for so long, or until the client has given up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        readable, _, _ = select.select([connection], [], [], 0.1)
        if readable and not connection.recv(1, socket.MSG_PEEK):
            return
