"""A host's ports reached through its connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from playrunner.errors import BadInput, HostUnreachable
from playrunner.ssh.connection import connect
from playrunner.ssh.port_forward import PortForward
from playrunner.ssh.targets import Target
from tests.support.sshd import NodeSet, SshNode
from tests.support.until import until


@pytest.fixture
def shouting() -> Iterator[int]:
    """The port of a server that answers in capitals, once it has heard all."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    heard = b""
                    while data := caller.recv(65536):
                        heard += data
                    caller.sendall(heard.upper())

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def target(node: SshNode, via: Target | None = None) -> Target:
    return Target(
        node.name,
        node.address,
        port=node.port,
        user=node.user,
        keys=(str(node.key_file),),
        known_hosts=(str(node.known_hosts_file),),
        identities_only=True,
        via=via,
    )


def ways(nodes: NodeSet) -> dict[str, Target]:
    return {
        "local": Target("localhost", "localhost", "local"),
        "ssh": target(nodes["node1"]),
        "jump": target(nodes["node2"], target(nodes["node1"])),
    }


@pytest.mark.parametrize("way", ["local", "ssh", "jump"])
def test_a_port_is_reached_as_the_host_reaches_it(nodes: NodeSet, shouting: int, way: str) -> None:
    with closing(connect(ways(nodes)[way])) as connection:
        stream = connection.forward("127.0.0.1", shouting)
        stream.sendall(b"hello")
        stream.shutdown(socket.SHUT_WR)
        assert _all(stream) == b"HELLO"
        stream.close()


@pytest.mark.parametrize("way", ["local", "ssh"])
def test_a_port_that_nobody_listens_on_is_told_in_one_line(nodes: NodeSet, way: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # held, so that nobody else comes to listen there
        port = taken.getsockname()[1]
        with (
            closing(connect(ways(nodes)[way])) as connection,
            pytest.raises(HostUnreachable) as refused,
        ):
            connection.forward("127.0.0.1", port)
    assert f"127.0.0.1:{port}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_port_forward_carries_many_calls_at_once_and_much_in_each(
    nodes: NodeSet, shouting: int
) -> None:
    with closing(connect(target(nodes["node1"]))) as connection:
        forward = PortForward(0)
        forward.serve(lambda: connection.forward("127.0.0.1", shouting))
        answers: list[bytes] = []

        def call(letter: bytes) -> None:
            with socket.create_connection(("127.0.0.1", forward.port)) as caller:
                caller.sendall(letter * 300_000)
                caller.shutdown(socket.SHUT_WR)
                answers.append(_all(caller))

        callers = [
            threading.Thread(target=call, args=(bytes([97 + number]),)) for number in range(6)
        ]
        for thread in callers:
            thread.start()
        for thread in callers:
            thread.join(30)
        forward.close()
        assert sorted(answers) == [bytes([65 + number]) * 300_000 for number in range(6)]
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", forward.port), timeout=2)


def test_a_port_forward_whose_end_is_gone_hangs_up(nodes: NodeSet) -> None:
    with socket.socket() as taken, closing(connect(target(nodes["node1"]))) as connection:
        taken.bind(("127.0.0.1", 0))
        forward = PortForward(0)
        forward.serve(lambda: connection.forward("127.0.0.1", taken.getsockname()[1]))
        with (
            closing(forward),
            socket.create_connection(("127.0.0.1", forward.port), timeout=10) as caller,
        ):
            assert caller.recv(10) == b""


def test_a_connection_that_breaks_under_a_forward_hangs_up_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Paramiko tells the other end of a channel's end, and fails where the connection is gone."""
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    threads = threading.active_count()
    near, far = socket.socketpair()
    far.close()

    class Channel:
        recv, sendall = near.recv, near.sendall

        def shutdown(self, how: int) -> None:
            raise EOFError

        def close(self) -> None:
            near.close()
            raise EOFError

    forward = PortForward(0)
    forward.serve(Channel)
    with closing(forward), socket.create_connection(("127.0.0.1", forward.port), 10) as caller:
        assert caller.recv(10) == b""
    until(threading.active_count, lambda count: count <= threads, what="the end of its threads")
    assert not failures


def test_a_port_that_is_taken_is_refused_with_the_way_out() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(BadInput, match="already in use; choose another, or 0"),
    ):
        PortForward(other.getsockname()[1])


def _all(stream: object) -> bytes:
    heard = b""
    while data := stream.recv(65536):  # type: ignore[attr-defined]
        heard += data
    return heard
