"""host.package: packages, whatever manages them on the host."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Package(Module):
    """Packages, through apt, dnf or yum: whichever the host has."""

    name: list[Any]  # the packages, by the names this host's manager knows
    # installed, newest or gone
    state: Literal["present", "installed", "latest", "absent", "removed"] = "present"
    # Which manager; auto finds out
    use: Literal["auto", "apt", "dnf", "dnf4", "dnf5", "yum"] = "auto"
    update_cache: bool = False  # fetch the package lists first

    def observe(self, ctx: HostContext) -> State | None:
        return self._module().observe(ctx)

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        return self._module().desired(ctx, found)

    def apply(self, ctx: HostContext, change: Change) -> None:
        self._module().apply(ctx, change)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return self._module().returns(ctx, change)

    def _module(self) -> Module:
        """The module of this host's package manager, with the same arguments."""
        chosen = self._chosen()
        return chosen(name=self.name, state=self.state, update_cache=self.update_cache)

    def _chosen(self) -> type[Module]:
        use = self.use if self.use != "auto" else self._present()
        if use == "apt":
            from playrunner.modules.host.apt import Apt

            return Apt
        if use == "yum":
            from playrunner.modules.host.yum import Yum

            return Yum
        from playrunner.modules.host.dnf import Dnf

        return Dnf

    def _present(self) -> str:
        for manager, programs in (
            ("apt", ("apt-get",)),
            ("dnf", ("dnf", "dnf5")),
            ("yum", ("yum",)),
        ):
            if program(*programs):
                return manager
        raise Failed(
            "no package manager that is supported was found on this host: apt-get, dnf or yum"
        )
