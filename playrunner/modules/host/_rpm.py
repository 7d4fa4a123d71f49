"""Packages of Red Hat's family, through rpm and dnf or yum."""

from __future__ import annotations

from playrunner.hostside.module import Failed
from playrunner.modules.host._packages import Packages, named, needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

PLAIN = {"LC_ALL": "C", "LANG": "C"}
NEWEST, PRESENT = "newest", "present"  # stand for versions that only the package manager can name
UPDATES_EXIST = 100  # exit status of check-update


class RpmPackages(Packages):
    """The arguments and ways that dnf and yum share."""

    aliases = {"pkg": "name", "expire-cache": "update_cache"}
    manager = "dnf"
    name: List[
        Any
    ] = []  # packages: name, name-version, a path to a .rpm file; "*" with latest for all
    # installed, newest or gone
    state: Literal["present", "installed", "latest", "absent", "removed"] | None = None
    enablerepo: List[Any] = []  # repositories to use for this step only
    disablerepo: List[Any] = []  # repositories to leave out for this step only
    update_cache: bool = False  # fetch the package lists first
    disable_gpg_check: bool = False  # install what is not signed
    allow_downgrade: bool = False  # an older version may replace a newer one
    autoremove: bool = False  # also remove what was installed for others only
    install_weak_deps: bool = True  # also install what packages recommend
    update_only: bool = False  # leave packages that are not installed alone
    lock_timeout: int = 30  # accepted for Ansible's sake; the package manager waits by itself
    allowerasing: bool = False  # packages in the way may be removed
    best: bool | None = None  # the newest version or none at all
    nobest: bool | None = None  # an older version is good enough
    bugfix: bool = False  # with latest: only updates that fix defects
    security: bool = False  # with latest: only updates that concern security
    cacheonly: bool = False  # fetch no package lists
    conf_file: str | None = None  # the manager's configuration file
    disable_excludes: str | None = None  # ignore excludes: all, main, or a repository's name
    disable_plugin: List[Any] = []  # plugins to leave out
    enable_plugin: List[Any] = []  # plugins to use
    download_only: bool = False  # fetch packages, do not install them
    download_dir: str | None = None  # where fetched packages go
    exclude: List[Any] = []  # packages to leave alone
    install_repoquery: bool = True  # accepted for Ansible's sake; it is not needed
    installroot: str = "/"  # the root of the system to manage
    list: str | None = None  # only list: installed, updates, available, repos, or a pattern
    releasever: str | None = None  # the release to take packages of
    skip_broken: bool = False  # leave out packages that cannot be installed
    sslverify: bool = True  # check certificates of repositories
    validate_certs: bool = True  # check the certificate where a package is a URL
    # Accepted for Ansible's sake; the module names the manager
    use_backend: Literal["auto", "yum", "yum4", "dnf", "dnf4", "dnf5"] = "auto"
    auto_install_module_deps: bool = True  # accepted for Ansible's sake; nothing more is needed

    def names(self) -> List[str]:
        return named(self.name)

    def observe(self, ctx: HostContext) -> State | None:
        needed("rpm", "use the module of the package manager this host has, or package")
        if self.list:
            return {"packages": {}}
        groups = [name for name in self.names() if name.startswith("@")]
        if groups:
            raise Failed(f"{groups[0]}: groups of packages are not supported; name the packages")
        return {"packages": {name: self._installed(ctx, name) for name in self.names()}}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        there: dict[str, Any] = (found or {})["packages"]
        if self.state in ("absent", "removed"):
            return {"packages": dict.fromkeys(there)}
        old = self._outdated(ctx) if self.state == "latest" else set()
        return {
            "packages": {name: self._wanted(name, version, old) for name, version in there.items()}
        }

    def apply(self, ctx: HostContext, change: Change) -> None:
        coming, going = self.coming_and_going(change)
        if going:
            self._manage(ctx, "autoremove" if self.autoremove else "remove", going)
        fresh = [name for name, wanted in coming.items() if wanted == PRESENT]
        newer = [name for name, wanted in coming.items() if wanted == NEWEST]
        exact = [
            f"{name}-{wanted}" for name, wanted in coming.items() if wanted not in (PRESENT, NEWEST)
        ]
        if fresh:
            self._manage(ctx, "install", fresh)
        if newer:
            self._manage(ctx, "upgrade", [name for name in newer if name != "*"])
        if exact:
            self._manage(ctx, "downgrade" if self.allow_downgrade else "install", exact)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        if self.list:
            from playrunner.modules.host._rpm_list import listed

            command = [self.manager, "-q", *self._common()]
            return {"msg": "", "results": listed(ctx, command, self.list)}
        return {
            "rc": 0,
            "results": ctx.memory.get("results", []),
            "msg": "" if change else "Nothing to do",
        }

    def _installed(self, ctx: HostContext, name: str) -> Optional[str]:
        if name == "*":
            return PRESENT
        form = ["--qf", r"%{VERSION}-%{RELEASE}.%{ARCH}\n"]
        if name.endswith(".rpm"):
            ran = ctx.run(
                ["rpm", "-qp", "--qf", r"%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\n", name], env=PLAIN
            )
            if ran.rc:
                raise Failed(f"{name} is not a package file: {ran.err.strip()}")
            name = ran.out.strip()
        for way in ([], ["--whatprovides"]):
            ran = ctx.run(["rpm", *self._root(), "-q", *way, *form, name], env=PLAIN)
            if ran.rc == 0:
                return str(ran.out.splitlines()[-1])
        return None

    def _root(self) -> List[str]:
        return [] if self.installroot == "/" else ["--root", self.installroot]

    def _wanted(self, name: str, version: Optional[str], old: set[str]) -> Optional[str]:
        if version is None:
            return None if self.update_only else PRESENT
        return NEWEST if name in old or (name == "*" and old) else version

    def _outdated(self, ctx: HostContext) -> set[str]:
        only = [
            *(["--security"] if self.security else []),
            *(["--bugfix"] if self.bugfix else []),
        ]
        ran = ctx.run([self.manager, "-q", *self._common(), *only, "check-update"], env=PLAIN)
        if ran.rc not in (0, UPDATES_EXIST):
            raise Failed(f"{self.manager} check-update failed: {ran.err.strip()}", rc=ran.rc)
        rows = [line.split() for line in ran.out.partition("Obsoleting")[0].splitlines()]
        return {
            part for row in rows if len(row) == 3 for part in (row[0], row[0].rpartition(".")[0])
        }

    def _common(self) -> List[str]:
        """What every call of the manager is given."""
        return [
            *self._repositories(),
            *(["--config", self.conf_file] if self.conf_file else []),
            *(["--installroot", self.installroot] if self.installroot != "/" else []),
            *(["--releasever", self.releasever] if self.releasever else []),
            *(["--cacheonly"] if self.cacheonly else []),
            *([f"--disableexcludes={self.disable_excludes}"] if self.disable_excludes else []),
            *(f"--disableplugin={name}" for name in named(self.disable_plugin)),
            *(f"--enableplugin={name}" for name in named(self.enable_plugin)),
            *(f"--exclude={name}" for name in named(self.exclude)),
            *([] if self.sslverify else ["--setopt=sslverify=False"]),
        ]

    def _transaction(self) -> List[str]:
        """What a call that changes something is given."""
        best = (
            self.best if self.best is not None else None if self.nobest is None else not self.nobest
        )
        weak = self.install_weak_deps or self.manager == "yum"
        return [
            *(["--nogpgcheck"] if self.disable_gpg_check else []),
            *([] if weak else ["--setopt=install_weak_deps=False"]),
            *(["--allowerasing"] if self.allowerasing else []),
            *([] if best is None else ["--best" if best else "--nobest"]),
            *(["--skip-broken"] if self.skip_broken else []),
            *(["--downloadonly"] if self.download_only else []),
            *(["--downloaddir", self.download_dir] if self.download_dir else []),
        ]

    def _repositories(self) -> List[str]:
        return [
            *(f"--disablerepo={name}" for name in named(self.disablerepo)),
            *(f"--enablerepo={name}" for name in named(self.enablerepo)),
            *(["--refresh"] if self.update_cache and self.manager != "yum" else []),
        ]

    def _manage(self, ctx: HostContext, verb: str, names: List[str]) -> None:
        if self.update_cache and self.manager == "yum":
            ctx.run(["yum", "-q", "makecache"], env=PLAIN)
        options = self._transaction()
        command = [self.manager, "-y", *self._common(), *options, verb, *names]
        ran = ctx.run(command, env=PLAIN, live=True)
        if ran.rc:
            raise Failed(
                f"'{' '.join(command)}' failed: {ran.err.strip() or ran.out.strip()}",
                rc=ran.rc,
                results=[ran.out],
                stdout=ran.out,
                stderr=ran.err,
            )
        ctx.memory.setdefault("results", []).append(ran.out)
