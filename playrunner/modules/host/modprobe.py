"""host.modprobe: a module of the kernel, loaded or not."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._lines import read_lines, write_lines
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

LOADED_AT_START, OPTIONS = "/etc/modules-load.d", "/etc/modprobe.d"


class Modprobe(Module):
    """A module of the kernel, loaded now and, when asked, at every start."""

    name: str  # the module
    state: Literal["present", "absent"] = "present"  # loaded or not
    params: str = ""  # what it is loaded with
    # Also at every start; disabled leaves that alone
    persistent: Literal["disabled", "present", "absent"] = "disabled"

    def observe(self, ctx: HostContext) -> State | None:
        state: State = {"loaded": self._is_loaded()}
        if self.persistent != "disabled":
            state["at_start"] = self.name in read_lines(self._file(LOADED_AT_START))
            state["options"] = next(
                (
                    line.partition(self.name)[2].strip()
                    for line in read_lines(self._file(OPTIONS))
                    if line.startswith(f"options {self.name} ")
                ),
                "",
            )
        return state

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        wanted: State = {"loaded": self.state == "present"}
        if self.persistent != "disabled":
            present = self.persistent == "present"
            wanted.update(at_start=present, options=self.params if present else "")
        return wanted

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        if change.touches("loaded"):
            tool = needed("modprobe", "it belongs to the package kmod")
            words = [self.name, *self.params.split()] if after["loaded"] else ["-r", self.name]
            ran = ctx.run([tool, *words])
            if ran.rc:
                raise Failed(
                    (ran.err or ran.out).strip(), rc=ran.rc, stdout=ran.out, stderr=ran.err
                )
        if change.touches("at_start"):
            _keep(ctx, self._file(LOADED_AT_START), self.name if after["at_start"] else "")
        if change.touches("options"):
            _keep(
                ctx,
                self._file(OPTIONS),
                f"options {self.name} {after['options']}" if after["options"] else "",
            )

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"name": self.name, "params": self.params, "state": self.state}

    def _file(self, folder: str) -> str:
        return os.path.join(folder, f"{self.name}.conf")

    def _is_loaded(self) -> bool:
        name = self.name.replace("-", "_")
        if any(line.split()[0] == name for line in read_lines("/proc/modules")):
            return True
        # A part of the kernel itself is always there, and has a folder only when it takes
        # parameters.
        built_in = read_lines(f"/lib/modules/{os.uname().release}/modules.builtin")
        return any(
            os.path.basename(line).partition(".ko")[0].replace("-", "_") == name
            for line in built_in
        )


def _keep(ctx: HostContext, path: str, line: str) -> None:
    if line:
        write_lines(ctx, path, [line])
    elif os.path.exists(path):
        os.unlink(path)
