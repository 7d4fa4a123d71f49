"""Context: the files that go into an image. They are gathered, hashed and laid out the same way on
every machine."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.images.ignore import Ignored
from playrunner.images.workspace import refuse_secrets, refuse_system_folders

WORKSPACE = "workspace"  # where a workspace lies in the context
_LAID_OUT_AT = 1_000_000_000  # one time for all files: layers that hold the same are the same


@frozen
class Source:
    """A file or folder of this machine, and what it is called in the context."""

    path: str
    dest: str


@frozen
class ContextFile:
    """One file of a context."""

    dest: str
    path: Path

    @property
    def mode(self) -> int:
        """Whether it can be run is part of it; how a checkout's umask was set is not."""
        return 0o755 if self.path.stat().st_mode & 0o100 else 0o644


def sources_of(given: Mapping[str, str], workspace: str = "") -> tuple[Source, ...]:
    """From `{trainer: /path/of/trainer}` and a folder to lay over the image."""
    sources = [Source(str(path), dest.strip("/")) for dest, path in sorted(given.items())]
    return (*sources, Source(workspace, WORKSPACE)) if workspace else tuple(sources)


def files_of(sources: Sequence[Source]) -> list[ContextFile]:
    """Every file of the context, in the order of its name there."""
    files: dict[str, ContextFile] = {}
    for source in sources:
        top = Path(source.path).expanduser()
        if not top.exists():
            raise Failed(f"{top} is not there, and should go into the image as {source.dest}")
        inside = [source.dest] if top.is_file() else list(_below(top))
        if source.dest == WORKSPACE:
            refuse_system_folders(inside, str(top))
        refuse_secrets(inside, str(top))
        for name in inside:
            dest = source.dest if top.is_file() else f"{source.dest}/{name}"
            files[dest] = ContextFile(dest, top if top.is_file() else top / name)
    return [files[dest] for dest in sorted(files)]


def digest(dockerfile: str, files: Sequence[ContextFile], settings: Mapping[str, Any]) -> str:
    """What an image is made from, in 64 letters: one byte of anything makes another."""
    made = hashlib.sha256()
    for name, value in sorted(settings.items()):
        _add(made, f"setting {name}", str(value).encode())
    _add(made, "dockerfile", dockerfile.encode())
    for file in files:
        _add(made, f"{file.mode:o} {file.dest}", file.path.read_bytes())
    return made.hexdigest()


def lay_out(folder: Path, dockerfile: str, files: Sequence[ContextFile]) -> None:
    """The context as a builder takes it: the files, and the Dockerfile beside them."""
    for file in files:
        target = folder / file.dest
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target)
        target.chmod(file.mode)
    (folder / "Dockerfile").write_text(dockerfile)
    for top, folders, names in os.walk(folder):
        for name in (*folders, *names):
            os.utime(Path(top) / name, (_LAID_OUT_AT, _LAID_OUT_AT))
        for name in folders:
            (Path(top) / name).chmod(0o755)


def _below(top: Path) -> Iterator[str]:
    ignored, inside = Ignored.of(top), top.resolve()
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        if path.is_dir() or ignored.covers(name):
            continue
        if not path.is_file() or not path.resolve().is_relative_to(inside):
            raise Failed(
                f"{path} is a link to somewhere else, or no plain file; it cannot go into an image"
            )
        yield name


def _add(made: Any, name: str, data: bytes) -> None:
    made.update(f"{name}\0{len(data)}\0".encode() + data)
