"""jumphost.folder: the folder on a host that was there before us, marked as ours so that it can be
deleted."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar

from playrunner.cloud.resource import CloudModule
from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.ssh import session
from playrunner.ssh.frames import read_all
from playrunner.ssh.limits import ANSWER_BYTES

if TYPE_CHECKING:
    from playrunner.run.context import Context

MARK = ".playrunner"  # the file in it that says whose it is


class Folder(CloudModule):
    """A folder on the step's host tagged as ours in it; one that holds something else is never
    touched."""

    identity: ClassVar[tuple[str, ...]] = ("path",)
    settle_seconds: ClassVar[float] = 120

    path: str  # where it is; ~ is the login's home

    def observe(self, ctx: Context) -> State | None:
        place = _quoted(self.path)
        look = (
            f"if [ -f {place}/{MARK} ]; then cat {place}/{MARK}; "
            f'elif [ -n "$(ls -A {place} 2>/dev/null)" ]; then echo taken; fi'
        )
        try:
            words = _run(ctx, look).split()
        except HostUnreachable as silence:
            # Silence is not absence, and no reason to leave everything else as it is.
            return {"path": self.path, "owner": "", "silence": str(silence)}
        return (
            {"path": self.path, "owner": words[1] if words[0] == "cluster" else ""}
            if words
            else None
        )

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"owner": ctx.owner.cluster}

    def apply(self, ctx: Context, change: Change) -> None:
        place = _quoted(self.path)
        if change.removes:
            _run(ctx, f"rm -rf -- {place}")
        else:
            mark = shlex.quote(f"cluster {ctx.owner.cluster}")
            _run(
                ctx,
                f"mkdir -p {place} && echo {mark} > {place}/{MARK}.draft && mv {place}/{MARK}.draft"
                f" {place}/{MARK}",
            )

    def broken(self, state: State) -> str | None:
        return state.get("silence")

    def ours(self, ctx: Context, state: State) -> bool:
        return bool(state.get("silence")) or state["owner"] == ctx.owner.cluster

    def label(self, state: State) -> str:
        return self.path


def _quoted(path: str) -> str:
    """The path as a shell takes it, with the tilde still meaning the login's home."""
    home, slash, rest = path.partition("/")
    if home == "~":
        return f'"$HOME"{slash}{shlex.quote(rest)}' if rest else '"$HOME"'
    return shlex.quote(path)


def _run(ctx: Context, command: str) -> str:
    session.prepare()
    channel = ctx.connection().start(f"sh -c {shlex.quote(command)}")
    out, _ = read_all(channel, ANSWER_BYTES)
    status, stderr_text = channel.status(), channel.stderr_text()
    channel.close()
    if status:
        raise Failed(f"{stderr_text.strip() or 'the command failed'}", rc=status)
    return out.decode(errors="replace")
