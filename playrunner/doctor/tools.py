"""Programs that purposes need, the oldest version that will do, and the package that brings each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from playrunner.doctor.finding import Finding
from playrunner.doctor.machine import Machine, Tool
from playrunner.doctor.purposes import Purposes


@dataclass(frozen=True)
class Need:
    """One program, or one of several that do the same."""

    what: str
    any_of: Mapping[
        str, tuple[str, ...]
    ]  # each with the words that make it tell its version, and whether it works
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
    "logins": (Need("ssh", {"ssh": ("-V",)}, _CLIENT, (7, 3), "older ones know no ProxyJump"),),
    "sandbox": (
        Need("sshd", {"sshd": ("-V",)}, {"brew": "openssh", "": "openssh-server"}),
        Need("ssh-keygen", {"ssh-keygen": ("-?",)}, _CLIENT),
        Need("ps", {"ps": ("--version",)}, {"dnf": "procps-ng", "yum": "procps-ng", "": "procps"}),
    ),
    # docker answers with its daemon's version, so one whose daemon is out of reach does not count.
    "images": (
        Need(
            "a builder of images (docker, buildah or podman)",
            {
                "docker": ("version", "--format", "{{.Server.Version}}"),
                "buildah": ("--version",),
                "podman": ("--version",),
            },
            {"brew": "podman", "": "buildah"},
        ),
    ),
}
_VERSION_IS_SAID_WITH = {
    "ssh-keygen": (0, 1),
    "sshd": (0, 1),
    "ps": (0, 1),
}  # some answer a question for help with code 1
_NONE = Tool("", 127, "")


def asked(purposes: Purposes) -> dict[str, tuple[str, ...]]:
    """Every program that is worth looking for."""
    return {
        name: words
        for purpose in purposes
        for need in _NEEDS.get(purpose, ())
        for name, words in need.any_of.items()
    }


def examine(machine: Machine, purposes: Purposes, where: str) -> list[Finding]:
    return [
        _finding(need, machine, roles, where)
        for purpose, roles in purposes.items()
        for need in _NEEDS.get(purpose, ())
    ]


def _finding(need: Need, machine: Machine, roles: tuple[str, ...], where: str) -> Finding:
    found = {name: machine.tools[name] for name in need.any_of}
    working = [
        name
        for name, tool in found.items()
        if tool.path and tool.code in _VERSION_IS_SAID_WITH.get(name, (0,))
    ]
    install = _install(need, machine)
    if not working:
        broken = [
            f"{name} is there, but: {tool.text or f'code {tool.code}'}"
            for name, tool in found.items()
            if tool.path
        ]
        also = (
            "; for docker: start its service, and add this user to the group docker"
            if found.get("docker", _NONE).path
            else ""
        )
        return Finding(
            need.what, False, _text(broken) or "not found", roles, install + also, where=where
        )
    name = working[0]
    version = _version(name, found[name])
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
        f"{found[name].path}{f' {_dotted(version)}' if version else ''}",
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
        return ()  # they tell none, or one that says nothing
    found = re.search(r"\d+(?:\.\d+)+", tool.text)
    return tuple(map(int, found.group().split("."))) if found else ()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _text(broken: list[str]) -> str:
    return "; ".join(broken)
