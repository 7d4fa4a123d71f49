"""host.sysvinit: a service that a script of /etc/init.d starts."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

SCRIPTS = "/etc/init.d"
LEVELS = ("/etc", "/etc/rc.d", "/etc/init.d")  # where the folders rc0.d to rc6.d may be
_STOPPED = ("stop", "is dead ", "dead but ", "could not access pid file", "inactive")
_STARTED = ("run", "start", "active")
_NOT_RUNNING = (1, 2, 3, 4, 69)  # exit statuses by which scripts say so
_NOTHING = {"changed": False, "rc": None, "stdout": None, "stderr": None}


class Sysvinit(Module):
    """A service that a script of /etc/init.d starts."""

    aliases = {"service": "name", "args": "arguments"}
    name: str  # the script
    # running, or started afresh
    state: Literal["started", "stopped", "restarted", "reloaded"] | None = None
    enabled: bool | None = None  # started at boot
    sleep: int = 1  # seconds between stop and start of a restart
    pattern: str | None = None  # text of a line of ps that shows that it runs
    arguments: str | None = None  # further words for the script
    runlevels: list[str] | None = None  # the run levels that `enabled` is about
    daemonize: bool = False  # the script does not detach by itself

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        asked = arguments.get("state") or arguments.get("enabled") is not None
        return None if asked else "one of the following is required: state, enabled"

    def observe(self, ctx: HostContext) -> State | None:
        if not os.path.exists(self._script()):
            raise Failed(f"Could not find the requested service {self.name}: host")
        return {
            "enabled": {level: _is_enabled(self.name, level) for level in self._levels()},
            "running": self._is_running(ctx),
            "fresh": False,
        }

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        target: State = {}
        if self.enabled is not None:
            target["enabled"] = dict.fromkeys(self._levels(), self.enabled)
        if self.state:
            target["running"] = self.state != "stopped"
        if self.state in ("restarted", "reloaded"):
            target["fresh"] = True
        return target

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        if change.touches("enabled"):
            self._enable(ctx, all(after["enabled"].values()))
        if after.get("fresh") and self.state == "restarted":
            for verb in ("stop", "start"):  # not every script knows restart
                self._do(ctx, verb)
                time.sleep(self.sleep)
        elif after.get("fresh"):
            self._do(ctx, "reload")
        elif change.touches("running"):
            self._do(ctx, "start" if after["running"] else "stop")

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        parts: dict[str, Any] = {"enabled": dict(_NOTHING)}
        if self.runlevels:
            parts["enabled"]["runlevels"] = list(self.runlevels)
        parts[str(self.state) if self.state else "null"] = dict(_NOTHING)
        asked = change.after or {}
        parts["enabled"]["changed"] = "enabled" in asked and change.touches("enabled")
        if self.state:
            parts[self.state]["changed"] = "running" in asked and change.touches("running", "fresh")
        for name, ran in ctx.memory.get("ran", {}).items():
            parts[name].update(rc=ran.rc, stdout=ran.out, stderr=ran.err)
        return {"name": self.name, "status": parts}

    def _script(self) -> str:
        return os.path.join(SCRIPTS, os.path.basename(self.name))

    def _levels(self) -> list[str]:
        return list(self.runlevels or ["?"])  # without levels, any of them counts

    def _is_running(self, ctx: HostContext) -> bool:
        if self.pattern:
            return self._in_ps(ctx, self.pattern)
        tool = program("service")
        words = [tool, self.name] if tool else [self._script()]
        ran = ctx.run([*words, "status"], env={"LC_ALL": "C"})
        # The words are more reliable than the exit status, which many scripts have wrong.
        text = ran.out.lower().replace(self.name.lower(), "") if ran.out.count("\n") <= 1 else ""
        if any(sign in text for sign in _STOPPED):
            return False
        if any(sign in text for sign in _STARTED) and "not " not in text:
            return True
        if ran.rc in _NOT_RUNNING:
            return False
        return ran.rc == 0 or self._in_ps(ctx, self.name)

    def _in_ps(self, ctx: HostContext, pattern: str) -> bool:
        lines = ctx.run(["ps", "auxww"], env={"LC_ALL": "C"}).out.splitlines()
        return any(pattern in line for line in lines)

    def _enable(self, ctx: HostContext, enabled: bool) -> None:
        update, chkconfig = program("update-rc.d"), program("chkconfig")
        levels = list(self.runlevels or [])
        if update:
            verb = "disable" if not enabled else "enable" if levels else "defaults"
            command = [update, self.name, verb, *levels]
        elif chkconfig:
            chosen = ["--level", "".join(levels)] if levels else []
            command = [chkconfig, *chosen, self.name, "on" if enabled else "off"]
        else:
            raise Failed("neither update-rc.d nor chkconfig is on this host")
        ran = ctx.run(command, env={"LC_ALL": "C"})
        ctx.memory.setdefault("ran", {})["enabled"] = ran
        if "illegal runlevel specified" in ran.err:
            raise Failed(f"Illegal runlevel specified for enable operation on service {self.name}")

    def _do(self, ctx: HostContext, verb: str) -> None:
        words = [self._script(), verb, *(self.arguments or "").split()]
        if self.daemonize:
            # Its own session and no pipe of ours: what it starts outlives the step.
            words = ["/bin/sh", "-c", 'exec "$@" </dev/null >/dev/null 2>&1', "sh", *words]
        ran = ctx.run(words)
        if self.state:
            ctx.memory.setdefault("ran", {})[self.state] = ran
        if ran.rc:
            raise Failed(
                f"Failed to {verb} service: {self.name}",
                rc=ran.rc,
                stdout=ran.out,
                stderr=ran.err,
            )


def _is_enabled(name: str, level: str) -> bool:
    """Whether a run level starts the script: S, two digits and its name."""
    from glob import glob

    return any(
        glob(os.path.join(folder, f"rc{level}.d", f"S??{name}"))
        for folder in LEVELS
        if os.path.isdir(folder)
    )
