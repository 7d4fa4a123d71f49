"""Checkpoints copied to a store: a real S3 API on this machine, and stores that answer late or not
at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.trainer.launching import launch, losses
from tests.trainer.conftest import SECRET
from tests.trainer.test_checkpoint import ALONE, saved, write_two_files
from trainer.__main__ import main
from trainer.checkpoint.checkpoint import Checkpoints
from trainer.checkpoint.manifest import MARKER, damage
from trainer.checkpoint.store_upload import upload
from trainer.config import Checkpoint


def test_the_copy_elsewhere_gets_its_marker_last(tmp_path: Path) -> None:
    saved(tmp_path / "here", 5, upload=f"file://{tmp_path}/there").close()
    copy = tmp_path / "there" / "step-00000005"
    assert damage(copy) == ""
    others = [path.stat().st_mtime_ns for path in copy.iterdir() if path.name != MARKER]
    assert (copy / MARKER).stat().st_mtime_ns >= max(others)


@pytest.mark.processes
def test_a_run_s_checkpoints_are_in_the_store_and_can_be_resumed_from_there(
    store: Any, tmp_path: Path
) -> None:
    settings = (
        "train.schedule.decay_steps=6",
        "train.log.every=1",
        "train.log.tensorboard=false",
        "train.checkpoint.schedule=[]",
        "train.checkpoint.every=2",
        "train.checkpoint.keep=0",
    )
    first = launch(
        "gpt2-small-smoke",
        tmp_path / "first",
        *settings,
        "train.steps=6",
        "train.checkpoint.upload=s3://bucket/some/run",
    )
    assert first.code == 0 and "not copied" not in first.text, first.text
    assert SECRET not in first.text
    names = sorted(path.rpartition("/")[2] for path in store.ls("bucket/some/run"))
    assert names == [f"step-{step:08d}" for step in (0, 2, 4, 6)]
    for name in names:
        store.get(f"bucket/some/run/{name}", str(tmp_path / name), recursive=True)
        assert damage(tmp_path / name) == ""

    files = store.ls(f"bucket/some/run/{names[-1]}", detail=True, refresh=True)
    marker = next(each for each in files if each["name"].endswith(MARKER))
    assert marker["LastModified"] >= max(each["LastModified"] for each in files)

    again = (*settings, "train.steps=7", f"train.checkpoint.resume={tmp_path / names[-1]}")
    arguments = [
        "--profile",
        "gpt2-small-smoke",
        *(part for each in again for part in ("--set", each)),
    ]
    assert main([*arguments, "--output", str(tmp_path / "second")]) == 0
    assert sorted(losses(tmp_path / "second")) == [7]


def test_what_the_run_before_did_not_finish_copying_is_copied_by_the_next(
    store: Any, tmp_path: Path
) -> None:
    saved(tmp_path, 5)
    store.pipe_file("bucket/run/step-00000005/one.bin", b"cut sho")
    again = Checkpoints(tmp_path, Checkpoint(upload="s3://bucket/run"), ALONE)
    again.find()
    again.close()
    assert store.cat_file("bucket/run/step-00000005/one.bin") == b"1" * 1000
    assert store.exists(f"bucket/run/step-00000005/{MARKER}")


def test_the_same_step_of_another_try_replaces_the_first(store: Any, tmp_path: Path) -> None:
    for content in ("a", "b"):
        saved(tmp_path / content, 5, upload="s3://bucket/run").close()
        (tmp_path / content / "step-00000005" / "one.bin").write_text(content)
        (tmp_path / content / "step-00000005" / MARKER).write_text(
            f'{{"files": {{}}, "try": "{content}"}}'
        )
        upload(tmp_path / content / "step-00000005", "s3://bucket/run", MARKER)
        assert store.cat_file("bucket/run/step-00000005/one.bin") == content.encode()


@pytest.fixture
def late(endpoint: Any) -> Iterator[tuple[threading.Event, threading.Event]]:
    """A store that answers nothing until it is told to, and then refuses."""
    asked, answer = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            answer.wait(60)
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_HEAD = do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint(f"http://127.0.0.1:{server.server_port}")
    yield asked, answer
    answer.set()
    server.shutdown()
    server.server_close()


def test_a_slow_store_holds_up_nothing_and_what_it_copies_is_not_removed(
    late: tuple[threading.Event, threading.Event],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked, answer = late
    checkpoints = Checkpoints(tmp_path, Checkpoint(upload="s3://bucket/run", keep=1), ALONE)
    checkpoints.save(1, write_two_files, {"step": 1}, wait=True)
    assert asked.wait(60)
    for step in (2, 3):
        checkpoints.save(step, write_two_files, {"step": step}, wait=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000001", "step-00000003"]
    checkpoints.close(seconds=0.0)
    said = capsys.readouterr().err
    assert (
        "step-00000002: not copied to s3://bucket/run: newer checkpoints replaced it first" in said
    )
    assert "step-00000001: not copied to s3://bucket/run: no time left" in said

    answer.set()
    checkpoints.close()
    said = capsys.readouterr().err
    assert (
        "step-00000001: not copied to s3://bucket/run: PermissionError" in said
        and "the local copy is kept" in said
    )
    assert SECRET not in said
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000003"]


@pytest.mark.parametrize("trouble", ["nobody listens", "no credentials"])
def test_a_store_that_cannot_be_used_does_not_end_the_run(
    trouble: str,
    endpoint: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    endpoint("http://127.0.0.1:9")
    if trouble == "no credentials":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    checkpoints = saved(tmp_path / "run", 5, upload="s3://bucket/run")
    checkpoints.close()
    said = capsys.readouterr().err
    assert "step-00000005: not copied to s3://bucket/run: " in said and SECRET not in said
    assert len(said.splitlines()) == 1
    assert damage(tmp_path / "run" / "step-00000005") == ""
