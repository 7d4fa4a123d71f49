"""Archives, unpacked into a temporary folder and then moved to the target."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path

from trainer.errors import BadInput

ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_ONE_FILE = ".gz"


def is_archive(name: str) -> bool:
    return name.endswith((*ENDINGS, _ONE_FILE))


def unpack(archive: Path, name: str, folder: Path) -> None:
    """Into an empty folder; members outside it are refused."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(folder)  # zipfile stays inside the folder by itself
        elif name.endswith(ENDINGS):
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
        else:
            target = folder / name.removesuffix(_ONE_FILE)
            target.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(archive) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise BadInput(f"{name} cannot be unpacked: {error}") from None


def without_own_folder(folder: Path, name: str, target: Path) -> Path:
    """Where the content begins: below a single top folder that is named as the target or as the
    archive, which would only repeat it."""
    own = {target.name, *(Path(name).name.removesuffix(ending) for ending in ENDINGS)}
    entries = list(folder.iterdir())
    alone = len(entries) == 1 and entries[0].is_dir() and not entries[0].is_symlink()
    return entries[0] if alone and entries[0].name in own else folder


def move_below(folder: Path, target: Path, reserved: tuple[str, ...] = ()) -> list[str]:
    """Every file to the same path below the target; their names. `reserved`: names at the top that
    no file may have."""
    paths = sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    for path in paths:
        relative = path.relative_to(folder)
        if path.is_symlink():
            # Moved, it would point elsewhere than where it was checked.
            raise BadInput(f"{relative} cannot be unpacked: it is a link, and data needs none")
        if relative.parts[0] in reserved:
            raise BadInput(f"{relative} cannot be unpacked: the name is kept for staging itself")
    moved = []
    for path in paths:
        name = str(path.relative_to(folder))
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target / name)
        moved.append(name)
    return moved
