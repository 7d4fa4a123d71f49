"""Lines of a run's log that its launcher repeats on the terminal: which checkpoint was resumed from
and which were passed over, how many steps fit into the time, what the guard saw, and restarts."""

from __future__ import annotations

import re

_NOTICE = re.compile(
    r"^(?:\[(?:\d+|\d+-\d+|node)\] (?:\d\d:\d\d:\d\d )?)?((?:checkpoint|guard|restart|time): .*)$"
)


class Notices:
    """A node's log holds earlier launches too; with a run id, only lines after its own start
    count."""

    def __init__(self, run_id: str = "") -> None:
        self._start = start_line(run_id) if run_id else ""
        self._begun: set[str] = set()

    def of(self, host: str, text: str) -> list[str]:
        """The notices in a piece of a host's log."""
        notices = []
        for line in text.splitlines():
            if self._start and host not in self._begun:
                if line.endswith(self._start):
                    self._begun.add(host)
            elif match := _NOTICE.match(line):
                notices.append(match[1])
        return notices


def start_line(run_id: str) -> str:
    """What the supervisor writes when a launch begins."""
    return f"run {run_id} begins"
