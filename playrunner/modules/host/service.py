"""host.service: something that runs in the background, whatever starts it on the host."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

SCRIPTS = "/etc/init.d"


class Service(Module):
    """Something that runs in the background: through systemd where it runs, else through the
    scripts of /etc/init.d."""

    aliases = {
        "args": "arguments",
        "daemon-reload": "daemon_reload",
        "daemon-reexec": "daemon_reexec",
    }
    name: str  # the service
    # running, or started afresh
    state: Literal["started", "stopped", "restarted", "reloaded"] | None = None
    enabled: bool | None = None  # started at boot
    arguments: str = ""  # further words for an init script
    pattern: str | None = None  # accepted for Ansible's sake; the script's own status is asked
    sleep: int | None = None  # accepted for Ansible's sake; a restart waits for the script
    # Who starts it, when it should not be found out
    use: Literal["auto", "systemd", "service", "sysvinit"] = "auto"
    runlevel: str = "default"  # accepted for Ansible's sake; has a meaning on OpenRC only
    # What only systemd knows: see the module systemd
    daemon_reload: bool | None = None  # have systemd read its unit files first
    daemon_reexec: bool | None = None  # have systemd start itself afresh first
    masked: bool | None = None  # impossible to start
    force: bool | None = None  # replace existing links when enabling
    no_block: bool | None = None  # do not wait until it is done
    scope: Literal["system", "user", "global"] | None = None  # whose units

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        names = ("state", "enabled", "daemon_reload", "daemon_reexec", "masked")
        asked = any(arguments.get(name) is not None for name in names)
        return None if asked else "nothing asked of the service; give state or enabled"

    def observe(self, ctx: HostContext) -> State | None:
        systemd = self._systemd()
        if systemd:
            return systemd.observe(ctx)
        if self._for_systemd():
            raise Failed(
                "Unsupported parameters for (service) module:"
                f" {', '.join(sorted(self._for_systemd()))}; systemd does not run on this host"
            )
        if not os.access(os.path.join(SCRIPTS, self.name), os.X_OK):
            raise Failed(
                f"Could not find the requested service {self.name}: host; systemd does not run"
                f" here, and there is no {os.path.join(SCRIPTS, self.name)}"
            )
        return {
            "running": self._script(ctx, "status").rc == 0,
            "enabled": self._is_enabled(),
            "fresh": False,
        }

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        systemd = self._systemd()
        if systemd:
            return systemd.desired(ctx, found)
        target: State = {} if self.enabled is None else {"enabled": self.enabled}
        if self.state:
            target["running"] = self.state != "stopped"
            if self.state in ("restarted", "reloaded"):
                target["fresh"] = True
        return target

    def apply(self, ctx: HostContext, change: Change) -> None:
        systemd = self._systemd()
        if systemd:
            systemd.apply(ctx, change)
            return
        after, before = change.after or {}, change.before or {}
        if change.touches("enabled"):
            self._enable(ctx, after["enabled"])
        if after.get("fresh"):
            verb = "reload" if self.state == "reloaded" else "restart"
            self._do(ctx, verb if before.get("running") else "start")
        elif change.touches("running"):
            self._do(ctx, "start" if after["running"] else "stop")

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        systemd = self._systemd()
        if systemd:
            return systemd.returns(ctx, change)
        values: dict[str, Any] = {"name": self.name}
        if self.state:
            values["state"] = "stopped" if self.state == "stopped" else "started"
        return values if self.enabled is None else {**values, "enabled": self.enabled}

    def _systemd(self) -> Module | None:
        """The unit of systemd that this service is, where systemd starts it."""
        if self.use == "systemd" or (self.use == "auto" and os.path.isdir("/run/systemd/system")):
            from playrunner.modules.host.systemd import Systemd

            return Systemd(
                name=self.name, state=self.state, enabled=self.enabled, **self._for_systemd()
            )
        return None

    def _for_systemd(self) -> dict[str, Any]:
        names = ("daemon_reload", "daemon_reexec", "masked", "force", "no_block", "scope")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _script(self, ctx: HostContext, verb: str, output: str = os.devnull) -> Any:
        tool = program("service")
        words = [tool, self.name] if tool else [os.path.join(SCRIPTS, self.name)]
        # Not a pipe: a program left in the background may keep it open, and we would wait for its
        # end.
        words += [verb, *self.arguments.split()]
        return ctx.run(
            ["/bin/sh", "-c", 'exec "$@" >"$0" 2>&1', output, *words], env={"LC_ALL": "C"}
        )

    def _do(self, ctx: HostContext, verb: str) -> None:
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile(mode="r", errors="replace") as output:
            ran = self._script(ctx, verb, output.name)
            text = output.read().strip()
        if ran.rc:
            raise Failed(
                text or f"{self.name} {verb} ended with {ran.rc}", rc=ran.rc, stdout=text, stderr=""
            )

    def _is_enabled(self) -> bool:
        levels = ("/etc/rc2.d", "/etc/rc3.d", "/etc/rc.d/rc3.d")
        level = next((folder for folder in levels if os.path.isdir(folder)), None)
        return level is not None and any(
            name[:1] == "S" and name[3:] == self.name for name in os.listdir(level)
        )

    def _enable(self, ctx: HostContext, enabled: bool) -> None:
        update, chkconfig = program("update-rc.d"), program("chkconfig")
        if update:
            commands = (
                [[update, self.name, "defaults"], [update, self.name, "enable"]]
                if enabled
                else [[update, self.name, "disable"]]
            )
        elif chkconfig:
            commands = [[chkconfig, self.name, "on" if enabled else "off"]]
        else:
            raise Failed(
                "neither systemd nor update-rc.d nor chkconfig is on this host, so nothing can be"
                " enabled"
            )
        for command in commands:
            ran = ctx.run(command)
            if ran.rc:
                raise Failed(
                    f"Failed when trying to enable {self.name}: {(ran.err or ran.out).strip()}",
                    rc=ran.rc,
                )
