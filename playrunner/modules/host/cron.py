"""host.cron: a job, or a variable, of a crontab."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host import _crontab
from playrunner.modules.host._lines import encoded, read_lines, write_lines
from playrunner.modules.host._packages import needed
from playrunner.modules.host._paths import expanded, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

TIMES = ("minute", "hour", "day", "month", "weekday")


class Cron(Module):
    """A job or variable in a user's crontab or a file of cron.d; other lines stay as they are."""

    aliases = {"value": "job", "dom": "day", "dow": "weekday"}
    name: str  # what the job is known by; with env, the variable
    job: str | None = None  # the command; with env, the variable's value
    minute: str = "*"  # 0-59, *, */2
    hour: str = "*"  # 0-23, *, */2
    day: str = "*"  # of the month: 1-31, *, */2
    month: str = "*"  # 1-12, *, */2
    weekday: str = "*"  # 0-6 from Sunday, *
    # a word instead of the five times
    special_time: (
        Literal["annually", "daily", "hourly", "monthly", "reboot", "weekly", "yearly"] | None
    ) = None
    state: Literal["present", "absent"] = "present"  # whether it should be there
    user: str | None = None  # whose crontab; in a cron_file, who runs the job
    env: bool = False  # it is a variable, not a job
    insertbefore: str | None = None  # with env, put a new variable before this one
    insertafter: str | None = None  # with env, put a new variable after this one
    # A file in /etc/cron.d, or an absolute path, instead of a user's crontab
    cron_file: str | None = None
    backup: bool = False  # keep a copy of what was there
    disabled: bool = False  # keep the job as a comment

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("state", "present") == "present":
            if not arguments.get("job"):
                return "You must specify 'job' to install a new cron job or variable"
            if (
                arguments.get("cron_file")
                and not arguments.get("user")
                and not arguments.get("env")
            ):
                return "To use cron_file=... parameter you must specify user=... as well"
        if arguments.get("special_time") and any(arguments.get(time, "*") != "*" for time in TIMES):
            return "You cannot combine special_time with any of the time or day/date parameters"
        return None

    @property
    def _file(self) -> Optional[str]:
        return os.path.join("/etc/cron.d", expanded(self.cron_file)) if self.cron_file else None

    def observe(self, ctx: HostContext) -> State | None:
        involved = ("state", "job", "cron_file", "user", "env", "special_time", *TIMES)
        complaint = self.check({name: getattr(self, name) for name in involved})
        if complaint:
            raise Failed(complaint)
        lines = read_lines(self._file) if self._file else self._crontab(ctx)
        missing = self._file is not None and not os.path.exists(self._file)
        return None if missing and self.state == "present" else {"lines": lines}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        lines: list[str] = found["lines"] if found else []
        present = self.state == "present"
        if self.env:
            return {
                "lines": _crontab.with_variable(
                    lines,
                    self.name,
                    self.job if present else None,
                    self.insertbefore,
                    self.insertafter,
                )
            }
        return {"lines": _crontab.with_job(lines, self.name, self._line() if present else None)}

    def apply(self, ctx: HostContext, change: Change) -> None:
        if self.backup and change.observed:
            ctx.memory["backup_file"] = self._kept_aside(ctx, change.observed["lines"])
        if self._file and change.after is None:
            remove(self._file)
        elif self._file:
            new = {"mode": "0644"} if change.before is None else None
            write_lines(ctx, self._file, (change.after or {})["lines"], new)
        else:
            self._crontab(ctx, (change.after or {"lines": []})["lines"])

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        values: dict[str, Any] = _crontab.names_in((change.after or {"lines": []})["lines"])
        if self._file:
            values["cron_file"] = self.cron_file
        if "backup_file" in ctx.memory:
            values["backup_file"] = ctx.memory["backup_file"]
        return values

    def _line(self) -> str:
        when = (
            f"@{self.special_time}"
            if self.special_time
            else " ".join(getattr(self, time) for time in TIMES)
        )
        who = f"{self.user} " if self.cron_file else ""
        return f"{'#' if self.disabled else ''}{when} {who}{(self.job or '').rstrip()}"

    def _crontab(self, ctx: HostContext, lines: Optional[list[str]] = None) -> list[str]:
        """Read a user's crontab, or write it."""
        tool = [
            needed("crontab", "install cron first, or use cron_file"),
            *(["-u", self.user] if self.user else []),
        ]
        ran = (
            ctx.run([*tool, "-l"], env={"LC_ALL": "C"})
            if lines is None
            else ctx.run([*tool, "-"], stdin=encoded(lines).decode("utf-8", "surrogateescape"))
        )
        if ran.rc and not (lines is None and "no crontab" in ran.err):
            raise Failed(f"crontab: {ran.err.strip()}", rc=ran.rc)
        return ran.out.splitlines() if lines is None and ran.rc == 0 else []

    def _kept_aside(self, ctx: HostContext, lines: list[str]) -> str:
        from tempfile import mkstemp

        fd, path = mkstemp(prefix="crontab")
        with os.fdopen(fd, "wb") as file:
            file.write(encoded(lines))
        return path
