"""Checks the programs that purposes need: oldest usable version, and the package to install."""

from __future__ import annotations

import re
from collections.abc import Mapping

from playrunner.doctor.finding import Finding
from playrunner.doctor.machine import Machine, Tool
from playrunner.doctor.purposes import Purposes
from playrunner.frozen import frozen


@frozen
class Need:
    """One program, or one of several that do the same."""

    what: str
    # Each with the arguments that print its version and show that it works
    any_of: Mapping[str, tuple[str, ...]]
    packages: Mapping[str, str]  # by package manager; "" for all others
    least: tuple[int, ...] = ()
    reason: str = ""


_CLIENT = {
    "brew": "openssh",
    "dnf": "openssh-clients",
    "yum": "openssh-clients",
    "zypper": "openssh-clients",
    "": "openssh-client",
}
_NEEDS: dict[str, tuple[Need, ...]] = {
    "logins": (Need("ssh", {"ssh": ("-V",)}, _CLIENT, (7, 3), "ProxyJump is not supported"),),
    "sandbox": (
        Need("sshd", {"sshd": ("-V",)}, {"brew": "openssh", "": "openssh-server"}),
        Need("ssh-keygen", {"ssh-keygen": ("-?",)}, _CLIENT),
        Need("ps", {"ps": ("--version",)}, {"dnf": "procps-ng", "yum": "procps-ng", "": "procps"}),
    ),
    # docker prints its daemon's version, so one whose daemon is not reachable does not count.
    "images": (
        Need(
            "image builder (docker, buildah or podman)",
            {
                "docker": ("version", "--format", "{{.Server.Version}}"),
                "buildah": ("--version",),
                "podman": ("--version",),
            },
            {"brew": "podman", "": "buildah"},
        ),
    ),
}
# Some print their usage with exit code 1
_VERSION_EXIT_CODES = {"ssh-keygen": (0, 1), "sshd": (0, 1), "ps": (0, 1)}
_NOT_FOUND = Tool("", 127, "")


def version_commands(purposes: Purposes) -> dict[str, tuple[str, ...]]:
    """The programs to look for, with the arguments that print their version."""
    return {
        name: arguments
        for purpose in purposes
        for need in _NEEDS.get(purpose, ())
        for name, arguments in need.any_of.items()
    }


def examine(machine: Machine, purposes: Purposes, where: str) -> list[Finding]:
    return [
        _finding(need, machine, roles, where)
        for purpose, roles in purposes.items()
        for need in _NEEDS.get(purpose, ())
    ]


def _finding(need: Need, machine: Machine, roles: tuple[str, ...], where: str) -> Finding:
    tools = {name: machine.tools[name] for name in need.any_of}
    working = [
        name
        for name, tool in tools.items()
        if tool.path and tool.code in _VERSION_EXIT_CODES.get(name, (0,))
    ]
    install = _install(need, machine)
    if not working:
        broken = [
            f"{name} does not work: {tool.text or f'exit code {tool.code}'}"
            for name, tool in tools.items()
            if tool.path
        ]
        also = (
            "; for docker: start its service, and add this user to the group docker"
            if tools.get("docker", _NOT_FOUND).path
            else ""
        )
        return Finding(
            need.what, False, _text(broken) or "not found", roles, install + also, where=where
        )
    name = working[0]
    version = _version(name, tools[name])
    if need.least and version and version < need.least:
        least = ".".join(map(str, need.least))
        return Finding(
            need.what,
            False,
            f"{name} {_dotted(version)} is older than {least}: {need.reason}",
            roles,
            install,
            where=where,
        )
    return Finding(
        need.what,
        True,
        f"{tools[name].path}{f' {_dotted(version)}' if version else ''}",
        roles,
        where=where,
    )


def _install(need: Need, machine: Machine) -> str:
    manager = machine.manager or "apt-get"
    package = need.packages.get(manager, need.packages[""])
    rights = "" if machine.root or manager == "brew" else "sudo "
    return f"{rights}{manager} install {package}"


def _version(name: str, tool: Tool) -> tuple[int, ...]:
    if name in ("ssh-keygen", "ps"):
        return ()  # they print none, or a meaningless one
    match = re.search(r"\d+(?:\.\d+)+", tool.text)
    return tuple(map(int, match.group().split("."))) if match else ()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _text(broken: list[str]) -> str:
    return "; ".join(broken)
