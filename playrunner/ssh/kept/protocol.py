"""What commands and the holder of connections say to each other, and where they meet.

A request is one line of JSON on a Unix socket. After `start`, what the command sends is the
program's standard input, and the holder answers in frames: a letter, a length, and so many bytes.
A `start` may name the bytes that the program is sent first; READY says that it was started ahead
and has them.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import struct
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.record.ledger import state_directory
from playrunner.ssh.targets import Target

VERSION = 2  # of these frames and requests; holders of other versions have other sockets
STARTED, READY, OUTPUT, STDERR, STATUS, FAILED, LOST = b"srotxfl"  # the letters of frames
HEAD = struct.Struct("!BI")
LINE_BYTES = 1 << 20  # of a request; a command that starts an agent has 2,000 bytes
_PEER = struct.Struct("3i")  # process, user and group at the other end of a Unix socket


def socket_path() -> Path:
    """The holder's socket, in a folder that only this user can enter.

    It is not in the state folder itself, whose path may be longer than a socket's can be; each
    state folder has a holder of its own.
    """
    key = hashlib.sha256(f"{VERSION} {state_directory().absolute()}".encode()).hexdigest()[:16]
    return _private_folder() / f"connections-{key}"


def _private_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    parent = Path(runtime) if runtime and os.path.isdir(runtime) else Path(tempfile.gettempdir())
    folder = parent / (f"playrunner-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}; connections are not kept") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise BadInput(
            f"{folder} must be a folder that belongs to you and that no other user can enter"
            " (chmod 700); connections are not kept there"
        )
    return folder


def is_same_user(peer: socket.socket) -> bool:
    """Whether the process at the other end runs as this user; the kernel says so."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return False
    return bool(
        _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, option, _PEER.size))[1] == os.getuid()
    )


def target_data(target: Target) -> dict[str, Any]:
    """A target for a process in another folder: its paths are absolute."""
    via = target_data(target.via) if target.via else None
    paths = {
        name: [os.path.abspath(file) for file in files]
        for name, files in (("keys", target.keys), ("known_hosts", target.known_hosts))
    }
    return {**asdict(target), **paths, "via": via}


def target_from(data: dict[str, Any]) -> Target:
    via = data.pop("via")
    lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
    target = Target(**{**data, **lists})
    return replace(target, via=target_from(via)) if via else target


def send_frame(peer: socket.socket, letter: int, data: bytes = b"") -> None:
    peer.sendall(HEAD.pack(letter, len(data)) + data)


def read_frame(peer: socket.socket) -> tuple[int, bytes]:
    letter, size = HEAD.unpack(_exactly(peer, HEAD.size))
    return letter, _exactly(peer, size)


def read_request(peer: socket.socket) -> dict[str, Any]:
    """The line that comes first; what follows it is left in the socket."""
    line = bytearray()
    while not line.endswith(b"\n"):
        ahead = peer.recv(LINE_BYTES, socket.MSG_PEEK)
        if not ahead or len(line) > LINE_BYTES:
            raise EOFError
        end = ahead.find(b"\n")
        line += peer.recv(end + 1 if end >= 0 else len(ahead))
    request = json.loads(line)
    if not isinstance(request, dict):
        raise ValueError("no request")
    return request


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = peer.recv(min(size - len(data), 1 << 18))
        if not piece:
            raise EOFError("the holder of connections ended")
        data += piece
    return bytes(data)
