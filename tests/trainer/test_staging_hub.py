"""hf:// by the real hub library, against a server that answers as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

BASE = "/api/datasets/owner/set"
FILES = {"en/train.parquet": b"P" * 5000, "en/notes.txt": b"notes", "de/train.parquet": b"Q"}
ALTERED = {"en/train.parquet": b"X" * 5000}


class Hub:
    def __init__(self) -> None:
        self.content = dict(FILES)
        self.address = ""

    def entry(self, name: str) -> dict[str, Any]:
        content = FILES[name]
        large = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 1}
        return {
            "type": "file",
            "oid": hashlib.sha1(content).hexdigest(),
            "size": len(content),
            "path": name,
            **({"lfs": large} if name.endswith(".parquet") else {}),
        }

    def answer(self, path: str) -> bytes | None:
        if path == BASE:
            return json.dumps({"_id": "1", "id": "owner/set", "sha": "0" * 40}).encode()
        if path.startswith(f"{BASE}/tree/main/"):
            folder = path.removeprefix(f"{BASE}/tree/main/")
            return json.dumps(
                [self.entry(name) for name in FILES if name.startswith(folder)]
            ).encode()
        return self.content.get(path.partition("/resolve/main/")[2])


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = made.answer(self.path.partition("?")[0])
            span = self.headers.get("Range", "").removeprefix("bytes=")
            self.send_response(404 if body is None else 206 if span else 200)
            whole = body or b""
            first, _, last = span.partition("-")
            part = whole[int(first) : int(last) + 1] if span else whole
            if span:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(whole)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made.address = f"http://127.0.0.1:{server.server_port}"
    yield made
    server.shutdown()
    server.server_close()


def staged(hub: Hub, target: Path, *words: str) -> subprocess.CompletedProcess[str]:
    source = ("--source", "hf://datasets/owner/set/en", "--target", str(target))
    return subprocess.run(
        [sys.executable, "-m", "trainer.staging", *source, *words],
        env={**os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(target.parent / "hub")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_folder_of_a_hubs_data_set_is_staged_and_checked_by_the_hubs_checksum(
    hub: Hub, tmp_path: Path
) -> None:
    pytest.importorskip("huggingface_hub")
    done = staged(hub, tmp_path / "set")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "set" / "train.parquet").read_bytes() == FILES["en/train.parquet"]
    assert (tmp_path / "set" / "notes.txt").read_bytes() == b"notes"
    assert not (tmp_path / "set" / "de").exists()
    hub.content |= ALTERED
    refused = staged(hub, tmp_path / "other", "--file", "train.parquet")
    assert refused.returncode == 5 and "is expected" in refused.stdout, refused.stdout
    assert not (tmp_path / "other" / "train.parquet").exists()
