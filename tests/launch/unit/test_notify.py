"""--notify by address: a real server is told, and an address never shows."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import BadInput, HostUnreachable
from playrunner.training.notify import Notifier, check_target, notifying
from playrunner.training.runs.record import Record


@pytest.fixture
def listener() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if self.path.startswith("/broken") else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", received
    server.shutdown()
    server.server_close()


def test_an_address_is_told_of_stalls_ends_and_failures(
    listener: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path))
    address, received = listener
    Notifier(f"{address}/hook", "mine", pytest.fail).send("stalled", "no step for 0:30")

    def train() -> int:
        record = Record("mine")
        record.begin({"name": "mine"})
        record.write_metrics('{"step": 7, "loss": 1.5}\n')
        record.end({"state": "finished", "time": time.time()})
        return 0

    def unreachable() -> int:
        raise HostUnreachable("node1 does not answer")

    assert notifying(train, f"{address}/hook", "mine") == 0
    with pytest.raises(HostUnreachable):
        notifying(unreachable, f"{address}/hook", "mine")
    assert received == [
        {"event": "stalled", "run": "mine", "text": "no step for 0:30"},
        {"event": "finished", "run": "mine", "text": "mine finished at step 7"},
        {"event": "failed", "run": "mine", "text": "node1 does not answer"},
    ]


def test_an_address_that_does_not_answer_costs_a_line_without_what_opens_it(
    listener: tuple[str, list[dict[str, Any]]],
) -> None:
    lines: list[str] = []
    for address in (f"{listener[0]}/broken?token=hush", "http://127.0.0.1:1/?token=hush"):
        Notifier(address, "mine", lines.append).send("failed", "text")
    assert lines == [
        "--notify was not told that mine failed: HTTPError",
        "--notify was not told that mine failed: URLError",
    ]


@pytest.mark.parametrize("target", ["ftp://host/x", "file:///etc/passwd"])
def test_other_addresses_are_refused(target: str) -> None:
    with pytest.raises(BadInput, match="begins with http"):
        check_target(target, detach=False)
