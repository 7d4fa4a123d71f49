"""Checkpoints that are whole or not there: written beside, checked, renamed; found again by what
can be verified.

A checkpoint is a folder `step-00000100` with the strategy's files, `state.json` and last of all
`complete.json`, which lists every other file with its size and checksum. Until that is written the
folder has another name.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any

from trainer.checkpoint.manifest import MARKER, damage, put_in_place, settled, write_json
from trainer.checkpoint.replicate import spread
from trainer.checkpoint.store_upload import Uploads
from trainer.config import Checkpoint
from trainer.distributed.process_group import Place
from trainer.errors import BadInput

STATE = "state.json"
_COUNTS = ("step", "position", "world_size", "taken", "skipped")
_PARTS = (
    ("recent", (list, NoneType)),
    ("stream", (dict, NoneType)),
    ("scaler", (dict, NoneType)),
    ("profile", (dict, NoneType)),
)


class Checkpoints:
    """The checkpoints of one run; every rank holds one of these."""

    def __init__(self, folder: Path, settings: Checkpoint, place: Place) -> None:
        self.folder, self.settings, self.place = folder, settings, place
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._uploads = (
            Uploads(settings.upload, MARKER, place.say) if settings.upload and place.first else None
        )

    def find(self) -> Path | None:
        """The checkpoint to resume from: the one asked for, or the newest complete and undamaged
        one, here or in the store."""
        found = self._find_on_any_node() if self.place.apart else self.place.decided(self._find)
        if found and self._uploads and Path(found).parent == self.folder:
            self._uploads.add(
                Path(found)
            )  # the run before may have ended in the middle of copying it
        return Path(found) if found else None

    def save(
        self,
        step: int,
        begin: Callable[[Path], Callable[[], None]],
        state: dict[str, Any],
        wait: bool = False,
    ) -> None:
        """Start a checkpoint; `begin` does what must be done now and answers what is left for the
        thread."""
        self.wait()
        final = self.folder / f"step-{step:08d}"
        partial = self.folder / f".{final.name}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        finish = begin(partial)
        self._thread = threading.Thread(
            target=self._complete, args=(finish, partial, final, state), name="checkpoint"
        )
        self._thread.start()
        if wait or not self.settings.asynchronous:
            self.wait()

    def wait(self) -> None:
        """Until the checkpoint under way is on disk."""
        if self._thread:
            self._thread.join()
            self._thread = None
        if self._failure:
            raise self._failure

    def close(self, seconds: float | None = None) -> None:
        """Until the last checkpoint is on disk and, unless it takes longer than this, in the store
        too."""
        self.wait()
        if self._uploads:
            self._uploads.wait(seconds)
            self._prune()

    def _complete(
        self, finish: Callable[[], None], partial: Path, final: Path, state: dict[str, Any]
    ) -> None:
        try:
            finish()
            if self.place.first:
                write_json(partial / STATE, state)
            self._meet()
            if self.place.apart:
                spread(self.place, partial)
                self._meet()
            names = sorted(
                str(path.relative_to(partial)) for path in partial.rglob("*") if path.is_file()
            )
            mine = {
                name: settled(partial / name)
                for name in names[self.place.rank :: self.place.world_size]
            }
            parts = self._gather(mine)
            if self.place.keeps:
                write_json(
                    partial / MARKER,
                    {
                        "step": state["step"],
                        "files": {k: v for part in parts for k, v in part.items()},
                    },
                )
                put_in_place(partial, final)
                if self._uploads:
                    self._uploads.add(final)
                self._prune()
        except BaseException as error:  # raised again by the training thread, in wait()
            self._failure = error

    def _meet(self) -> None:
        if self.place.world_size > 1:
            import torch

            torch.distributed.barrier(group=self.place.quiet_group)

    def _gather(self, mine: dict[str, Any]) -> list[dict[str, Any]]:
        if self.place.world_size == 1:
            return [mine]
        import torch

        parts: list[Any] = [None] * self.place.world_size
        torch.distributed.all_gather_object(parts, mine, group=self.place.quiet_group)
        return parts

    def _find(self) -> str | None:
        for leftover in (*self.folder.glob(".step-*.partial"), *self.folder.glob(".universal-*")):
            shutil.rmtree(leftover, ignore_errors=True)
        if self.settings.resume == "never":
            return None
        if self.settings.resume != "auto":
            return str(self._asked_for(self.settings.resume))
        for path in sorted(self.folder.glob("step-*"), reverse=True):
            complaint = damage(path, self.settings.verify)
            if not complaint:
                return str(path)
            self.place.say(f"{path}: passed over: {complaint}")
        if self.settings.upload:
            from trainer.checkpoint.store_download import fetch_newest

            return fetch_newest(self.settings.upload, self.folder, self.place.say)
        return None

    def _find_on_any_node(self) -> str | None:
        """The newest that any node has; those that do not have it are sent it."""
        mine, refusal = None, None
        if self.place.keeps:
            try:
                mine = self._find()
            except BadInput as error:
                refusal = error
        said = self.place.gathered((mine, refusal))
        for each in (refused for _, refused in said if refused):
            raise each
        names = [Path(path).name for path, _ in said if path]
        asked = self.settings.resume
        if not names or (asked != "auto" and "://" not in asked):
            return asked if names else None  # every node has it at the same place
        final = self.folder / max(names)
        lacks = self.place.keeps and (mine is None or Path(mine).name != final.name)
        here = self.folder / f".{final.name}.partial" if lacks else final
        if self.place.keeps:
            here.mkdir(parents=True, exist_ok=True)
        spread(self.place, here)
        if lacks:
            put_in_place(here, final)
        self.place.gathered(None)  # all have it
        return str(final)

    def _asked_for(self, address: str) -> Path:
        if "://" in address:
            from trainer.checkpoint.store_download import fetch

            return fetch(address, self.folder, self.place.say)
        if complaint := damage(Path(address), self.settings.verify):
            raise BadInput(f"checkpoint.resume {address}: {complaint}")
        return Path(address)

    def _prune(self) -> None:
        if self.settings.keep:
            for old in sorted(self.folder.glob("step-*"))[: -self.settings.keep]:
                if self._uploads and not self._uploads.release(old):
                    continue
                # Without its marker first: a removal cut short must not look like a checkpoint.
                (old / MARKER).unlink(missing_ok=True)
                shutil.rmtree(old, ignore_errors=True)


def read_state(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / STATE).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{folder / STATE}: cannot be read ({type(error).__name__})") from None
    counts = (
        [found.get(name, 0) for name in _COUNTS]
        if isinstance(found, dict) and "step" in found
        else [None]
    )
    counted = all(type(each) is int and each >= 0 for each in counts)
    if not counted or not all(type(found.get(name)) in kinds for name, kinds in _PARTS):
        raise BadInput(
            f"{folder / STATE}: does not hold the state of a run: {', '.join(_COUNTS)} are whole"
            " numbers there"
        )
    return found  # type: ignore[no-any-return]
