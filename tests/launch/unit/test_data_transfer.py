"""A folder sent over a channel: a host gets the files that were offered and no others."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from playrunner.errors import BadInput, StepFailed
from playrunner.ssh.connection import Channel, Local
from playrunner.ssh.targets import Target
from playrunner.training.data.transfer import Folder, follow


def started(*lines: str) -> Channel:
    """A program of a host that sends these lines and shows what it gets in answer."""
    text = "".join(f"{line}\n" for line in lines)
    program = (
        f"import sys; sys.stdout.write({text!r}); sys.stdout.flush(); print(sys.stdin.readline())"
    )
    command = shlex.join([sys.executable, "-c", program])
    return Local(Target("node1", "localhost", "local")).start(f"exec {command}")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "secret").write_text("not offered")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("offered\n")
    return Folder(tmp_path / "data")


@pytest.mark.parametrize(
    "request_line",
    [
        {"file": "../secret", "start": 0},
        {"file": "/etc/passwd", "start": 0},
        {"file": "a.txt", "start": -5},
        {"file": "a.txt", "start": 99},
        {"file": ["a.txt"], "start": 0},
        {},
    ],
)
def test_a_host_that_asks_for_anything_else_is_refused(
    request_line: dict[str, object], folder: Folder
) -> None:
    with pytest.raises(StepFailed, match="a file was asked for that was not offered"):
        follow(started(f"send {json.dumps(request_line)}"), folder, lambda text: None)


def test_an_offered_file_is_sent_from_the_offset_on(folder: Folder) -> None:
    lines: list[str] = []
    asked = {"file": "a.txt", "start": 3}
    follow(started("send " + json.dumps(asked)), folder, lines.append)
    assert lines[0] == "ered"


def test_without_a_folder_requests_are_only_lines() -> None:
    lines: list[str] = []
    channel = started('send {"list": true}')
    channel.send(b"\n")
    _, why = follow(channel, None, lines.append)
    assert lines[0] == 'send {"list": true}' and why


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there are no files in it"):
        Folder(tmp_path)
