"""The starts of one launch's processes and how each ended, in a folder that all its nodes see: so
the limits of restarts hold for the launch, whichever node or pod of it starts them again.

N.start is written by one node when all have met, N.end by the first that sees how it ended; later
ones read that. A start without an end, once another begins, was cut off with its node.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trainer.errors import NotRestarted
from trainer.node.restart import LASTING, Failed, Limits, newest_step, restart_line

if TYPE_CHECKING:
    from trainer.config import Launch

VARIABLE = "TRAINER_RESTARTS"
START, END = ".start", ".end"
_CUT_OFF = "its processes ended with their node or pod"


class Restart(NamedTuple):
    """What follows a start that ended before its time."""

    number: int  # of the restarts that count, from 1; as it was where this one does not
    seconds: float  # until then
    reason: str
    counted: bool

    def line(self, most: int) -> str:
        if self.counted:
            return restart_line(self.number, most, self.seconds, self.reason)
        return f"restart: in {self.seconds:g} s, and it does not count: {self.reason}"


class Starts:
    """Those of one launch, as one of its nodes records and reads them."""

    def __init__(self, folder: Path, limits: Limits, output: Path, elastic: bool = False) -> None:
        self.folder, self.limits, self.output, self.elastic = folder, limits, output, elastic
        self.number, self.time, self.step = 0, time.time(), -1
        folder.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """NotRestarted where the launch is over."""
        newest = self._newest()
        if self._read(newest, END).get("failed"):
            self._judge(newest)

    def begin(self, nodes: int = 1) -> int:
        """By one node, when all have met: the number of this start. NotRestarted where an earlier
        one was the last."""
        number = self._newest()
        while True:
            if number:
                start = self._read(number, START)
                self._end(number, True, _CUT_OFF, start.get("time", 0.0), start.get("step", -1))
                if self._read(number, END).get("failed"):
                    self._judge(number)
            number += 1
            start = {"time": time.time(), "step": newest_step(self.output), "nodes": nodes}
            if _create(self._path(number, START), start):
                return number

    def join(self, number: int) -> None:
        """By each node: it takes part in this start."""
        self.number, self.time, self.step = number, time.time(), newest_step(self.output)

    def left(self, reason: str) -> None:
        """It ended without a failure: the run was asked to end, or changes its nodes."""
        self._end(self.number, False, reason, self.time, self.step)

    def failed(self, reason: str, lasting: bool = False) -> Restart:
        """What follows, unless another node saw the end of this start before; NotRestarted when
        nothing does."""
        self._end(self.number, True, reason, self.time, self.step)
        if lasting:  # whichever node was the first to see the failure
            _create(self.folder / "lasting", {"reason": reason})
        end = self._read(self.number, END)
        failures = self._judge(self.number)
        return Restart(
            len(failures),
            self.limits.pause(failures),
            str(end.get("reason", reason)),
            bool(end.get("failed")),
        )

    def _judge(self, number: int) -> list[Failed]:
        """The failures until this start; NotRestarted when nothing follows it."""
        failures = [
            Failed(*map(end.__getitem__, Failed._fields))
            for each in range(1, number + 1)
            if (end := self._read(each, END)).get("failed") and not self._by_lost_node(each)
        ]
        refused = LASTING if (self.folder / "lasting").exists() else ""
        if not refused and (failures or not self.limits.most):
            refused = self.limits.refusal(failures)
        if refused:
            reason = self._read(number, END).get("reason")
            raise NotRestarted(f"{refused} ({reason})" if reason else refused)
        return failures

    def _by_lost_node(self, number: int) -> bool:
        """Whether an elastic run went on after it with another number of nodes."""
        following = self._read(number + 1, START)
        return bool(
            self.elastic
            and following
            and following.get("nodes") != self._read(number, START).get("nodes")
        )

    def _end(self, number: int, failed: bool, reason: str, started: float, before: int) -> None:
        step = newest_step(self.output)
        times = Failed(started, time.time(), before, step)
        _create(self._path(number, END), {"failed": failed, "reason": reason, **times._asdict()})

    def _newest(self) -> int:
        names = [name.removesuffix(START) for name in os.listdir(self.folder)]
        return max((int(name) for name in names if name.isdigit()), default=0)

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"{number}{kind}"

    def _read(self, number: int, kind: str) -> dict[str, Any]:
        """Empty where there is none."""
        try:
            content = json.loads(self._path(number, kind).read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def starts_of(setting: str) -> Starts:
    """As TRAINER_RESTARTS describes them."""
    given = json.loads(setting)
    return Starts(
        Path(given["folder"]),
        Limits(int(given["most"]), int(given["per_hour"])),
        Path(given["output"]),
        bool(given.get("elastic")),
    )


def setting(output: str, launch: str, limits: Launch, elastic: bool) -> dict[str, str]:
    """The variable from which a node or pod of this launch reads its limits."""
    described = {
        "folder": f"{output}/restarts/{launch}",
        "output": output,
        "most": limits.max_restarts,
        "per_hour": limits.restarts_per_hour,
        "elastic": elastic,
    }
    return {VARIABLE: json.dumps(described)}


def _create(path: Path, content: dict[str, Any]) -> bool:
    """Whether this was the first to write it; a link appears whole and once, on NFS too."""
    draft = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    draft.write_text(json.dumps(content))
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a bucket that is mounted has no links
        return _create_unlinked(path, content)
    finally:
        draft.unlink()
    return True


def _create_unlinked(path: Path, content: dict[str, Any]) -> bool:
    try:
        with path.open("x") as file:
            json.dump(content, file)
    except FileExistsError:
        return False
    return True
