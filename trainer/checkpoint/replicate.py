"""Copies of a checkpoint on every node, for nodes that share no folder: what one has written the
others are sent.

Each folder has one rank that keeps it (`Place.keepers`). When all have spread what is in theirs,
each is whole by itself, and a run can go on wherever one of them is, on any number of ranks.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

from trainer.distributed.process_group import Place

_CHUNK_BYTES = 1 << 24


def spread(place: Place, folder: Path) -> None:
    """Give every keeper's folder the files that any other's has; to be called by all keepers, each
    with its own folder."""
    if not place.keeps:
        return
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }
    held: list[dict[str, int]] = [{}] * len(place.keepers)
    torch.distributed.all_gather_object(held, sizes, group=place.keepers_group)
    for name in sorted(set().union(*held)):
        owners = [number for number, files in enumerate(held) if name in files]
        if len(owners) < len(held):
            source = owners[0]
            _send(
                place,
                folder / name,
                held[source][name],
                place.keepers[source],
                writes=name not in sizes,
            )
    for path in (path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            os.fsync(
                file.fileno()
            )  # all of it, on every node: what is whole must be so after a power cut


def _send(place: Place, path: Path, size: int, source: int, writes: bool) -> None:
    """One file from one keeper to all, in pieces; those that have it listen and write nothing."""
    sends = place.rank == source
    if writes:
        path.parent.mkdir(parents=True, exist_ok=True)
    with open(path if sends or writes else os.devnull, "rb" if sends else "wb") as file:
        for start in range(0, size, _CHUNK_BYTES):
            length = min(_CHUNK_BYTES, size - start)
            piece = (
                torch.frombuffer(bytearray(file.read(length)), dtype=torch.uint8)
                if sends
                else torch.empty(length, dtype=torch.uint8)
            )
            torch.distributed.broadcast(piece, src=source, group=place.keepers_group)
            if writes:
                file.write(piece.numpy())
