"""jumphost.known_host: the keys by which an EC2 machine is known, learnt from its console.

A key that is taken as it comes at the first contact could be anyone's. One that is made here and
given to the machine as user data could be read by every program on it. So the machine makes its
own, and AWS tells us what it printed when it first started.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.state import Change, State
from playrunner.modules.jumphost._here import HereModule, folder, remove, write

if TYPE_CHECKING:
    from playrunner.run.context import Context

_SECTION = re.compile(
    r"-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----", re.DOTALL
)
_KEY = re.compile(
    r"\b(ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa) ([A-Za-z0-9+/]{60,}={0,2})"
)


class KnownHost(HereModule):
    """A machine's host keys in a known_hosts file of ours: written once, and again when another
    machine takes its name."""

    identity: ClassVar[tuple[str, ...]] = ("name",)
    settle_seconds: ClassVar[float] = 900  # a console shows what was printed some minutes later

    name: str  # what the machine is called in known_hosts, whatever its address is (HostKeyAlias)
    instance_id: str  # the machine

    def observe(self, ctx: Context) -> State | None:
        file = _file(ctx)
        known = _entry(file, self.name)
        if known is None:
            return None
        instance, keys = known
        shown = self._shown(ctx) if not keys and instance == self.instance_id else []
        return {
            "path": str(file),
            "name": self.name,
            "instance": instance,
            "host_keys": keys,
            "shown": shown,
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        shown = (current or {}).get("shown")
        return {"instance": self.instance_id, **({"host_keys": shown} if shown else {})}

    def apply(self, ctx: Context, change: Change) -> None:
        """First the machine is noted, then, once its console shows them, its keys."""
        file = _file(ctx)
        others = [line for line in _lines(file) if _speaks_of(line) != self.name]
        if change.after is not None:
            others += _written(
                self.name, change.after["instance"], change.after.get("host_keys") or []
            )
        if others:
            write(file, "".join(f"{line}\n" for line in others).encode())
        else:
            remove(file)

    def moving(self, state: State) -> str | None:
        waits = (
            not state["host_keys"] and not state["shown"] and state["instance"] == self.instance_id
        )
        return "waiting until its console shows its host keys" if waits else None

    def _shown(self, ctx: Context) -> list[str]:
        """What the machine printed; the newest output can be asked for only of those on newer
        hardware."""
        asked: dict[str, Any] = {"InstanceId": self.instance_id}
        answer = ctx.aws.read(
            "ec2", "get_console_output", missing=("UnsupportedOperation",), Latest=True, **asked
        )
        if answer is None:
            answer = ctx.aws.read("ec2", "get_console_output", **asked)
        return host_keys(str(answer.get("Output") or ""))


def host_keys(console: str) -> list[str]:
    """The host keys that cloud-init printed, as `type base64`; the last time counts."""
    sections = _SECTION.findall(console)
    return (
        sorted(
            {f"{kind} {text}" for kind, text in _KEY.findall(sections[-1]) if _is_key(kind, text)}
        )
        if sections
        else []
    )


def _is_key(kind: str, text: str) -> bool:
    """Whether it is whole: its own bytes begin with its type."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return data.startswith(len(kind).to_bytes(4, "big") + kind.encode())


def _file(ctx: Context) -> Path:
    return folder(ctx) / "known_hosts"


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except FileNotFoundError:
        return []


def _written(name: str, instance: str, keys: list[str]) -> list[str]:
    """known_hosts lines end in a comment, which says whose the key is; before there are keys, the
    whole line is one."""
    return [f"{name} {key} {instance}" for key in keys] or [f"# {name} {instance}"]


def _speaks_of(line: str) -> str:
    words = line.removeprefix("# ").split()
    return words[0] if words else ""


def _entry(file: Path, name: str) -> tuple[str, list[str]] | None:
    mine = [line for line in _lines(file) if _speaks_of(line) == name]
    if not mine:
        return None
    keys = sorted(" ".join(line.split()[1:3]) for line in mine if not line.startswith("#"))
    return mine[0].split()[-1], keys
