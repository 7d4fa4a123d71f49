"""host.apt: packages of Debian and its children."""

from __future__ import annotations

import time

from playrunner.hostside.module import Failed
from playrunner.modules.host import _apt_cache
from playrunner.modules.host._apt_cache import PROVIDED
from playrunner.modules.host._packages import Packages, named, needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_NO_OUTPUT = {"stdout": "", "stderr": ""}


class Apt(Packages):
    """Packages of Debian, Ubuntu and their children."""

    aliases = {
        "pkg": "name",
        "package": "name",
        "update-cache": "update_cache",
        "default-release": "default_release",
        "install-recommends": "install_recommends",
        "allow-downgrade": "allow_downgrade",
        "allow-downgrades": "allow_downgrade",
        "allow_downgrades": "allow_downgrade",
        "allow-unauthenticated": "allow_unauthenticated",
    }
    name: list[Any] = []  # packages: name, name=version (with *), name>=version
    # installed, newest or gone
    # build-dep: what building them needs; fixed: repair what was left half done
    state: Literal["present", "installed", "latest", "absent", "removed", "build-dep", "fixed"] = (
        "present"
    )
    update_cache: bool = False  # fetch the package lists first
    cache_valid_time: int = 0  # seconds for which fetched lists are good enough
    # Also install what packages recommend; apt's own setting when not given
    install_recommends: bool | None = None
    default_release: str | None = None  # prefer this release, such as bookworm-backports
    purge: bool = False  # when removing, remove configuration files too
    autoremove: bool = False  # also remove what was installed for others only
    upgrade: Literal["dist", "full", "safe", "yes", "no"] = "no"  # upgrade all packages
    deb: str | None = None  # a package file on the host
    only_upgrade: bool = False  # leave packages that are not installed alone
    allow_downgrade: bool = False  # an older version may replace a newer one
    allow_unauthenticated: bool = False  # install what is not signed
    # How dpkg settles questions about configuration files
    dpkg_options: str = "force-confdef,force-confold"
    lock_timeout: int = 60  # seconds to wait while another program holds the package database
    allow_change_held_packages: bool = False  # packages on hold may change too
    fail_on_autoremove: bool = False  # fail rather than remove other packages
    force: bool = False  # unsigned, older, held and essential packages may change
    autoclean: bool = False  # remove fetched packages that can no longer be fetched
    clean: bool = False  # remove all fetched packages
    policy_rc_d: int | None = None  # what services are told when they would start; 101 forbids it
    update_cache_retries: int = 5  # how often fetching the lists is tried
    update_cache_retry_max_delay: int = 12  # seconds between two tries at most
    force_apt_get: bool = False  # accepted for Ansible's sake; apt-get is always used
    auto_install_module_deps: bool = True  # accepted for Ansible's sake; nothing more is needed

    def names(self) -> list[str]:
        return named(self.name)

    def observe(self, ctx: HostContext) -> State | None:
        needed("apt-get", "use the module of the package manager this host has, or package")
        packages = _apt_cache.installed(
            ctx, [_apt_cache.split_version(name)[0] for name in self.names()]
        )
        if self.deb:
            packages.update(_apt_cache.installed(ctx, [self._deb(ctx)[0]]))
        fetched = ctx.memory["fetched"] = _apt_cache.fetched_at()
        age = time.time() - fetched
        stale = self.update_cache or self.cache_valid_time > 0
        stale = stale and not 0 <= age < self.cache_valid_time
        found: State = {"packages": packages, "lists": "old" if stale else "fresh"}
        if self._sweeping():
            found["pending"] = self._pending(ctx)
        return found

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        observed = found or {}
        stale = observed["lists"] == "old"
        target: State = {"packages": self._wanted(ctx, observed["packages"], lenient=stale)}
        if stale:
            target["lists"] = "fresh"
        if self._sweeping():
            target["pending"] = []
        return target

    def apply(self, ctx: HostContext, change: Change) -> None:
        after: State = dict(change.after or {})
        if change.touches("lists") and after.get("lists") == "fresh":
            self._update(ctx)
            after["packages"] = self._wanted(
                ctx, (change.observed or {})["packages"], lenient=False
            )
            change.after = after
            if self._sweeping():
                change.before = {**(change.before or {}), "pending": self._pending(ctx)}
        coming, going = self.coming_and_going(change)
        if going:
            self._apt_get(ctx, ["remove", *(["--purge"] if self.purge else []), *going])
        if coming:
            self._apt_get(
                ctx,
                [
                    "install",
                    *self._options(),
                    *(self._argument(ctx, *pair) for pair in coming.items()),
                ],
            )
        if (change.before or {}).get("pending"):
            self._apt_get(ctx, self._sweeping())

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        more: dict[str, Any] = dict(ctx.memory.get("output", _NO_OUTPUT))
        fetched = _apt_cache.fetched_at()
        # Fetching lists that turn out to be the same changes nothing.
        updated = change.touches("lists") if ctx.check else fetched != ctx.memory["fetched"]
        alone = not (self.names() or self.deb or self._sweeping())
        more["changed"] = change.touches("packages", "pending") or (alone and updated)
        more["stdout_lines"], more["stderr_lines"] = (
            more["stdout"].splitlines(),
            more["stderr"].splitlines(),
        )
        if not ctx.check and (self.clean or self.autoclean):
            self._apt_get(ctx, ["clean" if self.clean else "autoclean"])
            more.update(ctx.memory["output"], changed=more["changed"] or self.clean)
        return {"cache_updated": updated, "cache_update_time": fetched, **more}

    def _update(self, ctx: HostContext) -> None:
        for attempt in range(self.update_cache_retries):
            try:
                self._apt_get(ctx, ["update"])
                return
            except Failed:
                if attempt == self.update_cache_retries - 1:
                    raise
                time.sleep(min(2**attempt, self.update_cache_retry_max_delay))

    def _wanted(self, ctx: HostContext, packages: dict[str, Any], lenient: bool) -> dict[str, Any]:
        asked = [_apt_cache.split_version(name) for name in self.names()]
        if self.state in ("absent", "removed"):
            return dict.fromkeys(packages)
        if self.state in ("fixed", "build-dep"):
            return dict(packages)
        latest = self.state == "latest"
        uncertain = [
            name
            for name, relation, version in asked
            if latest or not _apt_cache.satisfies(ctx, packages[name], relation, version)
        ]
        policies = _apt_cache.policies(ctx, uncertain, self.default_release)
        target = {
            name: self._version(
                ctx, name, relation, version, packages[name], policies.get(name), lenient
            )
            if name in uncertain
            else packages[name]
            for name, relation, version in asked
        }
        if self.deb:
            name, version = self._deb(ctx)
            target[name] = version
        return target

    def _version(
        self,
        ctx: HostContext,
        name: str,
        relation: str,
        version: str,
        installed_version: Optional[str],
        policy: Optional[_apt_cache.Policy],
        lenient: bool,
    ) -> Optional[str]:
        """The version of a package that should be there."""
        if installed_version is None and self.only_upgrade:
            return None
        fitting = [
            known
            for known in (policy.versions if policy else [])
            if _apt_cache.satisfies(ctx, known, relation, version)
        ]
        if policy and policy.candidate and (not relation or policy.candidate in fitting):
            return policy.candidate
        if relation and fitting:
            return fitting[0]
        if lenient and (relation or not installed_version):
            return "to be seen once the lists are fetched"
        if relation:
            raise Failed(f"no available installation candidate for {name}{relation}{version}")
        if installed_version:
            return installed_version
        if policy:  # a name that other packages provide; nothing to do when one of them is there
            return None if _apt_cache.provided(ctx, [name]) else PROVIDED
        raise Failed(
            f"No package matching '{name}' is available; check its spelling, or set update_cache"
        )

    def _deb(self, ctx: HostContext) -> tuple[str, str]:
        """The name and version in the package file."""
        if "deb" not in ctx.memory:
            ctx.memory["deb"] = _apt_cache.of_deb_file(ctx, self.deb or "")
        deb: tuple[str, str] = ctx.memory["deb"]
        return deb

    def _argument(self, ctx: HostContext, name: str, version: str) -> str:
        if self.deb and (name, version) == self._deb(ctx):
            return self.deb
        return name if version == PROVIDED else f"{name}={version}"

    def _options(self) -> list[str]:
        recommends = {
            None: [],
            True: ["-o", "APT::Install-Recommends=yes"],
            False: ["--no-install-recommends"],
        }
        return [
            *recommends[self.install_recommends],
            *(["-t", self.default_release] if self.default_release else []),
            *(["--only-upgrade"] if self.only_upgrade else []),
            *(["--allow-downgrades"] if self.allow_downgrade else []),
            *(["--allow-unauthenticated"] if self.allow_unauthenticated else []),
            *(["--auto-remove"] if self.autoremove else []),
            *(["--allow-change-held-packages"] if self.allow_change_held_packages else []),
            *(["--no-remove"] if self.fail_on_autoremove else []),
            *(_apt_cache.FORCED if self.force else []),
        ]

    def _sweeping(self) -> list[str]:
        """The apt-get words that upgrade or tidy the whole host, or none."""
        if self.state == "fixed":
            return ["install", "--fix-broken"]
        if self.state == "build-dep" and self.names():
            return ["build-dep", *self.names()]
        if self.upgrade != "no":
            return (
                ["dist-upgrade"]
                if self.upgrade in ("dist", "full")
                else ["upgrade", "--with-new-pkgs"]
            )
        return (
            ["autoremove", *(["--purge"] if self.purge else [])]
            if self.autoremove and not self.deb
            else []
        )

    def _pending(self, ctx: HostContext) -> list[str]:
        ran = ctx.run(["apt-get", "-s", "-qq", *self._sweeping()], env=_apt_cache.PLAIN)
        if ran.rc:
            raise Failed(
                f"apt-get cannot foresee {self._sweeping()[0]}: {ran.err.strip()}", rc=ran.rc
            )
        return [
            line.split()[1]
            for line in ran.out.splitlines()
            if line.startswith(("Inst ", "Remv ", "Purg "))
        ]

    def _apt_get(self, ctx: HostContext, arguments: list[str]) -> None:
        """Run apt-get without questions, waiting for the lock of the package database."""
        dpkg = [
            part
            for option in self.dpkg_options.split(",")
            if option
            for part in ("-o", f"Dpkg::Options::=--{option.strip()}")
        ]
        lock = f"DPkg::Lock::Timeout={self.lock_timeout}"
        command = ["apt-get", "-y", "-o", lock, *dpkg, *arguments]
        env = {**_apt_cache.PLAIN, "DEBIAN_FRONTEND": "noninteractive"}
        give_up = time.monotonic() + self.lock_timeout
        while True:
            with _apt_cache.policy_rc_d(ctx, self.policy_rc_d):
                ran = ctx.run(command, env=env, live=True)
            if ran.rc == 0:
                break
            if "Could not get lock" not in ran.err or time.monotonic() > give_up:
                raise Failed(
                    f"'{' '.join(command)}' failed: {ran.err.strip() or ran.out.strip()}",
                    rc=ran.rc,
                    stdout=ran.out,
                    stderr=ran.err,
                )
            time.sleep(1)
        before = ctx.memory.get("output", _NO_OUTPUT)
        ctx.memory["output"] = {
            "stdout": before["stdout"] + ran.out,
            "stderr": before["stderr"] + ran.err,
        }
