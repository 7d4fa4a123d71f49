"""host.wait_for waits for the event, not for the clock."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.wait_for import WaitFor


@pytest.fixture
def greeter() -> Any:
    """A port that says hello to whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with line:
                    line.sendall(b"220 ready 42\n")

        threading.Thread(target=greet, daemon=True).start()
        yield server.getsockname()[1]


def test_an_open_port_ends_the_wait(ctx: Any, greeter: int) -> None:
    result = perform(WaitFor(port=greeter), ctx)
    assert result["state"] == "started" and result["port"] == greeter and not result["changed"]


def test_what_the_port_says_is_matched(ctx: Any, greeter: int) -> None:
    assert perform(WaitFor(port=greeter, search_regex=r"ready (\d+)"), ctx)["match_groups"] == [
        "42"
    ]


def test_a_file_that_comes_later_ends_the_wait(ctx: Any, folder: Path) -> None:
    threading.Timer(0.05, (folder / "f").write_text, ["done 7\n"]).start()
    result = perform(
        WaitFor(path=str(folder / "f"), search_regex=r"done (?P<number>\d)", sleep=0.01), ctx
    )
    assert result["match_groupdict"] == {"number": "7"}


def test_what_is_gone_is_gone(ctx: Any, folder: Path) -> None:
    assert perform(WaitFor(path=str(folder / "f"), state="absent"), ctx)["state"] == "absent"
    assert perform(WaitFor(port=1, state="stopped"), ctx)["state"] == "stopped"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"port": 1}, "Timeout when waiting for 127.0.0.1:1$"),
        ({"path": "/nowhere"}, "waiting for file /nowhere"),
        ({"path": "/", "state": "absent"}, "to be absent"),
        ({"port": 1, "msg": "the database is late"}, "the database is late"),
    ],
)
def test_waiting_ends_with_what_was_awaited(
    ctx: Any, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(Failed, match=words):
        perform(WaitFor(timeout=0.05, **arguments), ctx)


def test_connections_keep_a_port_from_being_drained(ctx: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), pytest.raises(Failed, match="to drain"):
            perform(WaitFor(port=port, state="drained", timeout=0.05), ctx)


def test_check_does_not_wait(host: Callable[..., Any]) -> None:
    assert perform(WaitFor(port=1), host(check=True))["unknown"]


def test_a_port_and_a_path_are_one_too_many(ctx: Any) -> None:
    with pytest.raises(Failed, match="can not both"):
        perform(WaitFor(port=1, path="/x"), ctx)
