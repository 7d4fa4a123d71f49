"""What a host module writes before its result is whole: what a killed process leaves goes with the
next run, and what a living one writes stays."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from playrunner.modules.host import _drafts
from playrunner.modules.host._content import write
from playrunner.modules.host._large_files import LARGE_BYTES
from playrunner.modules.host.get_url import GetUrl
from playrunner.project import CODE
from tests.support.host.performing import context, done
from tests.support.host.stalling import Stage
from tests.support.host.web import serving


@contextmanager
def download(stage: Stage) -> Iterator[None]:
    class Stalling(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "20")
            self.end_headers()
            self.wfile.write(b"x" * 10)
            self.wfile.flush()
            stage.wait_here()
            with suppress(OSError):  # the one who asked was killed
                self.wfile.write(b"x" * 10)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    stage.results = {"place"}
    with serving(Stalling) as address:
        arguments = {"url": f"{address}/it", "dest": str(stage.drafts_in / "place")}
        stage.step = ("get_url", "GetUrl", {**arguments, "force": True}, {})
        yield
        stage.go_on()


@contextmanager
def packed_by_git(stage: Stage) -> Iterator[None]:
    repository = stage.folder / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "one").write_text("one")
    here = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example"]
    for words in (["add", "one"], ["commit", "-qm", "one"]):
        subprocess.run([*here, *words], check=True)
    program = stage.program("git", "archive", '"$real" "$@"')
    stage.results = {"it.tar"}
    arguments = {
        "repo": str(repository),
        "dest": str(stage.folder / "copy"),
        "executable": str(program),
        "archive": str(stage.drafts_in / "it.tar"),
    }
    stage.step = ("git", "Git", arguments, {})
    yield


def _archive(stage: Stage) -> tuple[Path, Path]:
    """A tar archive, and a folder to unpack it in."""
    (stage.folder / "one").write_text("one")
    packed, place = stage.folder / "it.tar", stage.folder / "unpacked"
    with tarfile.open(packed, "w") as archive:
        archive.add(stage.folder / "one", "one")
    place.mkdir()
    return packed, place


@contextmanager
def unpacked_by_tar(stage: Stage) -> Iterator[None]:
    packed, place = _archive(stage)
    stage.program("tar", "--extract")
    stage.environment["TMPDIR"] = str(stage.drafts_in)
    data = packed.read_bytes()
    sent = {
        "name": "it.tar",
        "sha1": hashlib.sha1(data).hexdigest(),
        "size": len(data),
        "text": data.decode("latin-1"),
    }
    arguments = {"src": sent, "dest": str(place), "extra_opts": ["--no-same-owner"]}
    stage.step = ("unarchive", "Unarchive", arguments, {})
    yield


@contextmanager
def unpacked_from_a_large_file(stage: Stage) -> Iterator[None]:
    packed, place = _archive(stage)
    large = stage.folder / "it.tar.zst"
    large.write_bytes(b"\x28\xb5\x2f\xfd" + os.urandom(LARGE_BYTES))
    stage.program("zstd", "-dc", then=f"cat >/dev/null; cat {packed}")
    stage.drafts_in = stage.folder / ".playrunner"
    stage.drafts_in.mkdir()
    stage.environment["HOME"] = str(stage.folder)
    sha1 = hashlib.sha1(large.read_bytes()).hexdigest()
    sent = {"name": large.name, "sha1": sha1, "size": large.stat().st_size}
    # An earlier step has put it there, so no controller has to send it
    stage.step = (
        "unarchive",
        "Unarchive",
        {"src": sent, "dest": str(place)},
        {sha1: str(large)},
    )
    yield


@pytest.fixture(params=[download, packed_by_git, unpacked_by_tar, unpacked_from_a_large_file])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    with request.param(made):
        try:
            yield made
        finally:
            for process in made.processes:
                process.kill()
                process.communicate()
            made.go_on()


def test_the_next_run_deletes_what_a_killed_one_left(stage: Stage) -> None:
    process = stage.run_until_it_stalls()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(stage.drafts()) == 1
    stage.ends_well(stage.run())
    assert stage.drafts() == set()


def test_what_a_living_run_writes_stays(stage: Stage) -> None:
    living = stage.run_until_it_stalls()
    written = stage.drafts()
    stage.ends_well(stage.run())
    assert stage.drafts() == written
    stage.go_on()
    stage.ends_well(living)
    assert stage.drafts() == set()


def test_a_download_that_is_not_needed_any_more_deletes_what_a_killed_one_left(
    tmp_path: Path,
) -> None:
    left, place = _named(tmp_path, os.uname().nodename), tmp_path / "place"
    left.touch()
    place.write_text("here")
    sum_of_it = hashlib.sha256(b"here").hexdigest()
    step = GetUrl(url="http://127.0.0.1:9/", dest=str(place), checksum=f"sha256:{sum_of_it}")
    done(step, check=True)
    assert left.exists()
    done(step)
    assert not left.exists()


KILLED = """
import os, signal, sys
sys.path.insert(0, {code!r})
from playrunner.modules.host._content import write
from tests.support.host.performing import context

def content():
    yield b"one"
    if not {validate!r}:
        os.kill(os.getpid(), signal.SIGKILL)

if not {validate!r}:
    del os.O_TMPFILE
write(context(), {path!r}, content(), {{"mode": "0640"}}, {validate!r})
"""


@pytest.mark.parametrize("validate", ["sh -c 'kill -9 $PPID' %s", None])
def test_a_file_that_had_to_have_a_name_goes_with_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validate: str | None
) -> None:
    program = KILLED.format(code=str(CODE), path=str(tmp_path / "place"), validate=validate)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert len(list(tmp_path.iterdir())) == 1

    if not validate:
        monkeypatch.delattr(os, "O_TMPFILE")
        monkeypatch.setattr(_drafts, "_can_name", {})

    def content() -> Iterator[bytes]:
        yield b"one"
        before = {path.name for path in tmp_path.iterdir()}
        write(context(), str(tmp_path / "other"), [b"two"], {}, validate and "true %s")
        assert {path.name for path in tmp_path.iterdir()} == before | {"other"}

    write(context(), str(tmp_path / "place"), content(), {}, validate and "true %s")
    assert {path.name for path in tmp_path.iterdir()} == {"place", "other"}


def test_a_program_may_validate_a_draft_by_running_it(tmp_path: Path) -> None:
    place = tmp_path / "place"
    write(context(), str(place), [b"#!/bin/sh\nexit 0\n"], {"mode": "0755"}, "%s")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def _named(folder: Path, host: str) -> Path:
    return folder / f"{_drafts.PREFIX}{_drafts.machine(host)}-1-1"


@pytest.mark.parametrize("make", ["link", "fifo", "folder", "elsewhere"])
def test_what_cannot_be_a_draft_of_this_machine_stays(tmp_path: Path, make: str) -> None:
    """Where the same folder is on another machine, its locks may not show here."""
    here = os.uname().nodename
    precious = tmp_path / "precious"
    precious.write_text("precious")
    path = _named(tmp_path, "another" if make == "elsewhere" else here)
    makers: dict[str, Callable[[], object]] = {
        "link": lambda: path.symlink_to(precious),
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "elsewhere": path.touch,
    }
    makers[make]()
    dead = _named(tmp_path, here).with_suffix(".dead")
    dead.touch()
    _drafts.Draft(context(), str(tmp_path)).end()
    assert {each.name for each in tmp_path.iterdir()} == {"precious", path.name}
    assert precious.read_text() == "precious"
