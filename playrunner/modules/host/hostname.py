"""host.hostname: what the host calls itself."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._lines import read_lines, write_lines
from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

FILE = "/etc/hostname"


class Hostname(Module):
    """What the host calls itself, now and after the next start."""

    gives_facts = True
    name: str  # the name
    # Systemd for hostnamectl; otherwise the name is set directly and /etc/hostname kept
    use: str | None = None

    def observe(self, ctx: HostContext) -> State | None:
        kept = [
            line.strip() for line in read_lines(FILE) if line.strip() and not line.startswith("#")
        ]
        return {"now": os.uname().nodename, "kept": kept[0] if kept else ""}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        return {"now": self.name, "kept": self.name}

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        systemd = self.use in (None, "systemd") and os.path.isdir("/run/systemd/system")
        control = program("hostnamectl") if systemd else None
        if self.use == "systemd" and control is None:
            raise Failed(
                "use: systemd was asked for, but systemd does not run on this host; leave `use` out"
            )
        if control:
            ran = ctx.run([control, "set-hostname", after["kept"]])
            if ran.rc:
                raise Failed(f"Command failed rc={ran.rc}, out={ran.out}, err={ran.err}", rc=ran.rc)
            return
        if change.touches("kept"):
            write_lines(ctx, FILE, [after["kept"]])
        if change.touches("now"):
            import socket

            socket.sethostname(after["now"])

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        short, _, domain = self.name.partition(".")
        return {
            "name": self.name,
            "ansible_facts": {
                "hostname": short,
                "nodename": self.name,
                "fqdn": self.name,
                "domain": domain,
            },
        }
