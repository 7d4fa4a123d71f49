"""An SSH server that lets a command's request go unanswered."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from playrunner.errors import HostUnreachable
from playrunner.ssh.connection import Ssh
from playrunner.ssh.targets import Target


class Silent(paramiko.ServerInterface):
    """Accepts everybody and every session, and never confirms a command."""

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()

    def check_auth_password(self, username: str, password: str) -> int:
        return paramiko.common.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.common.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self.asked.set()
        self.over.wait()
        return False


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[Silent, Target]]:
    key = paramiko.ECDSAKey.generate()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = Silent()

    def serve() -> None:
        transport = paramiko.Transport(listener.accept()[0])
        transport.add_server_key(key)
        transport.start_server(server=server)

    threading.Thread(target=serve, daemon=True).start()
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n")
    yield (
        server,
        Target(
            "node1",
            "127.0.0.1",
            port=port,
            user="x",
            password="y",
            known_hosts=(str(known),),
            identities_only=True,
            connect_seconds=3,
        ),
    )
    server.over.set()
    listener.close()


def test_a_command_that_is_never_confirmed_is_given_up(
    silent: tuple[Silent, Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, target = silent
    monkeypatch.setattr("playrunner.ssh.connection.START_SECONDS", 0.5)
    connection = Ssh(target)
    threads = set(threading.enumerate())
    with pytest.raises(HostUnreachable, match=r"node1 .*the connection broke: no answer in time"):
        connection.start("true")
    assert server.asked.is_set() and set(threading.enumerate()) <= threads
    connection.close()
