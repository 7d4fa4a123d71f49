"""The link between nodes against whatever may reach its port: only nodes that hold the run's token
are heard."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.support.launch.first_node import (
    TOKEN,
    First,
    first,  # noqa: F401
)
from trainer.node import heartbeat_link
from trainer.node.heartbeat_link import MAX_UNAUTHENTICATED, Peer, connect
from trainer.node.seal import Seal, mac


@pytest.mark.parametrize(
    "said",
    [
        b'{"node":"x","proof":"\\u00e9"}\n',
        '{"node":"x","proof":"é"}\n'.encode(),
        b"[" * 60_000,
        b"[" * 60_000 + b"\n",
        b"\n",
        b"\0" * 100 + b"\n",
        b"\xff\xfe\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"a" * 1_000_000,
        (b" " * 400 + b"\n") * 2,
    ],
    ids=lambda said: repr(said[:20]),
)
def test_bytes_of_a_stranger_close_its_connection_and_nothing_else(
    first: First, said: bytes
) -> None:
    with first.caller() as stranger:
        assert _sent(stranger, said) >= 0
        first.until(lambda: first.notes)
    assert "a connection from 127.0.0.1 to the link port was refused" in first.notes[0]
    node = first.node()
    assert node
    first.until(lambda: "node2 has joined" in first.notes)
    assert first.ended == []
    node.close()


@settings(max_examples=60, deadline=None)
@given(some.lists(some.binary(max_size=200), min_size=1, max_size=4))
def test_no_bytes_whatever_raise_an_error_in_the_first_node(said: list[bytes]) -> None:
    first = First()
    try:
        with first.caller() as stranger:
            for each in said:
                _sent(stranger, each)
                first.turn()
            _sent(stranger, b"\n")
            first.until(lambda: first.notes)
        assert first.ended == []
    finally:
        first.close()


_JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(some.sampled_from(["failed", "ended", "beat", "welcome", "x"]), _JSON)
def test_no_message_of_a_node_whatever_raises_an_error_in_the_first_node(
    word: str, value: Any
) -> None:
    first = First()
    try:
        node = first.node()
        assert node
        node.send({word: value})
        for _ in range(3):
            first.turn()
        node.close()
    finally:
        first.close()


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b"null",
        b"7",
        b"not json",
        b'{"failed": 7}',
        b'{"failed": {"kind": "rank", "tail": 7}}',
        b'{"failed": {"kind": "rank", "time": "soon"}}',
        b'{"failed": {"kind": "rank", "code": Infinity}}',
        b'{"failed": {"kind": "rank", "time": []}}',
        b'{"failed": {"kind": "no such kind"}}',
        b'{"failed": {"kind": []}}',
    ],
)
def test_a_node_that_talks_nonsense_is_hung_up_on_and_can_call_again(
    first: First, text: bytes
) -> None:
    node = first.node()
    assert node and node._outgoing_seal
    node.write(node._outgoing_seal.closed(text))
    first.until(lambda: _hung_up(node))
    again = first.node()
    assert again
    assert first.ended == []
    again.close()


def test_a_line_that_was_changed_repeated_or_made_up_on_its_way_is_not_believed(
    first: First,
) -> None:
    for spoil in (
        lambda line: line.replace(b"seven", b"eight"),
        lambda line: line + b"\n" + line,
        lambda line: b"0" * 64 + line[64:],
    ):
        node = first.node()
        assert node and node._outgoing_seal
        said = {"failed": {"node": "node2", "kind": "rank", "what": "seven", "time": 1.0}}
        node.write(spoil(node._outgoing_seal.closed(json.dumps(said).encode())))
        first.until(lambda: _hung_up(node))  # noqa: B023 (called at once)
        assert len(first.ended) <= 1  # of the repeated ones, the first
        assert not any("eight" in each.what for each in first.ended)
        first.ended.clear()


def test_neither_a_wrong_token_nor_a_name_that_is_not_of_the_run_is_taken_in(first: First) -> None:
    assert first.node(token="another") is None
    assert first.node(name="node7") is None
    assert first.contact.server and not first.contact.server.peers


def test_callers_that_say_nothing_are_dropped_in_time_and_named_once(
    first: First, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat_link, "HANDSHAKE_SECONDS", 0.3)
    silent = [first.caller() for _ in range(5)]
    first.until(lambda: all(_closed(each) for each in silent))
    assert len(first.notes) == 1
    assert first.contact.server and not first.contact.server.unauthenticated


def test_a_crowd_of_strangers_does_not_keep_a_node_out(first: First) -> None:
    crowd = []
    for _ in range(MAX_UNAUTHENTICATED + 20):
        crowd.append(first.caller())
        first.turn(0.001)
    assert first.contact.server
    first.until(lambda: len(first.contact.server.unauthenticated) <= MAX_UNAUTHENTICATED)  # type: ignore[union-attr]
    node = first.node()
    assert node
    assert len(first.notes) == 2  # of the crowd, and of the node that joined
    for each in crowd:
        each.close()


def test_an_impostor_in_the_place_of_the_first_node_costs_a_caller_seconds_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeat_link, "CONNECT_SECONDS", 0.5)
    for said in (b"[" * 70_000 + b"\n", b"", b"n\n" + b"0" * 65 + b"{}\n", b"\xff" * 400 + b"\n"):
        with socket.create_server(("127.0.0.1", 0)) as impostor:
            began = time.monotonic()
            caller = threading.Thread(
                target=lambda: found.append(  # noqa: B023 (joined in this turn)
                    connect("127.0.0.1", impostor.getsockname()[1], TOKEN, "node2")
                )
            )
            found: list[Peer | None] = []
            caller.start()
            line, _ = impostor.accept()
            _sent(line, said)
            caller.join(10)
            line.close()
            assert found == [None] and time.monotonic() - began < 5


def test_a_seal_opens_only_the_next_line_of_its_own_direction() -> None:
    nonces = (b"1", b"2")
    here, there = Seal(TOKEN, nonces, "out"), Seal(TOKEN, nonces, "out")
    line = here.closed(b"hello")
    assert there.opened(line) == b"hello"
    assert there.opened(line) is None
    assert Seal(TOKEN, nonces, "in").opened(line) is None
    assert Seal("other", nonces, "out").opened(line) is None
    assert mac(TOKEN, b"a", b"bc") != mac(TOKEN, b"ab", b"c")


def _sent(line: socket.socket, data: bytes) -> int:
    try:
        line.sendall(data)
    except OSError:
        pass  # it was hung up on in the middle
    return len(data)


def _hung_up(node: Peer) -> bool:
    node.receive()
    return not node.open


def _closed(line: socket.socket) -> bool:
    line.settimeout(0.01)
    try:
        while line.recv(4096):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True
