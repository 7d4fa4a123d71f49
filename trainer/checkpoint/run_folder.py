"""The checkpoints in a run's folder: which one to resume from, which ones to keep, and which ones
are moved aside because this attempt does not go on from them.

Nothing is moved or removed before this attempt has a complete checkpoint of its own.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from trainer.checkpoint.manifest import (
    MARKER,
    Origin,
    damage,
    origin_of,
    put_in_place,
    read_origin,
)
from trainer.frozen import frozen

ASIDE = "set-aside"
Say = Callable[[str], None]
Signature = tuple[tuple[str, int, int], ...]


@frozen
class Entry:
    """One checkpoint by its folder's name."""

    name: str
    origin: Origin


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The attempt that saved last comes first, and of each attempt its highest step: a fresh start
    beside higher steps of an older one is what goes on."""
    entries = list(entries)
    latest: dict[str, float] = {}
    for entry in entries:
        attempt = entry.origin.attempt
        latest[attempt] = max(latest.get(attempt, 0.0), entry.origin.saved)
    return sorted(
        entries,
        key=lambda entry: (latest[entry.origin.attempt], entry.origin.attempt, entry.origin.step),
        reverse=True,
    )


def launch_id() -> str:
    """The launcher's id of this launch, equal in all its restarts; empty without a launcher."""
    run = os.environ.get("PLAYRUNNER_RUN", "").partition("/")[0]
    return os.environ.get("TRAINER_LAUNCH") or run


def new_attempt() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


class RunFolder:
    def __init__(self, path: Path, checksums: bool, say: Say) -> None:
        self.path, self.checksums, self.say = path, checksums, say
        self.attempt = ""
        self.launch = launch_id()
        self._cleared = True
        self._resumed_step = -1
        self._good: dict[str, Signature] = {}
        self._damaged: dict[str, str] = {}

    def choose(self, resume: str) -> Entry | None:
        """The one to go on from: of all, where `resume` is auto, else of those that an earlier
        start of this launch has saved."""
        for entry in in_order(self._entries()):
            if resume != "auto" and not (self.launch and entry.origin.launch == self.launch):
                continue
            problem = damage(self.path / entry.name, self.checksums)
            if not problem:
                self._good[entry.name] = self._signature(entry.name)
                return entry
            self._pass_over(entry.name, problem)
        return None

    def clear_leftovers(self) -> None:
        """Unfinished ones go; one that is whole and only lacks its name gets it."""
        for partial in sorted(self.path.glob(".step-*.partial")):
            final = self.path / partial.name.removeprefix(".").removesuffix(".partial")
            if not final.exists() and not damage(partial):
                put_in_place(partial, final)
                self.say(f"checkpoint: {final}: was whole and only lacked its name")
            shutil.rmtree(partial, ignore_errors=True)
        for earlier in self.path.glob(".step-*.replaced"):
            final = self.path / earlier.name.removeprefix(".").removesuffix(".replaced")
            if final.exists():
                shutil.rmtree(earlier, ignore_errors=True)
            else:
                earlier.rename(final)
        for universal in self.path.glob(".universal-*"):
            shutil.rmtree(universal, ignore_errors=True)

    def begin(self, resumed: Entry | None, attempt: str) -> None:
        """This attempt goes on from a checkpoint of this folder, or from none of them."""
        self.attempt, self._cleared = attempt, False
        self._resumed_step = resumed.origin.step if resumed else -1
        if resumed:  # another node may have sent a good copy in place of a damaged one
            self._damaged.pop(resumed.name, None)

    def add(self, partial: Path, step: int) -> Path:
        """Give a whole checkpoint its name; before the first one, move aside what this attempt
        does not go on from."""
        if not self._cleared:
            self._set_aside(self._not_ours())
            self._cleared = True
        final = self.path / f"step-{step:08d}"
        put_in_place(partial, final)
        self._good[final.name] = self._signature(final.name)
        self._damaged.pop(final.name, None)
        return final

    def prune(self, keep: int, may_remove: Callable[[Path], bool]) -> None:
        """Leave the newest few that are whole; only those of this attempt count or go."""
        own = [entry for entry in self._entries() if entry.origin.attempt == self.attempt]
        if not keep or len(own) <= keep:
            return
        good, damaged = 0, []
        for entry in sorted(own, key=lambda entry: entry.origin.step, reverse=True):
            path = self.path / entry.name
            if good >= keep:
                if may_remove(path):
                    # The marker first: an interrupted removal must not look like a checkpoint.
                    (path / MARKER).unlink(missing_ok=True)
                    shutil.rmtree(path, ignore_errors=True)
            elif self._is_good(entry.name):
                good += 1
            else:
                damaged.append(path)
        self._set_aside(damaged)

    def _entries(self) -> list[Entry]:
        entries = []
        for path in sorted(self.path.glob("step-*")):
            origin = read_origin(path)
            if origin is None:
                self._pass_over(path.name, damage(path) or f"its {MARKER} is cut short")
            elif path.name != f"step-{origin.step:08d}":
                self._pass_over(path.name, f"its {MARKER} is of step {origin.step}")
            else:
                entries.append(Entry(path.name, origin))
        return entries

    def _pass_over(self, name: str, problem: str) -> None:
        if self._damaged.get(name) != problem:
            self.say(f"checkpoint: {self.path / name}: passed over: {problem}")
        self._damaged[name] = problem
        self._good.pop(name, None)

    def _is_good(self, name: str) -> bool:
        """Whether it is whole: read once, and again when its files have changed since."""
        if self._good.get(name) == self._signature(name):
            return True
        problem = damage(self.path / name, self.checksums)
        if problem:
            self._pass_over(name, problem)
            return False
        self._good[name] = self._signature(name)
        return True

    def _signature(self, name: str) -> Signature:
        folder = self.path / name
        try:
            return tuple(
                (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            )
        except OSError:
            return ()

    def _not_ours(self) -> list[Path]:
        """Damaged ones, ones of other attempts, and steps after the one that was resumed from."""
        ours = {
            entry.name
            for entry in self._entries()
            if entry.origin.attempt == self.attempt and entry.origin.step <= self._resumed_step
        }
        return [
            path
            for path in sorted(self.path.glob("step-*"))
            if path.name not in ours or path.name in self._damaged
        ]

    def _set_aside(self, paths: list[Path]) -> None:
        if not paths:
            return
        target = self.path / ASIDE / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        moved = []
        for path in paths:
            try:
                target.mkdir(parents=True, exist_ok=True)
                os.rename(path, target / path.name)
                moved.append(path.name)
            except OSError as error:
                self.say(f"checkpoint: {path}: cannot be moved aside: {error.strerror}")
        if moved:
            self.say(
                f"checkpoint: {', '.join(moved)} moved to {target}: this attempt does not go on"
                " from them; remove them when they are not needed"
            )


def stored_order(markers: dict[str, bytes]) -> list[str]:
    """The names of checkpoints in a store by their markers, the one to go on from first; before it
    those whose marker cannot be read, so that it is said that they are passed over."""
    origins = {name: origin_of(marker) for name, marker in markers.items()}
    readable = [Entry(name, origin) for name, origin in origins.items() if origin]
    unreadable = sorted((name for name, origin in origins.items() if not origin), reverse=True)
    return unreadable + [entry.name for entry in in_order(readable)]
