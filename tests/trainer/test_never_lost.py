"""Random kills, damage and resumes: what was saved whole is what is resumed from."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.trainer.test_checkpoint import ALONE
from trainer.checkpoint import manifest, run_folder
from trainer.checkpoint.checkpoint import Checkpoints, read_state
from trainer.checkpoint.manifest import MARKER, damage
from trainer.config import Checkpoint

KEEP = 2


class Killed(BaseException):
    """The process ends here, whatever it was doing."""


@contextmanager
def killed_at(call: int) -> Iterator[None]:
    """End at the n-th change of the file system that saving makes."""
    count = 0
    usual: list[tuple[Any, str, Any]] = [
        (os, "rename", os.rename),
        (os, "fsync", os.fsync),
        (shutil, "rmtree", shutil.rmtree),
        (Path, "unlink", Path.unlink),
    ]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count >= call:  # nothing happens after the end
                raise Killed
            return real(*args, **kwargs)

        return change

    for holder, name, real in usual:
        setattr(holder, name, counted(real))
    try:
        yield
    finally:
        for holder, name, real in usual:
            setattr(holder, name, real)


class History:
    """A run as its user sees it, beside what must be true of its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.attempt, self.step = folder, 0, 0
        self.whole: dict[int, int] = {}  # undamaged ones: step to attempt
        self.maybe: tuple[int, int] | None = None  # one whose saving was cut off
        self.checkpoints = self.opened("auto")

    def opened(self, resume: str) -> Checkpoints:
        checkpoints = Checkpoints(self.folder, Checkpoint(keep=KEEP, resume=resume), ALONE)
        path = checkpoints.find()
        if resume == "never":
            assert path is None
            self.attempt, self.step = self.attempt + 1, 0
            return checkpoints
        allowed = {(max(self.whole), self.whole[max(self.whole)])} if self.whole else {(0, -1)}
        if self.maybe:
            allowed.add(self.maybe)
        if path is None:
            assert (0, -1) in allowed, f"nothing resumed, though one of {allowed} was saved"
            self.attempt, self.step, self.maybe = self.attempt + 1, 0, None
            return checkpoints
        assert damage(path) == "", path
        state = read_state(path)
        got = (state["step"], state["seed"])
        assert got in allowed or not self.whole, f"resumed {got}, not one of {allowed}"
        assert (path / "tensors").read_text() == f"{got}" * 50
        if self.maybe and got == self.maybe:
            self.commit(*got)
        self.step, self.attempt, self.maybe = *got, None
        return checkpoints

    def commit(self, step: int, attempt: int) -> None:
        kept = {
            old: of
            for old, of in {**self.whole, step: attempt}.items()
            if of == attempt and old <= step
        }
        self.whole = {old: kept[old] for old in sorted(kept)[-KEEP:]}

    def save(self) -> None:
        self.step += 10
        mine = (self.step, self.attempt)

        def begin(folder: Path) -> Callable[[], None]:
            return lambda: (folder / "tensors").write_text(f"{mine}" * 50) and None

        self.checkpoints.save(self.step, begin, {"step": self.step, "seed": self.attempt})
        self.checkpoints.wait()
        self.commit(*mine)
        self.maybe = None

    def save_killed(self, call: int) -> None:
        try:
            with killed_at(call):
                self.save()
        except Killed:
            self.maybe = (self.step, self.attempt)
        self.checkpoints = self.opened("auto")

    def harm(self, choice: int, how: str) -> None:
        there = sorted(self.folder.glob("step-*"))
        if not there:
            return
        victim = there[choice % len(there)]
        files = sorted(path for path in victim.rglob("*") if path.is_file())
        if not files:
            return
        file = files[choice // 7 % len(files)]
        content = file.read_bytes()
        if how == "missing":
            file.unlink()
        elif how == "flipped" and content:
            # One more, not the same bit again: that would mend it
            file.write_bytes(bytes([(content[0] + 1) % 256]) + content[1:])
        else:
            file.write_bytes(content[: len(content) // 2] if how == "shorter" else b"")
        step = int(victim.name.removeprefix("step-"))
        if damage(victim):
            self.whole.pop(step, None)
            if self.maybe and self.maybe[0] == step:
                self.maybe = None


OPERATIONS = st.one_of(
    st.tuples(st.just("save")),
    st.tuples(st.just("save_killed"), st.integers(1, 40)),
    st.tuples(
        st.just("harm"),
        st.integers(0, 200),
        st.sampled_from(["missing", "flipped", "shorter", "empty"]),
    ),
    st.tuples(st.just("resume"), st.sampled_from(["auto", "auto", "auto", "never"])),
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(OPERATIONS, min_size=3, max_size=14))
def test_no_sequence_of_kills_and_damage_loses_a_whole_checkpoint_or_loads_a_damaged_one(
    operations: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = History(Path(folder))
        for name, *arguments in operations:
            if name == "resume":
                run.checkpoints = run.opened(*arguments)
            else:
                getattr(run, name)(*arguments)
        run.opened("auto")


def _saves_until_killed(folder: Path) -> None:
    checkpoints = Checkpoints(folder, Checkpoint(keep=KEEP), ALONE)
    path = checkpoints.find()
    step = read_state(path)["step"] if path else 0
    while True:
        step += 1
        content = str(step).encode() * 4000

        def begin(partial: Path, content: bytes = content) -> Callable[[], None]:
            return lambda: (partial / "tensors").write_bytes(content) and None

        checkpoints.save(step, begin, {"step": step})
        checkpoints.wait()
        (folder / "saved").write_text(str(step))


def test_a_process_killed_while_it_saves_resumes_from_its_last_whole_checkpoint(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    saved = 0
    for _ in range(8):
        child = os.fork()
        if not child:
            try:
                _saves_until_killed(tmp_path)
            finally:
                os._exit(1)
        deadline = time.monotonic() + 60
        before = saved
        while saved < before + 2 and time.monotonic() < deadline:
            text = (tmp_path / "saved").read_text() if (tmp_path / "saved").exists() else ""
            saved = int(text or saved)
            time.sleep(0.005)
        time.sleep(chance.random() * 0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        text = (tmp_path / "saved").read_text()
        saved = int(text or saved)
        path = Checkpoints(tmp_path, Checkpoint(keep=KEEP), ALONE).find()
        assert path is not None and damage(path) == ""
        step = read_state(path)["step"]
        assert step >= saved and (path / "tensors").read_bytes() == str(step).encode() * 4000
        assert len(list(tmp_path.glob("step-*"))) <= KEEP + 1


def test_where_folders_cannot_be_renamed_the_marker_is_still_the_last_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on mounts of object stores."""
    order: list[str] = []
    sync = os.fsync

    def refuse(source: Path, target: Path) -> None:
        raise OSError(38, "Function not implemented", str(source))

    def noted(handle: int) -> None:
        order.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        sync(handle)

    partial = tmp_path / ".step-00000001.partial"
    (partial / "part").mkdir(parents=True)
    (partial / "part" / "zzz").write_bytes(b"z" * 100)
    (partial / "aaa").write_bytes(b"a" * 100)
    files = {"part/zzz": manifest.settled(partial / "part" / "zzz")}
    manifest.write_json(partial / MARKER, {"step": 1, "files": files})
    monkeypatch.setattr(manifest.os, "rename", refuse)
    monkeypatch.setattr(manifest.os, "fsync", noted)
    manifest.put_in_place(partial, tmp_path / "step-00000001")
    copied = [name for name in order if name in ("aaa", "zzz", MARKER)]
    assert copied == ["aaa", "zzz", MARKER]
    assert damage(tmp_path / "step-00000001") == "" and not partial.exists()


def test_a_rename_whose_answer_was_lost_counts_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on NFS, which sends the request again and gets an error."""
    rename = os.rename

    def answer_lost(source: Path, target: Path) -> None:
        rename(source, target)
        raise FileNotFoundError(2, "No such file or directory", str(source))

    partial = tmp_path / ".step-00000001.partial"
    partial.mkdir()
    manifest.write_json(partial / MARKER, {"step": 1, "files": {}})
    monkeypatch.setattr(manifest.os, "rename", answer_lost)
    manifest.put_in_place(partial, tmp_path / "step-00000001")
    assert (tmp_path / "step-00000001" / MARKER).exists()


def test_of_several_attempts_the_one_that_saved_last_is_gone_on_from() -> None:
    def entry(step: int, attempt: str, saved: float) -> run_folder.Entry:
        return run_folder.Entry(f"step-{step:08d}", manifest.Origin(step, attempt, "", saved))

    old, new = [entry(80, "a", 1.0), entry(100, "a", 2.0)], [entry(20, "b", 3.0)]
    assert [each.origin.step for each in run_folder.in_order([*old, *new])] == [20, 100, 80]
