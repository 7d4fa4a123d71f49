"""Ledger: what each run meant to do and did, one JSON line per event, in a folder of its own that
outlives the run."""

from __future__ import annotations

import errno
import os
import resource
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, NotWritten
from playrunner.results import Recap, Result
from playrunner.text import atomic_write
from playrunner.text.safe_path import file_name
from playrunner.text.streams import as_json
from playrunner.vault.masking import masking

KEPT_RUNS = 2000  # older run folders are removed; PLAYRUNNER_KEPT_RUNS names another number
# Of the folder's files; records without one are of version 0.1 and read the same. It goes up when a
# reader of today would misread them.
FORMAT = 1
OUTPUT, DIFF = "    ", "  ~ "  # what lines of a host's log begin with
OPEN_SHARE = 16  # one in so many of the files that may be open is a host's log


def state_directory() -> Path:
    """Where runs are recorded: the XDG state directory, or PLAYRUNNER_STATE_HOME."""
    given = os.environ.get("PLAYRUNNER_STATE_HOME")
    if given:
        return Path(given)
    from platformdirs import user_state_path

    return Path(user_state_path("playrunner"))


def kept_runs() -> int:
    """How many of the newest run folders are kept; 0 keeps all."""
    given = os.environ.get("PLAYRUNNER_KEPT_RUNS", "").strip()
    if not given:
        return KEPT_RUNS
    if not given.isascii() or not given.isdecimal() or len(given) > 9:
        raise BadInput(
            f'PLAYRUNNER_KEPT_RUNS is "{given[:40]}"; set it to a number of runs, or to 0 to keep'
            " all of them"
        )
    return int(given)


@contextmanager
def recording_in(folder: Path) -> Iterator[None]:
    """Fail before a host is touched if the state folder cannot be written."""
    try:
        yield
    except BlockingIOError:
        raise  # a lock that another run holds
    except OSError as error:
        raise BadInput(
            f"the run cannot be recorded in {folder}: {error.strerror or error};"
            " set PLAYRUNNER_STATE_HOME to a folder that can be written"
        ) from None


class Ledger:
    """The record of one run. Intent is written before a step starts, outcome after it ended.

    A disk that fills up does not end a run that is under way: `lost` is why something is missing in
    the record.
    """

    def __init__(
        self, command: str, directory: Path | None = None, check: bool = False, diff: bool = False
    ) -> None:
        root = (directory or state_directory()) / "runs"
        self._kept = kept_runs()
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self.command = command
        self.run_id = f"{stamp}-{secrets.token_hex(3)}"
        self.folder = root / self.run_id
        self.lost: OSError | None = None
        self._diff = diff  # only where it was asked for: comparing texts takes time
        self._logs: dict[str, FileIO] = {}
        self._most_open = _most_open()
        self._lock = threading.Lock()
        with recording_in(self.folder), _removed_on_failure(self.folder):
            self.folder.mkdir(parents=True, mode=0o700)
            (self.folder / "hosts").mkdir(mode=0o700)
            self._events = _opened(self.folder / "events.jsonl")
            facts = {"check": True} if check else {}
            self.event("run", command=command, pid=os.getpid(), format=FORMAT, **facts)
            if self.lost:
                raise self.lost
            self._point_latest(root)

    def event(self, kind: str, **facts: Any) -> None:
        line = as_json({"at": round(time.time(), 3), "event": kind, **facts}) + "\n"
        self._write(None, line.encode())

    def intend(self, host: str, step: str, module: str, place: str) -> None:
        self.event("intent", host=host, step=masking.text(step), module=module, place=place)

    def add_result(self, result: Result) -> None:
        self.event(
            "outcome",
            host=result.host,
            step=masking.text(result.step),
            module=result.module,
            status=result.status,
            changed=result.changed,
            seconds=result.seconds,
            place=str(result.place),
            **(
                {"msg": masking.text(result.message)}
                if result.status in ("failed", "unreachable")
                else {}
            ),
        )
        self.output(result.host, masking.text(_log_text(result, self._diff)))

    def output(self, host: str, text: str) -> None:
        """A host's full output, in its own file."""
        self._write(host, text.encode(errors="replace"))

    def _write(self, host: str | None, data: bytes) -> None:
        """Add to a host's log or to the events, in one call, so that lines of several threads do
        not mix. No lock: with many hosts, threads would spend their time on handing it over.

        What follows a loss begins on a line of its own, since the line before may be cut off.
        """
        try:
            if self.lost:
                data = b"\n" + data
            if host is None:
                _append(self._events, data)
            elif log := self._logs.get(host) or self._kept_open(host):
                _append(log, data)
            else:
                with _opened(self._log_of(host)) as log:
                    _append(log, data)
        except OSError as error:
            self.lost = self.lost or error
        except ValueError:
            pass  # the record is closed: a step that was interrupted ended after its run

    def _kept_open(self, host: str) -> FileIO | None:
        """The log of a host that writes for the first time; None where too many are open."""
        with self._lock:
            if host not in self._logs and len(self._logs) < self._most_open:
                self._logs[host] = _opened(self._log_of(host))
            return self._logs.get(host)

    def _log_of(self, host: str) -> Path:
        return self.folder / "hosts" / f"{file_name(host)}.log"

    def close(self, recap: Recap, exit_code: int, seconds: float) -> None:
        self.event("end", exit_code=exit_code, seconds=round(seconds, 3))
        self._events.close()
        for log in self._logs.values():
            log.close()
        summary = {
            "run_id": self.run_id,
            "exit_code": exit_code,
            "seconds": round(seconds, 3),
            "recap": recap.hosts,
            "slowest": [
                {"seconds": taken, "host": host, "step": masking.text(step)}
                for taken, host, step in recap.slowest
            ],
        }
        try:
            # Not durable: every run writes one, and waiting for the disk would slow short runs.
            atomic_write.write_text(
                self.folder / "recap.json", as_json(summary, indent=2) + "\n", durable=False
            )
            _forget_old(self.folder, self._kept)
        except OSError as error:
            self.lost = self.lost or error

    def loss(self) -> NotWritten:
        """The message about events that could not be recorded."""
        assert self.lost
        return NotWritten(
            f"the record of this run in {self.folder} is not complete:"
            f" {self.lost.strerror or self.lost}; the run itself went on; make room, or set"
            " PLAYRUNNER_STATE_HOME to another folder"
        )

    def _point_latest(self, root: Path) -> None:
        scratch = root / f".latest-{self.run_id}"
        scratch.symlink_to(self.run_id)
        scratch.replace(root / "latest")


def _opened(path: Path) -> FileIO:
    return FileIO(path, "a", opener=lambda name, flags: os.open(name, flags, 0o600))


def _append(file: FileIO, data: bytes) -> None:
    if file.write(data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _most_open() -> int:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if most == resource.RLIM_INFINITY else max(1, most // OPEN_SHARE)


@contextmanager
def _removed_on_failure(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        raise


def _log_text(result: Result, diff: bool) -> str:
    """The step in a line, its output with OUTPUT before each line, its diff with DIFF."""
    lines = [f"[{time.strftime('%H:%M:%S')}] {result.status}: {result.step}"]
    for values in [item.values for item in result.items] or [result.values]:
        for stream in ("stdout", "stderr", "msg"):
            if values.get(stream):
                lines += [f"{OUTPUT}{line}" for line in str(values[stream]).splitlines()]
        if diff and isinstance(values.get("diff"), dict | list):
            from playrunner.text.diffs import diff_lines

            for text in diff_lines(values["diff"]):
                lines += [f"{DIFF}{line}" for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def _forget_old(own: Path, kept: int) -> None:
    """Without a look at each folder, since every run ends with this; a run's own stays."""
    with os.scandir(own.parent) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    if not 0 < kept < len(names):
        return
    import shutil

    for name in names[:-kept]:
        if name != own.name:
            shutil.rmtree(own.parent / name, ignore_errors=True)
