"""Data from several kinds of sources: checksummed, unpacked without nesting, hostile content
refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.test_staging import (
    CONTENT,
    Server,
    impatient,  # noqa: F401
    serving,
    staged,
)
from trainer.staging import fetch as fetching

SHA256 = hashlib.sha256(CONTENT).hexdigest()


def archive(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return out.getvalue()


def test_content_with_another_checksum_is_refused_and_the_right_one_is_fetched_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    altered = bytes(len(CONTENT))
    with serving(Server(altered)) as server:
        words = ("--source", server.address, "--target", tmp_path / "data", "--sha256", SHA256)
        code, _, text = staged(capsys, *words)
        assert code == 5 and f"but {SHA256} is expected" in text
        assert not (tmp_path / "data" / "data.tar").exists()
        assert not (tmp_path / "data" / "staged.json").exists()
        server.content = CONTENT
        code, result, text = staged(capsys, *words)
    assert (code, result["changed"]) == (0, True), text
    marker = json.loads((tmp_path / "data" / "staged.json").read_text())
    assert marker["sha256"] == {"data.tar": SHA256}
    assert (marker["source"]["address"], marker["bytes"]) == (server.address, len(CONTENT))


def test_the_checksum_of_a_resumed_file_covers_both_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TRIES", 1)
    with serving(Server(CONTENT, cut_after=400_000, cuts=1)) as server:
        words = ("--source", server.address, "--target", tmp_path / "data", "--sha256", SHA256)
        assert staged(capsys, *words)[0] == 75
        code, result, text = staged(capsys, *words)
        assert (code, result["changed"]) == (0, True), text
        assert server.asked == ["", "bytes=400000-"]
        again = staged(capsys, *words)
        assert (again[0], again[1]["changed"], len(server.asked)) == (0, False, 2)


def test_declared_content_that_is_there_is_known_without_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(CONTENT)) as server:
        folder = server.address.removesuffix("data.tar")
        words = ("--target", tmp_path / "data", "--file", f"data.tar={SHA256}")
        code, result, text = staged(capsys, "--source", folder, *words)
        assert (code, result["changed"]) == (0, True), text
    # Neither the first server nor this address answers.
    code, result, text = staged(capsys, "--source", "http://127.0.0.1:9/elsewhere", *words)
    assert (code, result["changed"]) == (0, False), text


@pytest.mark.parametrize("top", ["data", "shards"])
def test_a_top_folder_that_repeats_the_target_or_the_archive_is_left_out(
    top: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(archive({f"{top}/a.hdf5": b"a", f"{top}/deep/b.hdf5": b"b"}))) as server:
        code, result, text = staged(
            capsys, "--source", server.address, "--unpack", "--target", tmp_path / "shards"
        )
    assert (code, result["files"]) == (0, 2), text
    assert (tmp_path / "shards" / "a.hdf5").read_bytes() == b"a"
    assert (tmp_path / "shards" / "deep" / "b.hdf5").read_bytes() == b"b"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (archive({"data/a": b"a"}, {"data/out": "../a"}), "it is a link"),
        (archive({"staged.json": b"{}"}), "kept for staging itself"),
        (archive({".staging/done.json": b"{}"}), "kept for staging itself"),
    ],
)
def test_members_that_would_mislead_are_refused_and_nothing_is_put_in_place(
    content: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(content)) as server:
        code, _, text = staged(
            capsys, "--source", server.address, "--unpack", "--target", tmp_path / "data"
        )
    assert code == 5 and why in text, text
    left = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert left == [".staging", ".staging.lock"]


def test_a_single_gzipped_file_is_unpacked_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    (bucket / "c4-train.json.gz").write_bytes(gzip.compress(b'{"text": "one"}\n{"text": "two"}\n'))
    (bucket / "notes.txt").write_text("kept")
    words = ("--source", f"file://{bucket}", "--target", tmp_path / "c4", "--unpack")
    code, result, text = staged(capsys, *words, "--file", "c4-train.json.gz")
    assert (code, result["files"]) == (0, 1), text

    from trainer.config import Data
    from trainer.data.documents import documents

    data = Data(source="folder", path=str(tmp_path / "c4"))
    assert list(documents(data, "train")) == ["one", "two"]


def test_a_folder_comes_through_a_pipe_and_only_what_is_missing_comes_again(
    tmp_path: Path,
) -> None:
    target = tmp_path / "data"
    (target / ".staging" / "parts").mkdir(parents=True)
    listed = [{"name": "a.bin", "size": len(CONTENT), "mark": "1"}]

    def receive(cut: int) -> tuple[int, list[dict[str, Any]]]:
        command = [sys.executable, "-m", "trainer.staging", "--source", "pipe:folder"]
        process = subprocess.Popen(
            [*command, "--target", str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin and process.stdout
        asked = []
        for line in process.stdout:
            if not line.startswith(b"send "):
                continue
            request = json.loads(line.removeprefix(b"send "))
            asked.append(request)
            if "list" in request:
                process.stdin.write(json.dumps(listed).encode() + b"\n")
                process.stdin.flush()
                continue
            rest = CONTENT[request["start"] :]
            process.stdin.write(rest[: cut or len(rest)])
            process.stdin.close()
        return process.wait(), asked

    code, asked = receive(cut=300_000)
    assert code == 75
    code, asked = receive(cut=0)
    assert code == 0 and asked[-1]["start"] == 300_000
    assert (target / "a.bin").read_bytes() == CONTENT


def test_what_an_address_is_signed_with_is_neither_kept_nor_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Server(CONTENT)) as server:
        words = ("--target", tmp_path / "data")
        code, result, text = staged(capsys, "--source", f"{server.address}?sig=abc123", *words)
        assert (code, result["changed"]) == (0, True), text
        again = staged(capsys, "--source", f"{server.address}?sig=def456", *words)
        assert (again[0], again[1]["changed"]) == (0, False), again[2]
    assert "abc123" not in text + (tmp_path / "data" / "staged.json").read_text()
