"""What apt and dpkg know: installed versions, candidates, and when the lists were fetched."""

from __future__ import annotations

import os
from contextlib import contextmanager

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional

    from playrunner.hostside.host_context import HostContext

# Stands for the version of a package that exists only as a name others provide
PROVIDED = "provided"
PLAIN = {"LC_ALL": "C", "LANG": "C"}
FORCED = (
    "--allow-unauthenticated",
    "--allow-downgrades",
    "--allow-remove-essential",
    "--allow-change-held-packages",
)
POLICY = "/usr/sbin/policy-rc.d"  # asked by packages before they start a service
STAMPS = ("/var/lib/apt/periodic/update-success-stamp", "/var/lib/apt/lists")


class Policy:
    """What could be installed of one package."""

    def __init__(self, candidate: Optional[str], versions: list[str]) -> None:
        self.candidate, self.versions = candidate, versions


def installed(ctx: HostContext, names: list[str]) -> dict[str, Optional[str]]:
    """The installed version of each, from dpkg alone."""
    versions: dict[str, Optional[str]] = dict.fromkeys(names)
    if names:
        form = r"${Package} ${Architecture} ${Version} ${db:Status-Status}\n"
        ran = ctx.run(["dpkg-query", "-W", "-f", form, *names], env=PLAIN)
        for line in ran.out.splitlines():
            package, architecture, version, status = line.split(" ", 3)
            for name in (package, f"{package}:{architecture}"):
                if status == "installed" and name in versions:
                    versions[name] = version
    return versions


def provided(ctx: HostContext, names: list[str]) -> set[str]:
    """Those names that an installed package provides."""
    ran = ctx.run(["dpkg-query", "-W", "-f", r"${db:Status-Status} ${Provides}\n"], env=PLAIN)
    provided_names: set[str] = set()
    for line in ran.out.splitlines():
        status, _, names_provided = line.partition(" ")
        if status == "installed":
            provided_names.update(
                part.split()[0] for part in names_provided.split(",") if part.strip()
            )
    return provided_names.intersection(names)


def policies(ctx: HostContext, names: list[str], release: Optional[str]) -> dict[str, Policy]:
    """Candidate and known versions of each package that apt knows."""
    if not names:
        return {}
    chosen = ["-o", f"APT::Default-Release={release}"] if release else []
    ran = ctx.run(["apt-cache", *chosen, "policy", *names], env=PLAIN)
    by_package: dict[str, Policy] = {}
    policy = Policy(None, [])
    for line in ran.out.splitlines():
        fields = line.split()
        if line and line[0] != " ":
            policy = by_package[line.strip().rstrip(":")] = Policy(None, [])
        elif fields[:1] == ["Candidate:"]:
            policy.candidate = None if fields[1] == "(none)" else fields[1]
        elif line.startswith((" *** ", "     ")) and len(fields) >= 2 and line[5] != " ":
            policy.versions.append(fields[1] if fields[0] == "***" else fields[0])
    return by_package


def split_version(name: str) -> tuple[str, str, str]:
    """`hello=2.10*` as name, relation and version; the last two empty when nothing is asked."""
    for relation in (">=", "="):
        package, sign, version = name.partition(relation)
        if sign:
            return package.strip(), relation, version.strip()
    return name, "", ""


def satisfies(ctx: HostContext, version: Optional[str], relation: str, pattern: str) -> bool:
    if version is None or not relation:
        return version is not None
    if relation == ">=":
        return bool(ctx.run(["dpkg", "--compare-versions", version, "ge", pattern]).rc == 0)
    from fnmatch import fnmatchcase

    return fnmatchcase(version, pattern)


def of_deb_file(ctx: HostContext, path: str) -> tuple[str, str]:
    """Name and version of the package in a .deb file."""
    ran = ctx.run(["dpkg-deb", "-W", "--showformat", "${Package} ${Version}", path], env=PLAIN)
    if ran.rc:
        raise Failed(f"{path} is not a package file: {ran.err.strip()}")
    name, _, version = ran.out.partition(" ")
    return name, version


def fetched_at() -> int:
    """When the package lists were last fetched; 0 when never."""
    for path in STAMPS:
        try:
            return int(os.stat(path).st_mtime)
        except OSError:
            continue
    return 0


@contextmanager
def policy_rc_d(ctx: HostContext, status: Optional[int]) -> Iterator[None]:
    """While it lasts, services that packages would start are told `status`; what was there before
    comes back."""
    if status is None:
        yield
        return
    from playrunner.modules.host._text_files import put_text, text_at

    before = text_at(POLICY)
    put_text(ctx, POLICY, f"#!/bin/sh\nexit {status}\n", {"mode": "0755"})
    try:
        yield
    finally:
        put_text(ctx, POLICY, before, {} if before is None else {"mode": "0755"})
