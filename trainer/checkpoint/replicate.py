"""Copies of a checkpoint on every node, for nodes that share no folder: files that one has written
are sent to the others.

Each folder has one rank that maintains it (`ProcessGroup.folder_owners`). After all have sent their
files to the others, each folder is complete, and a run can resume from any of them, on any number
of ranks.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

from trainer.distributed.process_group import ProcessGroup

_CHUNK_BYTES = 1 << 24


def replicate(processes: ProcessGroup, folder: Path) -> None:
    """Copy every file of any owner's folder to all others; called by all ranks, each with its own
    folder."""
    if not processes.owns_folder:
        return
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }
    held: list[dict[str, int]] = [{}] * len(processes.folder_owners)
    torch.distributed.all_gather_object(held, sizes, group=processes.owners_group)
    for name in sorted(set().union(*held)):
        owners = [number for number, files in enumerate(held) if name in files]
        if len(owners) < len(held):
            source = owners[0]
            _send(
                processes,
                folder / name,
                held[source][name],
                processes.folder_owners[source],
                writes=name not in sizes,
            )
    for path in (path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            os.fsync(file.fileno())  # on every node: complete also after a power cut


def _send(processes: ProcessGroup, path: Path, size: int, source: int, writes: bool) -> None:
    """Broadcast one file in chunks; owners that have it receive without writing."""
    sends = processes.rank == source
    if writes:
        path.parent.mkdir(parents=True, exist_ok=True)
    with open(path if sends or writes else os.devnull, "rb" if sends else "wb") as file:
        for start in range(0, size, _CHUNK_BYTES):
            length = min(_CHUNK_BYTES, size - start)
            chunk = (
                torch.frombuffer(bytearray(file.read(length)), dtype=torch.uint8)
                if sends
                else torch.empty(length, dtype=torch.uint8)
            )
            torch.distributed.broadcast(chunk, src=source, group=processes.owners_group)
            if writes:
                file.write(chunk.numpy().data)
