"""host.package: packages, whatever manages them on the host."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_OWN = ("name", "state", "use")
# With one of these, no package needs to be named
_WITHOUT_NAME = (
    "name", "list", "update_cache", "upgrade", "deb", "autoremove", "autoclean", "clean",
)  # fmt: skip
_MANAGERS = ("auto", "apt", "dnf", "dnf4", "dnf5", "yum")


class Package(Module):
    """Packages, through apt, dnf or yum: whichever the host has. Other arguments go to that
    manager's module, which must know them."""

    aliases = {"pkg": "name"}
    name: List[Any] = []  # the packages, by the names this host's manager knows
    # installed, newest or gone
    state: Literal["present", "installed", "latest", "absent", "removed"] = "present"
    use: str = "auto"  # which manager: apt, dnf, dnf4, dnf5 or yum; auto finds out
    update_cache: bool | None = None  # fetch the package lists first
    allow_downgrade: bool | None = None  # an older version may replace a newer one
    autoremove: bool | None = None  # also remove what was installed for others only
    lock_timeout: int | None = None  # seconds to wait for the package database
    cache_valid_time: int | None = None  # with apt: seconds for which lists are good enough
    install_recommends: bool | None = None  # with apt: also install what packages recommend
    default_release: str | None = None  # with apt: prefer this release
    purge: bool | None = None  # with apt: remove configuration files too
    only_upgrade: bool | None = None  # with apt: leave packages that are not installed alone
    allow_unauthenticated: bool | None = None  # with apt: install what is not signed
    dpkg_options: str | None = None  # with apt: how questions about files are settled
    force: bool | None = None  # with apt: whatever stands against it
    enablerepo: List[Any] | None = None  # with dnf: repositories to use for this step only
    disablerepo: List[Any] | None = None  # with dnf: repositories to leave out
    disable_gpg_check: bool | None = None  # with dnf: install what is not signed
    install_weak_deps: bool | None = None  # with dnf: also install what packages recommend
    update_only: bool | None = None  # with dnf: leave packages that are not installed alone
    exclude: List[Any] | None = None  # with dnf: packages to leave alone
    allowerasing: bool | None = None  # with dnf: packages in the way may be removed
    nobest: bool | None = None  # with dnf: an older version is good enough
    skip_broken: bool | None = None  # with dnf: leave out what cannot be installed
    list: str | None = None  # with dnf: only list: installed, updates, available, or a pattern
    security: bool | None = None  # with dnf: only updates that concern security
    bugfix: bool | None = None  # with dnf: only updates that fix defects
    releasever: str | None = None  # with dnf: the release to take packages of
    download_only: bool | None = None  # with dnf: fetch packages, do not install them
    upgrade: str | None = None  # with apt: upgrade all packages: dist, full, safe or yes
    deb: str | None = None  # with apt: a package file on the host
    autoclean: bool | None = None  # with apt: remove packages that can no longer be fetched
    clean: bool | None = None  # with apt: remove all fetched packages
    allow_change_held_packages: bool | None = None  # with apt: packages on hold may change too

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        use = arguments.get("use", "auto")
        if not any(name in arguments for name in _WITHOUT_NAME):
            return "missing required arguments: name"
        if use in _MANAGERS:
            return None
        known = ", ".join(_MANAGERS)
        return (
            f'Could not find a matching action for the "{use}" package manager; use takes {known}'
        )

    def observe(self, ctx: HostContext) -> State | None:
        manager = self.use if self.use != "auto" else self._present()
        chosen = _module_of(manager)
        asked = {
            name: getattr(self, name)
            for name in self.__class__.__annotations__
            if name not in _OWN and getattr(self, name) is not None
        }
        unknown = sorted(name for name in asked if not hasattr(chosen, name))
        if unknown:
            raise Failed(f"Unsupported parameters for ({manager}) module: {', '.join(unknown)}")
        module = ctx.memory["module"] = chosen(name=self.name, state=self.state, **asked)
        return module.observe(ctx)

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        module: Module = ctx.memory["module"]
        return module.desired(ctx, found)

    def apply(self, ctx: HostContext, change: Change) -> None:
        ctx.memory["module"].apply(ctx, change)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        module: Module = ctx.memory["module"]
        return module.returns(ctx, change)

    def _present(self) -> str:
        for manager, programs in (
            ("apt", ("apt-get",)),
            ("dnf", ("dnf",)),
            ("dnf5", ("dnf5",)),
            ("yum", ("yum",)),
        ):
            if program(*programs):
                return manager
        raise Failed(
            "no package manager that is supported was found on this host: apt-get, dnf or yum"
        )


def _module_of(manager: str) -> type[Module]:
    if manager == "apt":
        from playrunner.modules.host.apt import Apt

        return Apt
    if manager == "yum":
        from playrunner.modules.host.yum import Yum

        return Yum
    if manager == "dnf5":
        from playrunner.modules.host.dnf5 import Dnf5

        return Dnf5
    from playrunner.modules.host.dnf import Dnf

    return Dnf
