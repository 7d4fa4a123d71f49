"""Checkpoints, written to a temporary name, verified and renamed; only verified ones are resumed.

A checkpoint is a folder `step-00000100` with the strategy's files, `state.json` and last of all
`complete.json`, which lists every other file with its size and checksum. Until that is written the
folder has another name. Which of them are kept is decided in run_folder.py.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any

from trainer.checkpoint.manifest import (
    MARKER,
    STATE,
    damage,
    put_in_place,
    read_origin,
    settled,
    write_json,
)
from trainer.checkpoint.replicate import replicate
from trainer.checkpoint.run_folder import Entry, RunFolder, in_order, new_attempt
from trainer.checkpoint.store_upload import Uploads
from trainer.checkpoint.write_error import write_error
from trainer.config import Checkpoint
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput

_COUNTS = ("step", "position", "world_size", "taken", "skipped")
_PARTS = (
    ("recent", (list, NoneType)),
    ("stream", (dict, NoneType)),
    ("scaler", (dict, NoneType)),
    ("profile", (dict, NoneType)),
)


class Checkpoints:
    """The checkpoints of one run, on every rank."""

    def __init__(self, folder: Path, settings: Checkpoint, processes: ProcessGroup) -> None:
        self.folder, self.settings, self.processes = folder, settings, processes
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self.kept = RunFolder(folder, settings.verify, processes.say)
        self._uploads = (
            Uploads(settings.upload, MARKER, processes.say)
            if settings.upload and processes.first
            else None
        )

    def find(self) -> Path | None:
        """The checkpoint to resume from: the requested one, or the newest complete and undamaged
        one, on disk or in the store."""
        checkpoint = (
            self._find_on_any_node()
            if self.processes.separate_folders
            else self.processes.decided(self._find)
        )
        self._begin(Path(checkpoint) if checkpoint else None)
        if checkpoint and self._uploads and Path(checkpoint).parent == self.folder:
            self._uploads.add(Path(checkpoint))  # if its upload was interrupted
        return Path(checkpoint) if checkpoint else None

    def save(
        self,
        step: int,
        begin: Callable[[Path], Callable[[], None]],
        state: dict[str, Any],
        wait: bool = False,
    ) -> None:
        """Start a checkpoint; `begin` copies the state and returns what the thread does then."""
        self.wait()
        partial = self.folder / f".step-{step:08d}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        finish = begin(partial)
        self._thread = threading.Thread(
            target=self._complete, args=(finish, partial, state), name="checkpoint"
        )
        self._thread.start()
        if wait or not self.settings.asynchronous:
            self.wait()

    def wait(self) -> None:
        """Until the current checkpoint is on disk."""
        if self._thread:
            self._thread.join()
            self._thread = None
        if self._failure:
            raise self._failure

    def close(self, seconds: float | None = None) -> None:
        """Until the last checkpoint is on disk and, within so many seconds, in the store."""
        self.wait()
        if self._uploads:
            self._uploads.wait(seconds)
            self._prune()

    def _complete(self, finish: Callable[[], None], partial: Path, state: dict[str, Any]) -> None:
        try:
            finish()
            if self.processes.first:
                write_json(partial / STATE, state)
            self._barrier()
            if self.processes.separate_folders:
                replicate(self.processes, partial)
                self._barrier()
            # Of all ranks: a client of NFS may not see yet what another one wrote
            seen = self._gather((_names(partial), time.time()))
            names = sorted({name for part, _ in seen for name in part})
            mine = {
                name: settled(partial / name)
                for name in names[self.processes.rank :: self.processes.world_size]
            }
            parts = self._gather(mine)
            if self.processes.owns_folder:
                write_json(
                    partial / MARKER,
                    {
                        "step": state["step"],
                        "attempt": self.kept.attempt,
                        "launch": self.kept.launch,
                        "saved": seen[0][1],
                        "files": {k: v for part in parts for k, v in part.items()},
                    },
                )
                final = self.kept.add(partial, state["step"])
                if self._uploads:
                    self._uploads.add(final)
                self._prune()
        except BaseException as error:  # raised again by the training thread, in wait()
            self._failure = error  # first: it may not be lost while its cause is looked for
            self._failure = write_error(error, partial)

    def _barrier(self) -> None:
        if self.processes.world_size > 1:
            import torch

            torch.distributed.barrier(group=self.processes.quiet_group)

    def _gather(self, mine: Any) -> list[Any]:
        if self.processes.world_size == 1:
            return [mine]
        import torch

        parts: list[Any] = [None] * self.processes.world_size
        torch.distributed.all_gather_object(parts, mine, group=self.processes.quiet_group)
        return parts

    def _find(self) -> str | None:
        self.kept.clear_leftovers()
        entry = self.kept.choose(self.settings.resume)
        if entry:
            return str(self.folder / entry.name)
        if self.settings.resume == "never":
            return None
        if self.settings.resume != "auto":
            return str(self._requested(self.settings.resume))
        if self.settings.upload:
            from trainer.checkpoint.store_download import fetch_newest

            return fetch_newest(self.settings.upload, self.folder, self.processes.say)
        return None

    def _begin(self, checkpoint: Path | None) -> None:
        """Called by all ranks: those that maintain folders write the same attempt."""
        inside = checkpoint is not None and checkpoint.parent == self.folder
        origin = read_origin(checkpoint) if checkpoint and inside else None
        resumed = Entry(checkpoint.name, origin) if checkpoint and origin else None
        mine = resumed.origin.attempt if resumed else new_attempt()
        self.kept.begin(resumed, self.processes.agreed(mine))
        if checkpoint:
            self.processes.say(
                f"checkpoint: resuming from {checkpoint.name} in {checkpoint.parent}"
            )

    def _find_on_any_node(self) -> str | None:
        """The newest that any node has, copied to the nodes that lack it."""
        mine, failure = None, None
        if self.processes.owns_folder:
            try:
                mine = self._find()
            except BadInput as error:
                failure = error
        found = Path(mine) if mine else None
        origin = read_origin(found) if found else None
        # By name: the folder of a run may have another path on each node
        entry = Entry(found.name, origin) if found and origin else None
        inside = found is not None and found.parent == self.folder
        answers = self.processes.gathered((entry, inside, failure))
        for refused in (refused for _, _, refused in answers if refused):
            raise refused
        if not any(entry for entry, _, _ in answers):
            return None
        kept = [entry for entry, is_inside, _ in answers if entry and is_inside]
        if not kept:
            return self.settings.resume  # every node has it at the same path
        chosen = in_order(kept)[0]
        final = self.folder / chosen.name
        lacks = self.processes.owns_folder and origin != chosen.origin
        local = self.folder / f".{final.name}.partial" if lacks else final
        if self.processes.owns_folder:
            local.mkdir(parents=True, exist_ok=True)
        replicate(self.processes, local)
        if lacks:
            put_in_place(local, final)
        self.processes.gathered(None)  # all have it
        return str(final)

    def _requested(self, address: str) -> Path:
        if "://" in address:
            from trainer.checkpoint.store_download import fetch

            return fetch(address, self.folder, self.processes.say)
        if problem := damage(Path(address), self.settings.verify):
            raise BadInput(f"checkpoint.resume {address}: {problem}")
        return Path(address)

    def _prune(self) -> None:
        self.kept.prune(
            self.settings.keep, lambda old: not self._uploads or self._uploads.release(old)
        )


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def read_state(folder: Path) -> dict[str, Any]:
    try:
        state = json.loads((folder / STATE).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{folder / STATE}: cannot be read ({type(error).__name__})") from None
    counts = (
        [state.get(name, 0) for name in _COUNTS]
        if isinstance(state, dict) and "step" in state
        else [None]
    )
    counted = all(type(count) is int and count >= 0 for count in counts)
    if not counted or not all(type(state.get(name)) in kinds for name, kinds in _PARTS):
        raise BadInput(
            f"{folder / STATE}: not the state of a run: {', '.join(_COUNTS)} must be whole numbers"
        )
    return state  # type: ignore[no-any-return]
