"""Connections that are kept have a session open for the next program, or the program itself."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import HostUnreachable
from playrunner.sandbox.sshd import Daemon
from playrunner.ssh.frames import read_all
from playrunner.ssh.kept.ready import TRUSTED_SECONDS, Program, ReadySsh
from tests.engine.test_forward import target
from tests.support.sshd import NodeSet
from tests.support.until import until


@pytest.fixture
def connection(make_nodes: Callable[[int], NodeSet]) -> Iterator[ReadySsh]:
    opened = ReadySsh(replace(target(make_nodes(1)["node1"]), connect_seconds=4))
    yield opened
    opened.close()


def run(connection: ReadySsh, command: str) -> str:
    channel = connection.start(command)
    output = channel.receive()
    channel.close()
    return output.decode().strip()


def test_the_second_program_waits_for_no_session_and_shares_nothing_with_the_first(
    connection: ReadySsh, tmp_path: Path
) -> None:
    assert run(connection, f"cd {tmp_path}; export LEFT=yes; echo $$") != ""
    until(lambda: bool(connection._sessions), what="a session for the next program")
    (ready,) = connection._sessions
    opened = opened_from_now_on(connection)
    channel = connection.start("echo $PWD:$LEFT")
    assert channel.session is ready  # type: ignore[attr-defined]
    assert channel.receive().decode().strip() == f"{Path.home()}:"
    until(lambda: bool(connection._sessions), what="a session for the third program")
    assert len(opened) == 1, "only that of the third program"


def test_a_session_that_the_host_has_closed_is_not_used(connection: ReadySsh) -> None:
    assert run(connection, "echo 1") == "1"
    until(lambda: bool(connection._sessions), what="a session for the next program")
    connection._sessions[0].close()
    assert run(connection, "echo 2") == "2" and connection.is_open


def test_a_host_that_allows_no_more_sessions_is_used_as_before(
    make_nodes: Callable[[int], NodeSet],
) -> None:
    nodes = make_nodes(1)
    daemon = Daemon(nodes.root / "sshd" / "node1")
    daemon.config.write_text(f"MaxSessions 1\n{daemon.config.read_text()}")
    listener = daemon.pid()
    assert listener
    daemon.pid_file.unlink()
    os.kill(listener, signal.SIGHUP)  # it reads its settings again
    until(daemon.pid, what="the daemon that listens again")
    connection = ReadySsh(target(nodes["node1"]))
    try:
        channel = connection.start("echo 1; read line")
        until(
            lambda: "no more sessions" in daemon.log.read_text(),
            what="the session that is refused",
        )
        assert channel.receive() == b"1\n"
        channel.send(b"\n")
        assert channel.status(10) == 0
        channel.close()
        assert run(connection, "echo 2") == "2" and connection.is_open
        connection.start_ahead(GREETER, b"you\n")
        assert connection.started_ahead(GREETER) is None, "the only session is for the next command"
    finally:
        connection.close()


def test_an_idle_connection_whose_host_went_silent_is_given_up_as_fast_as_before(
    connection: ReadySsh,
) -> None:
    server = int(run(connection, "echo $PPID"))
    until(lambda: bool(connection._sessions), what="a session for the next program")
    os.kill(server, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(HostUnreachable):
            connection.start("echo 2")
        assert time.monotonic() - began < 20, "it waited as long as for a program to start"
    finally:
        os.kill(server, signal.SIGCONT)


GREETER = Program("echo $$; read name; echo hello $name", "the SHA-256 of the name")


def test_a_program_that_was_started_ahead_has_what_it_is_sent_first(connection: ReadySsh) -> None:
    connection.start_ahead(GREETER, b"you\n")
    opened = opened_from_now_on(connection)
    channel = connection.started_ahead(GREETER)
    assert channel and not opened
    output, _ = read_all(channel, 100)
    assert re.fullmatch(r"\d+\nhello you\n", output.decode())
    channel.close()
    assert connection.started_ahead(GREETER) is None, "each serves one command"


def test_a_program_is_not_used_for_another_one(connection: ReadySsh) -> None:
    connection.start_ahead(GREETER, b"you\n")
    (_, started) = connection._programs[0]
    assert connection.started_ahead(Program(GREETER.command, "another name")) is None
    assert started.session.closed, "no command waits for it any more"

    connection.start_ahead(GREETER, b"you\n")
    assert connection.started_ahead(Program("true", "")) is None
    assert connection.started_ahead(GREETER), "a program that is sent nothing first left it"


def test_a_program_that_has_ended_meanwhile_is_not_used(connection: ReadySsh) -> None:
    connection.start_ahead(Program("true", "first"), b"")
    (_, started) = connection._programs[0]
    until(lambda: started.session.closed, what="its end")
    assert connection.started_ahead(Program("true", "first")) is None


def test_a_host_that_went_silent_long_ago_is_tried_before_its_program_is_used(
    connection: ReadySsh,
) -> None:
    server = int(run(connection, "echo $PPID"))
    connection.start_ahead(GREETER, b"you\n")
    connection._heard -= TRUSTED_SECONDS + 1
    channel = connection.started_ahead(GREETER)
    assert channel and channel.receive()
    channel.close()

    connection.start_ahead(GREETER, b"you\n")
    connection._heard -= TRUSTED_SECONDS + 1
    os.kill(server, signal.SIGSTOP)
    try:
        assert connection.started_ahead(GREETER) is None and not connection.is_open
    finally:
        os.kill(server, signal.SIGCONT)


def opened_from_now_on(connection: ReadySsh) -> list[int]:
    transport, opened = connection._fabric.transport, []
    open_session = transport.open_session

    def counted(**settings: Any) -> Any:
        opened.append(1)
        return open_session(**settings)

    transport.open_session = counted
    return opened
