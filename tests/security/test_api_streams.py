"""Streams from an API server (a program in a pod, a forwarded port, a watch) that carry rubbish,
end early or never end."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import Access
from playrunner.kube.client.credentials import Credentials
from playrunner.kube.client.resource import Resource
from playrunner.kube.client.transport import Transport
from playrunner.kube.streams.exec import Ran, run_in_pod
from playrunner.kube.streams.port_stream import PodStream
from playrunner.kube.watch.watch import Collection, watch_until
from playrunner.text import answers
from playrunner.text.answers import BadAnswer
from tests.support.security.rubbish import Said, said, serving

pytest.importorskip("websocket")

PODS = Resource("v1", "Pod", "pods", True)
SUCCESS = bytes([3]) + json.dumps({"status": "Success"}).encode()


@contextmanager
def speaking(answer: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """A server on loopback that hears a request's head and then says what it likes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def talk(caller: socket.socket) -> None:
        with caller:
            head = b""
            while b"\r\n\r\n" not in head and (data := caller.recv(4096)):
                head += data
            try:
                answer(caller, head)
            except OSError:
                pass  # whoever called has heard enough

    def serve() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(caller,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def frames(*parts: bytes, more: bytes = b"") -> Callable[[socket.socket, bytes], None]:
    def answer(caller: socket.socket, head: bytes) -> None:
        key = next(
            line.split(b":")[1].strip()
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key")
        )
        accept = base64.b64encode(
            hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        ).decode()
        caller.sendall(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection:"
            f" Upgrade\r\nSec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol:"
            " v4.channel.k8s.io\r\n\r\n".encode()
        )
        for part in parts:
            caller.sendall(
                b"\x82"
                + (
                    bytes([len(part)])
                    if len(part) < 126
                    else b"\x7e" + struct.pack("!H", len(part))
                )
                + part
            )
        caller.sendall(more)

    return answer


def kube_at(url: str) -> Kube:
    return Kube(
        Cluster(
            lambda: Transport(Access(url, "test", credentials=Credentials("Bearer secret-token")))
        )
    )


def ran(answer: Callable[[socket.socket, bytes], None]) -> Ran:
    with speaking(answer) as url:
        return run_in_pod(kube_at(url), "default", "web", "", ["true"], seconds=5)


def test_a_program_that_ends_well_is_heard() -> None:
    assert ran(frames(b"\x01out", b"\x02\xff\xfe", SUCCESS)) == Ran(0, "out", "\ufffd\ufffd")


@pytest.mark.parametrize(
    "last",
    [
        b"null",
        b"[]",
        b"5",
        b"hello",
        b'{"status": "Succ',
        b'{"status": []}',
        b'{"details": 5}',
        b"[" * 9000,
        b'{"details": {"causes": {}}}',
        b'{"details": {"causes": [5]}}',
    ],
)
def test_a_last_word_that_is_none_is_named(last: bytes) -> None:
    with pytest.raises(BadAnswer):
        ran(frames(b"\x01out", b"\x03" + last))


@pytest.mark.parametrize("code", ["\u00b2", "9" * 5000, "-1", "", "one"])
def test_an_exit_code_that_is_none_is_a_failure(code: str) -> None:
    status = {"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": code}]}}
    with pytest.raises(Failed, match="could not be run"):
        ran(frames(b"\x03" + json.dumps(status).encode()))


@pytest.mark.parametrize(
    "more",
    [b"\x82\x7f" + struct.pack("!Q", 1 << 40), b"\x81\x02\xff\xfe", b"\xf3\x01a", b"\x8b\x00"],
)
def test_a_frame_that_is_too_large_or_none_is_named(more: bytes) -> None:
    with pytest.raises(BadAnswer, match="cannot be read"):
        ran(frames(b"\x01out", more=more))


def test_a_stream_that_ends_in_the_middle_does_not_say_that_the_program_ended() -> None:
    with pytest.raises(Failed, match="whether the program ended is not known"):
        ran(frames(b"\x01out", more=b"\x82\x7e\x10\x00half"))


def test_output_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 1 << 20)
    with pytest.raises(BadAnswer, match="more than 1 MiB"):
        ran(frames(*[b"\x01" + b"a" * 60_000] * 40))


def test_a_token_does_not_follow_where_a_server_of_streams_leads() -> None:
    with serving(said({})) as other:
        leads = (
            "HTTP/1.1 302 Found\r\nLocation:"
            f" ws://127.0.0.1:{other.server_port}/\r\nContent-Length: 0\r\n\r\n".encode()
        )
        for use in (
            lambda kube: run_in_pod(kube, "default", "web", "", ["true"], seconds=5),
            lambda kube: PodStream(kube, "default", "web", 80),
        ):
            with (
                speaking(lambda caller, head: caller.sendall(leads)) as url,
                pytest.raises(HostUnreachable),
            ):
                use(kube_at(url))
        assert other.asked == []


@pytest.mark.parametrize(
    "head",
    [
        b"hello\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\xff" * 1000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Yes\r\nhello\r\n\r\n",
        b"HTTP/1.1 101 Yes\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_a_handshake_that_is_none_is_a_server_that_cannot_be_reached(head: bytes) -> None:
    from playrunner.kube.client.errors import KubeError

    with speaking(lambda caller, _: caller.sendall(head)) as url:
        with pytest.raises((HostUnreachable, KubeError)):
            run_in_pod(kube_at(url), "default", "web", "", ["true"], seconds=5)
        with pytest.raises(HostUnreachable):
            PodStream(kube_at(url), "default", "web", 80)


def test_a_handshake_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ANSWER_SECONDS", 0.3)

    def endless(caller: socket.socket, head: bytes) -> None:
        caller.sendall(b"HTTP/1.1 101 Yes\r\n")
        while True:
            caller.sendall(b"X-More: and more\r\n" * 100)

    with pytest.raises(HostUnreachable, match="does not come to its end"):
        ran(endless)


POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "a", "namespace": "b", "resourceVersion": "2"},
}


def watched(lines: bytes, length: int | None = None) -> str:
    page = said(
        {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
    )
    stream = Said(lines, length=length)
    with serving(lambda method, path: stream if "watch=true" in path else page) as server:
        return watch_until(
            kube_at(server.url),
            [Collection(PODS)],
            lambda seen: "" if any(seen.values()) else "no pod yet",
            3,
        )


def test_a_watch_tells_of_what_comes_also_when_its_next_line_is_cut_off() -> None:
    line = json.dumps({"type": "ADDED", "object": POD}).encode()
    assert watched(line + b"\n" + line[:30]) == ""
    assert watched(line + b"\n" + line[:30], length=100_000) == ""


@pytest.mark.parametrize(
    "line",
    [
        b"5",
        b"null",
        b"[]",
        b"{}",
        b"<html>",
        b'{"type": 5, "object": {}}',
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": []}',
        b'{"type": "ADDED", "object": {"metadata": 5}}',
        b"[" * 50_000,
        b'{"type": "BOOKMARK", "object": {"metadata": []}}',
        b"\xff\xfe",
    ],
)
def test_a_watch_that_tells_rubbish_is_named(line: bytes) -> None:
    with pytest.raises(BadAnswer):
        watched(line + b"\n")
