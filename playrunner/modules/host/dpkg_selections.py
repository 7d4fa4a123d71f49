"""host.dpkg_selections: what dpkg is meant to do with a package: keep it, hold it, remove it."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C", "LANG": "C"}


class DpkgSelections(Module):
    """What dpkg is meant to do with a package; `hold` keeps it at its version."""

    name: str  # the package
    selection: Literal["install", "hold", "deinstall", "purge"]  # what is meant to happen to it

    def observe(self, ctx: HostContext) -> State | None:
        tool = needed("dpkg", "it is there on Debian and its children only")
        ran = ctx.run([tool, "--get-selections", self.name], env=_PLAIN)
        if ran.rc:
            raise Failed(ran.err.strip(), rc=ran.rc)
        if "no packages found matching" in ran.err:
            raise Failed(
                f"Failed to find package '{self.name}' to perform selection '{self.selection}'."
            )
        words = ran.out.split()
        return {"selection": words[1] if len(words) > 1 else "not present"}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        return {"selection": self.selection}

    def apply(self, ctx: HostContext, change: Change) -> None:
        selection = (change.after or {})["selection"]
        tool = needed("dpkg", "it is there on Debian and its children only")
        ran = ctx.run([tool, "--set-selections"], stdin=f"{self.name} {selection}\n", env=_PLAIN)
        if ran.rc:
            raise Failed(ran.err.strip() or ran.out.strip(), rc=ran.rc)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"before": (change.observed or {})["selection"], "after": self.selection}
