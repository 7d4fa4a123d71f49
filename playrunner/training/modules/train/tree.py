"""train.tree: the files of a user's script in a run's working folder, each content copied once."""

from __future__ import annotations

import json
import os
import shutil
import time

from playrunner.hostside.module import Failed, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_LIST = ".playrunner-files.json"  # in the working folder: what came from here, path to hash
_PATIENCE_SECONDS = 60.0  # for another node that fills the same shared folder


class Tree(Module):
    """The files of a user's script in a run's working folder. Files that were copied earlier and
    are no longer among them go; what the script itself wrote there stays."""

    ships = "src"

    src: Any = ""  # an archive of the contents that some node lacks, or nothing
    store: str  # the folder of contents, each named by its hash
    dest: str  # the working folder
    files: list[list[Any]]  # path, hash, executable

    def observe(self, ctx: HostContext) -> Optional[State]:
        listed = _listed(self._dest())
        return {"files": listed} if listed is not None else None

    def desired(self, ctx: HostContext, found: Optional[State]) -> State:
        return {"files": {path: digest for path, digest, _ in self.files}}

    def apply(self, ctx: HostContext, change: Change) -> None:
        if change.after is None:
            shutil.rmtree(self._dest())
            return
        for path, _, _ in self.files:
            if path.startswith("/") or ".." in path.split("/"):
                raise Failed(f"{path} leaves the folder of the script")
        if self.src:
            self._unpack(ctx.blob(self.src))
        os.makedirs(self._dest(), exist_ok=True)
        claim = f"{self._dest()}.claim"
        _claim(claim)
        try:
            self._fill()
        finally:
            shutil.rmtree(claim, ignore_errors=True)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"dest": self._dest()}

    def _dest(self) -> str:
        return os.path.expanduser(self.dest)

    def _unpack(self, data: bytes) -> None:
        import hashlib
        import io
        import tarfile

        store = os.path.expanduser(self.store)
        os.makedirs(store, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                file = archive.extractfile(member)
                content = file.read() if file else b""
                if hashlib.sha256(content).hexdigest() != member.name:
                    raise Failed(f"{member.name} is not the content of that hash")
                _write(os.path.join(store, member.name), content, 0o644)

    def _fill(self) -> None:
        dest, store = self._dest(), os.path.expanduser(self.store)
        before = _listed(dest) or {}
        wanted = {path: digest for path, digest, _ in self.files}
        for path in sorted(set(before) - set(wanted)):
            try:
                os.unlink(os.path.join(dest, path))
            except OSError:
                pass  # the script has removed it
        for path, digest, executable in self.files:
            target = os.path.join(dest, path)
            if before.get(path) == digest and os.path.exists(target):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                with open(os.path.join(store, digest), "rb") as file:
                    _write(target, file.read(), 0o755 if executable else 0o644)
            except OSError as error:
                raise Failed(f"{target} could not be written: {error}") from None
        _write(os.path.join(dest, _LIST), json.dumps(wanted).encode(), 0o644)


def _listed(folder: str) -> Optional[dict[str, str]]:
    try:
        with open(os.path.join(folder, _LIST)) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _claim(path: str) -> None:
    """Of the nodes that share a folder one writes at a time; one that died is not waited for."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            os.mkdir(path)
            return
        except FileExistsError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.02)


def _write(path: str, content: bytes, mode: int) -> None:
    draft = f"{path}.{os.getpid()}.draft"
    with open(draft, "wb") as file:
        file.write(content)
    os.chmod(draft, mode)
    os.rename(draft, path)
