"""Data downloaded to a volume: marked only when complete, resumed, and not downloaded twice."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from trainer.staging import fetch as fetching
from trainer.staging.__main__ import main

CONTENT = bytes(range(256)) * 4096  # a megabyte


class Server:
    """A web server with one file; the first answers may be cut short."""

    def __init__(
        self, content: bytes, cut_after: int = 0, cuts: int = 0, ranges: bool = True
    ) -> None:
        self.content, self.cut_after, self.cuts, self.ranges = content, cut_after, cuts, ranges
        self.asked: list[str] = []
        self.address = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range", "")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("ETag", f'"{hash(self.content)}"')
        handler.end_headers()
        if handler.command == "HEAD":
            return
        self.asked.append(wanted)
        if self.cuts:
            self.cuts -= 1
            handler.wfile.write(body[: self.cut_after])
            handler.close_connection = True
            return
        handler.wfile.write(body)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        do_HEAD = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    server.address = f"http://127.0.0.1:{listening.server_port}/data.tar"
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "FIRST_PAUSE_SECONDS", 0.01)


def staged(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any], str]:
    code = main([str(word) for word in words])
    text = capsys.readouterr().out
    result = [line for line in text.splitlines() if line.startswith("result ")]
    return code, json.loads(result[0].removeprefix("result ")) if result else {}, text


def test_a_broken_connection_is_taken_up_where_it_broke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(CONTENT, cut_after=300_000, cuts=2)) as server:
        code, told, text = staged(capsys, "--source", server.address, "--target", tmp_path / "data")
    assert (code, told["files"], told["bytes"]) == (0, 1, len(CONTENT)), text
    assert server.asked == ["", "bytes=300000-", "bytes=600000-"]
    assert (tmp_path / "data" / "data.tar").read_bytes() == CONTENT
    assert not (tmp_path / "data" / ".staging").exists()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_pod_that_died_leaves_its_part_to_the_next(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    ranges: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetching, "TRIES", 1)
    words = ("--target", tmp_path / "data")
    with serving(Server(CONTENT, cut_after=400_000, cuts=1, ranges=ranges)) as server:
        code, _, text = staged(capsys, "--source", server.address, *words)
        assert code == 75 and "the part received is kept" in text
        assert not (tmp_path / "data" / "staged.json").exists()
        code, told, text = staged(capsys, "--source", server.address, *words)
        assert (code, told["changed"]) == (0, True), text
    assert "resuming after 400000 bytes" in text
    assert (tmp_path / "data" / "data.tar").read_bytes() == CONTENT


def test_a_second_time_nothing_is_fetched_unless_something_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(CONTENT)) as server:
        words = ("--source", server.address, "--target", tmp_path / "data")
        assert staged(capsys, *words)[1]["changed"]
        again = staged(capsys, *words)[1]
        assert again == {
            "changed": False,
            "folder": str(tmp_path / "data"),
            "files": 1,
            "bytes": len(CONTENT),
        }
        assert len(server.asked) == 1
        (tmp_path / "data" / "data.tar").write_bytes(b"short")
        _, told, text = staged(capsys, *words)
        assert told["changed"] and "has 5 bytes" in text
        server.content = CONTENT[:-1]
        _, told, text = staged(capsys, *words)
        assert told["bytes"] == len(CONTENT) - 1 and "has changed" in text


def test_an_archive_is_unpacked_and_its_files_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(_archive({f"shards/{at}.hdf5": bytes(100) for at in range(4)}))) as server:
        words = ("--source", server.address, "--unpack", "--target", tmp_path / "data")
        code, told, text = staged(capsys, *words, "--least", 4, "--bytes", 400)
        assert (code, told["files"], told["bytes"]) == (0, 4, 400), text
        assert sorted(path.name for path in (tmp_path / "data" / "shards").iterdir()) == [
            f"{at}.hdf5" for at in range(4)
        ]
        code, told, text = staged(capsys, *words, "--least", 8)
        assert code == 5 and "each of 8 processes needs one" in text
        assert len(server.asked) == 1


def test_an_archive_that_would_write_elsewhere_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(_archive({"../escaped": b"x"}))) as server:
        code, _, text = staged(
            capsys, "--source", server.address, "--unpack", "--target", tmp_path / "data"
        )
    assert code == 5 and "cannot be unpacked" in text
    assert not (tmp_path / "escaped").exists() and not (tmp_path / "data" / "staged.json").exists()


def test_a_folder_of_a_bucket_comes_whole(
    store: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in (("set/a.bin", b"a" * 10), ("set/deep/b.bin", b"b" * 20)):
        store.pipe_file(f"bucket/{name}", content)
    words = ("--source", "s3://bucket/set", "--target", tmp_path / "data")
    code, told, text = staged(capsys, *words, "--files", 2)
    assert (code, told["files"], told["bytes"]) == (0, 2, 30), text
    assert (tmp_path / "data" / "deep" / "b.bin").read_bytes() == b"b" * 20
    assert not staged(capsys, *words)[1]["changed"]
    code, told, text = staged(
        capsys, "--source", "s3://bucket/set/a.bin", "--target", tmp_path / "one"
    )
    assert (code, told["bytes"]) == (0, 10), text
    code, _, text = staged(
        capsys, "--source", "s3://bucket/none-such", "--target", tmp_path / "none"
    )
    assert code == 5 and "no files found" in text


def _archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()
