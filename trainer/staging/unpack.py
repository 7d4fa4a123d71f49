"""Archives, unpacked into a temporary folder and then moved to the target."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

from trainer.errors import BadInput

ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")


def is_archive(name: str) -> bool:
    return name.endswith(ENDINGS)


def unpack(archive: Path, name: str, folder: Path) -> None:
    """Into an empty folder; members outside it are refused."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(folder)  # zipfile stays inside the folder by itself
            return
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise BadInput(f"{name} cannot be unpacked: {error}") from None


def move_below(folder: Path, target: Path) -> list[str]:
    """Every file to the same path below the target; their names."""
    moved = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target / name)
        moved.append(name)
    return moved
