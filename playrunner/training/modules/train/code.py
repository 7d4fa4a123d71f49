"""train.code: a program's files on the node, in a folder named by their content, put there once and
whole."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


_PATIENCE_SECONDS = 15.0  # unpacking takes a tenth of a second, on a slow network file system some


class Code(Module):
    """A program's files on the node, in a folder named by their content: unpacked once, never
    changed."""

    ships = "src"

    src: Any  # a .tar.gz on the controller
    # The folder to unpack into; its name should tell the content, since what exists is believed
    dest: str

    def observe(self, ctx: HostContext) -> Optional[State]:
        return {"there": True} if os.path.isdir(os.path.expanduser(self.dest)) else None

    def desired(self, ctx: HostContext, found: Optional[State]) -> State:
        return {"there": True}

    def apply(self, ctx: HostContext, change: Change) -> None:
        dest = os.path.expanduser(self.dest)
        if change.removes:
            _remove(dest)
            return
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        claim = f"{dest}.claim"
        if not _claimed(claim) and _appears(dest):
            return  # another node of a shared folder was quicker
        # Imported by the node that unpacks, not by those that wait for it: it is slow
        from tempfile import mkdtemp

        draft = mkdtemp(prefix=".code-", dir=os.path.dirname(dest))
        try:
            _unpack(ctx.blob(self.src), draft)
            os.chmod(draft, 0o755)
            os.rename(draft, dest)
        except OSError as error:
            _remove(draft, ignore_errors=True)
            if not os.path.isdir(dest):
                raise Failed(f"{dest} could not be made: {error}") from None
        finally:
            _remove(claim, ignore_errors=True)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"dest": os.path.expanduser(self.dest)}


def _remove(path: str, ignore_errors: bool = False) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=ignore_errors)


def _claimed(path: str) -> bool:
    """Whether it is for us to unpack: of the nodes that share a folder, one does it for all."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    return True


def _appears(path: str) -> bool:
    """Wait for what another node has claimed to make; one that died on the way is not waited for
    long."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not os.path.isdir(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _unpack(data: bytes, folder: str) -> None:
    import io
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            # Only plain files and folders below: the archive is ours, and stays so should it be
            # tampered with.
            if (
                not (member.isfile() or member.isdir())
                or member.name.startswith("/")
                or ".." in member.name.split("/")
            ):
                raise Failed(f"{member.name} does not belong into an archive of code")
            archive.extract(member, folder)
