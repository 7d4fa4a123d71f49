"""Checkpoints read without running what may be in them.

PyTorch and DeepSpeed keep parts of a checkpoint as pickles, and a pickle can name any program. A
checksum does not help: who can write the files can write that. So these readers only return tensors
and the few classes that a checkpoint consists of; everything else is refused, unless
checkpoint.trust is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from pickle import UnpicklingError
from typing import IO, Any, cast

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)

from trainer.checkpoint.pickles import Refused, read_pickle
from trainer.errors import BadInput

_OF_METADATA = (
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
    "_MEM_FORMAT_ENCODING",
)
# Not BytesStorageMetadata: what is kept as such is unpickled by torch, whatever it is. Ours are
# tensors only.
_ALLOWED = (
    {("torch.distributed.checkpoint.metadata", name) for name in _OF_METADATA}
    | {
        ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
        ("torch", "Size"),
        ("torch.serialization", "_get_layout"),
        ("pathlib", "PosixPath"),
        ("pathlib", "PurePosixPath"),
        ("pathlib._local", "PosixPath"),
        ("collections", "OrderedDict"),
    }
    | {("torch", name) for name, value in vars(torch).items() if isinstance(value, torch.dtype)}
)
_GLOBAL = re.compile(r"GLOBAL (\S+)")


class SafeReader(FileSystemReader):
    """torch's reader of sharded checkpoints, but for the pickle that says what is where."""

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        with self.fs.create_stream(self._get_metadata_path(kwargs.get("rank")), "rb") as file:
            metadata = read_pickle(cast(IO[bytes], file), _ALLOWED)
        _check(metadata)
        metadata.storage_meta = StorageMeta(load_id=self.load_id)
        return metadata  # type: ignore[no-any-return]


def reader(folder: Path, trust: bool) -> FileSystemReader:
    return FileSystemReader(folder) if trust else SafeReader(folder)


def check_metadata(folder: Path, trust: bool) -> None:
    """Refuse a sharded checkpoint by what it says of itself, before anything is loaded."""
    with _refusing(folder):
        reader(folder, trust).read_metadata()


def check_files(paths: list[Path], trust: bool) -> None:
    """Refuse files of DeepSpeed's that hold more than tensors and settings; none is read as a
    whole."""
    for path in paths if not trust else ():
        with _refusing(path), tensors_only():
            torch.load(path, map_location="cpu", mmap=True)


@contextmanager
def tensors_only(trust: bool = False) -> Iterator[None]:
    """What torch.load loads meanwhile, in a library too, is tensors, plain values and DeepSpeed's
    settings."""
    if trust:
        yield
        return
    usual: Callable[..., Any] = torch.load

    def load(*args: Any, **kwargs: Any) -> Any:
        return usual(*args, **{**kwargs, "weights_only": True})

    torch.load = load  # type: ignore[assignment]
    try:
        with torch.serialization.safe_globals(_of_deepspeed()):
            yield
    finally:
        torch.load = usual  # type: ignore[assignment]


def refusal(path: object, error: BaseException) -> BadInput:
    """The error for a checkpoint that is not loaded."""
    named = _GLOBAL.search(str(error))
    why = (
        f"it names {named[1]}, which does not belong there"
        if named
        else str(error).partition("\n")[0]
    )
    return BadInput(
        f"{path}: not loaded, since that could run code: {why}; only if you trust its author, set"
        " checkpoint.trust=true"
    )


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except UnpicklingError as error:
        raise refusal(path, error) from None
    except (RuntimeError, ValueError, EOFError, OSError) as error:
        raise BadInput(f"{path}: cannot be read: {str(error).partition(chr(10))[0]}") from None


def _check(metadata: Any) -> None:
    """The parts are what they should be: a pickle can hold anything."""
    try:
        tensors, storage = metadata.state_dict_metadata, metadata.storage_data
        right = (
            type(metadata) is Metadata
            and type(tensors) is dict
            and type(storage) is dict
            and all(type(name) is str and _is_tensor(each) for name, each in tensors.items())
            and all(
                type(index) is MetadataIndex and _is_inside(each) for index, each in storage.items()
            )
        )
    except (AttributeError, TypeError):
        right = False
    if not right:
        raise Refused("it describes something else than tensors in the files of the checkpoint")


def _is_tensor(each: Any) -> bool:
    return (
        type(each) is TensorStorageMetadata
        and type(each.size) is torch.Size
        and type(each.chunks) is list
        and all(
            type(chunk) is ChunkStorageMetadata
            and type(chunk.sizes) is type(chunk.offsets) is torch.Size
            for chunk in each.chunks
        )
    )


def _is_inside(each: Any) -> bool:
    if (
        type(each) is not _StorageInfo
        or type(each.relative_path) is not str
        or each.transform_descriptors
    ):
        return False
    path = PurePosixPath(each.relative_path)
    inside = not path.is_absolute() and ".." not in path.parts
    return (
        inside
        and type(each.offset) is int
        and type(each.length) is int
        and min(each.offset, each.length) >= 0
    )


def _of_deepspeed() -> list[Any]:
    try:
        from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
        from deepspeed.runtime.zero.config import ZeroStageEnum
        from deepspeed.utils.tensor_fragment import fragment_address
    except ImportError:
        return []
    return [DynamicLossScaler, LossScaler, ZeroStageEnum, fragment_address]
