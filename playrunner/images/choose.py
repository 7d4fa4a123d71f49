"""Which builder: the one that the inventory names, otherwise the first that is there and works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playrunner.hostside.module import Failed
from playrunner.images import logins, platform
from playrunner.images.build_host import Shell
from playrunner.images.builder import TOOLS, Builder, Tool
from playrunner.images.credentials import Credentials
from playrunner.images.settings import ImageSettings
from playrunner.ssh.connection import Connection, Local
from playrunner.ssh.targets import Target

Reach = Callable[[str], Connection]


class NoBuilder(Failed):
    """Nothing there can build an image, so nothing there keeps one either."""


def looking(settings: ImageSettings, reach: Reach) -> Builder:
    """A builder to ask what it keeps; it logs in nowhere."""
    shell = _shell(settings, reach)
    return Builder(_chosen(settings, shell), shell, settings)


@contextmanager
def working(
    settings: ImageSettings, reach: Reach, credentials: Credentials, registries: set[str]
) -> Iterator[Builder]:
    """A builder that can log in to these registries; what it needs for that on another machine is
    gone afterwards."""
    shell = _shell(settings, reach)
    tool = _chosen(settings, shell)
    _require_x86(shell, tool, settings)
    if shell.here:
        credentials.hand_over(registries)
        yield Builder(tool, shell, settings, _usable(settings.auth_file, tool))
        return
    place = shell.folder()
    try:
        found = {registry: login for registry in registries if (login := credentials.of(registry))}
        shell.write(f"{place}/config.json", logins.only(found))
        yield Builder(tool, shell, settings, f"{place}/config.json")
    finally:
        shell.drop(place)


def _shell(settings: ImageSettings, reach: Reach) -> Shell:
    if settings.builder_host:
        return Shell(reach(settings.builder_host), here=False)
    return Shell(Local(Target("localhost", "127.0.0.1", "local")), here=True)


def _chosen(settings: ImageSettings, shell: Shell) -> Tool:
    where = settings.builder_host or "this machine"
    if settings.builder != "auto":
        tool = TOOLS[settings.builder]
        if not _works(tool, shell):
            raise NoBuilder(
                f"image_builder is {tool.program}, which does not work on {where}:"
                f" {_complaint(tool, shell)}"
            )
        return tool
    for tool in TOOLS.values():
        if _works(tool, shell):
            return tool
    raise NoBuilder(
        f"nothing on {where} can build an image: {', '.join(TOOLS)} are missing or do not answer;"
        " install one, name a host of the inventory that has one (image_builder_host), or build in"
        " the cluster (image_builder: cluster)"
    )


def _works(tool: Tool, shell: Shell) -> bool:
    """Whether the program is there and, where it needs a daemon, the daemon answers."""
    return shell.has(tool.program) and (
        tool.takes_auth_file or shell.ask(tool.program, "info")[0] == 0
    )


def _complaint(tool: Tool, shell: Shell) -> str:
    if not shell.has(tool.program):
        return "it is not installed"
    return "its daemon does not answer; start it, and see that you are in the group docker"


def _require_x86(shell: Shell, tool: Tool, settings: ImageSettings) -> None:
    """On another kind of machine the image's own programs do not run while it is built, unless
    it is emulated."""
    machine = shell.ask("uname", "-m")[1].strip()
    emulated = (
        not tool.takes_auth_file or shell.ask("test", "-e", platform.emulator())[0] == 0
    )  # Docker Desktop brings an emulator
    if not platform.is_native(machine) and not emulated:
        raise Failed(
            f"{settings.builder_host or 'this machine'} is {machine}, and the nodes are"
            f" {platform.PLATFORM}: what is built here does not run there; name a host of that kind"
            " as image_builder_host, such as the jump host"
        )


def _usable(auth_file: Path, tool: Tool) -> str:
    """The file of logins, when there is one: programs refuse one that is not there."""
    if not auth_file.is_file():
        return ""
    if not tool.takes_auth_file and auth_file.name != "config.json":
        raise Failed(
            f"docker reads logins only from a file called config.json, not from {auth_file}; set"
            " image_auth_file"
        )
    return str(auth_file)
