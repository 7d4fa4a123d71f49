"""Host keys of a machine are learnt from its console."""

from __future__ import annotations

import base64
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.aws.module_stage import AwsStage


def _host_key(number: int) -> str:
    kind = b"ssh-ed25519"
    blob = len(kind).to_bytes(4, "big") + kind + (32).to_bytes(4, "big") + bytes([number]) * 32
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


class Console:
    """An EC2 that knows one call: what a machine printed. It shows nothing at the first looks, as
    the real one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent, self.key = 2, _host_key(1)
        outer = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                text = (
                    outer.printed()
                    if len(outer.asked) > outer.silent
                    else "[    0.0] Linux version 6.1"
                )
                body = (
                    "<GetConsoleOutputResponse"
                    ' xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceId>i-1</instanceId>'
                    f"<output>{base64.b64encode(text.encode()).decode()}</output></GetConsoleOutputResponse>"
                ).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def printed(self) -> str:
        return (
            "ssh-rsa AAAA-not-between-the-marks\n<14>Nov  1 cloud-init: -----BEGIN SSH HOST KEY"
            f" KEYS-----\n[   17.2] cloud-init[1612]: {self.key}"
            f" root@ip-10-0-0-1\necdsa-sha2-nistp256 {'A' * 100} a key that is cut short\n-----END"
            " SSH HOST KEY KEYS-----\n"
        )


@pytest.fixture
def console() -> Iterator[Console]:
    made = Console()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def stage(console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AwsStage:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "aws-credentials").write_text(
        "[sandbox]\naws_access_key_id = A\naws_secret_access_key = B\n"
    )
    up = SimpleNamespace(
        region="us-west-2", endpoint_url=f"http://127.0.0.1:{console.server.server_port}"
    )
    return AwsStage(SimpleNamespace(up=up, root=tmp_path), tmp_path)  # type: ignore[arg-type]


def _known(instance: str) -> list[dict[str, Any]]:
    return [
        {
            "name": "key",
            "jumphost.known_host": {"name": "box", "instance_id": instance},
            "register": "known",
        }
    ]


def test_a_machine_is_known_by_the_keys_its_console_showed(
    stage: AwsStage, console: Console, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "jumphost" / "demo" / "known_hosts"
    foreseen = stage.play(_known("i-1"), check=True)
    assert foreseen.statuses == {"key": "changed"} and not console.asked and not file.exists()

    made = stage.play(_known("i-1"))
    assert made.code == 0 and made.values["key"]["host_keys"] == [console.key], made.messages
    assert len(console.asked) > console.silent, "it waited until they were shown"
    found = subprocess.run(
        ["ssh-keygen", "-F", "box", "-f", file], check=True, capture_output=True, text=True
    ).stdout
    assert [
        " ".join(line.split()[1:3]) for line in found.splitlines() if not line.startswith("#")
    ] == [console.key]

    asked = len(console.asked)
    assert not stage.play(_known("i-1")).changed and len(console.asked) == asked, (
        "a console forgets; we do not ask it again"
    )

    console.key = _host_key(2)
    assert stage.play(_known("i-2")).values["key"]["host_keys"] == [console.key], (
        "another machine, another key"
    )
    assert stage.delete(_known("i-2")).code == 0
    assert not file.exists()


def test_a_machine_that_shows_no_key_yet_can_be_deleted(
    stage: AwsStage, console: Console, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "jumphost" / "demo" / "known_hosts"
    file.parent.mkdir(parents=True)
    file.write_text(f"other {_host_key(3)} i-9\n# box i-1\n")
    console.silent = 1000
    assert stage.delete(_known("i-1")).code == 0
    assert file.read_text() == f"other {_host_key(3)} i-9\n"
