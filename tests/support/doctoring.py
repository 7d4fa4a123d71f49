"""A bare machine: an empty home, an empty PATH, and an operator who applies the doctor's fixes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from tests.support import runner

PACKAGES = {
    "openssh-client": ("ssh", "ssh-keygen"),
    "openssh-clients": ("ssh", "ssh-keygen"),
    "buildah": ("buildah",),
}
LOGINS = (
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "KUBECONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
)


class BareMachine:
    """Its commands see only its own home and its own programs."""

    def __init__(self, folder: Path) -> None:
        self.home, self.programs, self.folder = folder / "home", folder / "bin", folder
        for place in (self.home, self.programs):
            place.mkdir()

    def doctor(self, inventory: Path, *words: object) -> runner.Outcome:
        own = {
            "HOME": str(self.home),
            "PATH": str(self.programs),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        no_logins = {name: "" for name in LOGINS if name in os.environ}
        return runner.invoke(
            "doctor",
            "--inventory",
            inventory,
            "--json",
            *words,
            state=self.home / "state",
            **no_logins,
            **own,
        )

    def program(self, name: str, text: str = "#!/bin/sh\necho 1.30.0\n") -> None:
        """The machine's own, where it has one; else a program that tells its version."""
        own = shutil.which(name)
        if own and "echo 1.30" in text:
            (self.programs / name).symlink_to(own)
        else:
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)

    def install(self, package: str) -> None:
        for name in PACKAGES[package]:
            if not (self.programs / name).exists():
                self.program(name)

    def shell(self, command: str) -> None:
        subprocess.run(
            ["/bin/sh", "-c", command],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self.home)},
        )


@contextmanager
def api_server(skew_seconds: float = 0) -> Iterator[str]:
    """An API server's /version, with a clock that may be wrong; its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"gitVersion": "v1.33.0"}).encode())

        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(time.time() + skew_seconds, usegmt=True)

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def write_kubeconfig(file: Path, server: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        json.dumps(
            {
                "current-context": "here",
                "clusters": [{"name": "here", "cluster": {"server": server}}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
                "users": [{"name": "me", "user": {}}],
            }
        )
    )
    file.chmod(0o600)
