"""The trainer's code as one archive, named by its content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from pathlib import Path

import trainer
from playrunner import metrics
from playrunner.record.ledger import state_directory
from playrunner.text import atomic_write


def code_archive() -> tuple[str, Path]:
    """The hash of the trainer's files, and an archive of them on this machine."""
    digest = hashlib.sha256()
    sources = _sources(os.path.dirname(trainer.__file__))
    # For scripts of the user's own, apart from the trainer: they may have a package of its name
    sources["helper/playrunner/__init__.py"] = b""
    sources["helper/playrunner/metrics.py"] = Path(metrics.__file__).read_bytes()
    for place, data in sources.items():
        digest.update(f"{place}\0{len(data)}\0".encode())
        digest.update(data)
    name = digest.hexdigest()[:16]
    archive = state_directory() / "training" / "code" / f"{name}.tar.gz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write.write_bytes(archive, _packed(sources))
    return name, archive


def _sources(package: str) -> dict[str, bytes]:
    """The package's files by their paths. Every launch reads them, and pathlib would take thrice
    the time."""
    found, above = {}, len(os.path.dirname(package)) + 1
    for folder, folders, names in os.walk(package):
        folders[:] = [each for each in folders if each != "__pycache__"]
        for name in names:
            if name.endswith((".py", ".yaml")):
                path = os.path.join(folder, name)
                with open(path, "rb", buffering=0) as file:
                    found[path[above:]] = file.read()
    return dict(sorted(found.items()))


def _packed(sources: dict[str, bytes]) -> bytes:
    """The same bytes for the same files, wherever and whenever they are packed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for place, data in sources.items():
            member = tarfile.TarInfo(place)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), 6, mtime=0)
