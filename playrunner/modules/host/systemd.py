"""host.systemd: a unit of systemd, running or not, started at boot or not."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

RUNNING = ("active", "activating", "reloading")


class Systemd(Module):
    """A unit of systemd: running or not, started at boot or not, masked or not."""

    aliases = {
        "service": "name",
        "unit": "name",
        "daemon-reload": "daemon_reload",
        "daemon-reexec": "daemon_reexec",
    }
    name: str | None = None  # the unit; .service may be left out
    # running, or started afresh
    state: Literal["started", "stopped", "restarted", "reloaded"] | None = None
    enabled: bool | None = None  # started at boot
    masked: bool | None = None  # impossible to start
    force: bool = False  # replace existing links when enabling
    daemon_reload: bool = False  # have systemd read its unit files first
    daemon_reexec: bool = False  # have systemd start itself afresh first
    scope: Literal["system", "user", "global"] = "system"  # whose units
    no_block: bool = False  # do not wait until it is done

    def observe(self, ctx: HostContext) -> State | None:
        state: State = {"reloaded": False, "reexecuted": False, "fresh": False}
        if self.name:
            status = ctx.memory["status"] = self._show(ctx)
            missing = status.get("LoadState") == "not-found"
            if missing and not (self.daemon_reload and not ctx.check):
                raise Failed(f"Could not find the requested service {self.name}: host")
            kept = status.get("UnitFileState", "")
            state.update(
                running=status.get("ActiveState") in RUNNING,
                masked=status.get("LoadState") == "masked",
                enabled=kept.startswith(("enabled", "static", "alias", "indirect", "generated")),
            )
        return state

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        target: State = {}
        if self.daemon_reload:
            target["reloaded"] = True
        if self.daemon_reexec:
            target["reexecuted"] = True
        if self.masked is not None:
            target["masked"] = self.masked
        if self.enabled is not None:
            target["enabled"] = self.enabled
        if self.state:
            target["running"] = self.state != "stopped"
            if self.state in ("restarted", "reloaded"):
                target["fresh"] = True
        return target

    def apply(self, ctx: HostContext, change: Change) -> None:
        after, before = change.after or {}, change.before or {}
        if after.get("reexecuted"):
            self._systemctl(ctx, "daemon-reexec")
        if after.get("reloaded"):
            self._systemctl(ctx, "daemon-reload")
        if (
            ctx.memory.get("status", {}).get("LoadState") == "not-found"
            and self._show(ctx).get("LoadState") == "not-found"
        ):
            raise Failed(f"Could not find the requested service {self.name}: host")
        if change.touches("masked"):
            self._systemctl(ctx, "mask" if after["masked"] else "unmask", self.name)
        if change.touches("enabled"):
            verb = "enable" if after["enabled"] else "disable"
            self._systemctl(ctx, verb, *(["--force"] if self.force else []), self.name)
        if after.get("fresh"):
            # What does not run cannot be asked to read its settings again.
            verb = "reload" if self.state == "reloaded" and before.get("running") else "restart"
            self._systemctl(ctx, verb if before.get("running") else "start", self.name)
        elif change.touches("running"):
            self._systemctl(ctx, "start" if after["running"] else "stop", self.name)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": self.name,
            "changed": change.touches("masked", "enabled", "running", "fresh"),
        }
        if self.state:
            values["state"] = "stopped" if self.state == "stopped" else "started"
        if self.enabled is not None:
            values["enabled"] = self.enabled
        if change and not ctx.check and self.name:
            return {**values, "status": self._show(ctx)}
        return {**values, "status": ctx.memory.get("status", {})}

    def _show(self, ctx: HostContext) -> dict[str, str]:
        ran = self._run(ctx, ["show", self.name or ""])
        if ran.rc:
            raise Failed(
                f"systemctl cannot tell about {self.name}: {(ran.err or ran.out).strip()}; "
                "use service where systemd does not run",
                rc=ran.rc,
            )
        pairs = [line.partition("=") for line in ran.out.splitlines()]
        return {key: value for key, sign, value in pairs if sign}

    def _systemctl(self, ctx: HostContext, *words: Optional[str]) -> None:
        block = ["--no-block"] if self.no_block else []
        ran = self._run(ctx, [*block, *(word for word in words if word)])
        if ran.rc:
            raise Failed(
                f"Unable to {words[0]} {f'service {self.name}' if self.name else 'systemd'}: "
                f"{(ran.err or ran.out).strip()}",
                rc=ran.rc,
            )

    def _run(self, ctx: HostContext, arguments: list[str]) -> Any:
        tool = needed("systemctl", "systemd does not seem to be installed")
        env = {"LC_ALL": "C"}
        if self.scope == "user":
            env["XDG_RUNTIME_DIR"] = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
        return ctx.run(
            [tool, *([] if self.scope == "system" else [f"--{self.scope}"]), *arguments], env=env
        )
