"""HereModule: what the modules for things on this machine share. They come and go with the
cluster's jump host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from playrunner.cloud.resource import CloudModule
from playrunner.hostside.state import State
from playrunner.record.ledger import state_directory
from playrunner.text import atomic_write
from playrunner.text.safe_path import file_name

if TYPE_CHECKING:
    from playrunner.run.context import Context


class HereModule(CloudModule):
    """A thing in the folder that this machine keeps for a cluster's jump host; whatever is in there
    is ours."""

    identity: ClassVar[tuple[str, ...]] = ()
    settle_seconds: ClassVar[float] = 30
    of_the_controller = True

    def ours(self, ctx: Context, state: State) -> bool:
        return True

    def label(self, state: State) -> str:
        return str(state.get("path", ""))


def folder(ctx: Context) -> Path:
    """Where everything about a cluster's jump host is kept on this machine."""
    return state_directory() / "jumphost" / file_name(str(ctx.owner.cluster))


def write(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace the file whole; its folder is readable by the operator alone."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_write.write_bytes(file, content, mode)


def remove(*files: Path) -> None:
    """The files, and the folders that nothing else is left in."""
    for file in files:
        file.unlink(missing_ok=True)
    top = state_directory()
    for place in files[0].parents:
        try:
            if place == top:
                return
            place.rmdir()
        except OSError:  # something else is kept there
            return
