"""TensorBoard's event files, read as they grow: the scalars that a script writes with any
SummaryWriter. A file is a row of records: a length, its checksum, a message, its checksum."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

LOOK_SECONDS = 2.0
_HEADER, _CHECKSUM = 12, 4
_MOST_BYTES = 1 << 20  # of a message that may hold a scalar; images and graphs are passed over
_MOST_READ = 16 << 20  # at one look
_POLYNOMIAL = 0x82F63B78  # CRC-32C
_FLOAT, _DOUBLE = 1, 2  # TensorFlow's types of tensors
Scalar = tuple[int, float, str, float]  # step, time, tag, value


class EventFiles:
    """The event files below some folders that are written from now on."""

    def __init__(self, folders: list[Path]) -> None:
        # The clock of a file system may be coarser than ours
        self.folders, self.since = folders, time.time() - 1
        self.offsets: dict[Path, int] = {}
        self.looked = 0.0

    def is_due(self) -> bool:
        return time.monotonic() - self.looked >= LOOK_SECONDS

    def new_scalars(self) -> list[Scalar]:
        self.looked = time.monotonic()
        scalars: list[Scalar] = []
        for path in self._files():
            try:
                with path.open("rb") as file:
                    file.seek(self.offsets.get(path, 0))
                    data = file.read(_MOST_READ)
            except OSError:
                continue
            messages, used = records(data)
            self.offsets[path] = self.offsets.get(path, 0) + used
            for message in messages:
                scalars += scalars_of(message)
        return scalars

    def _files(self) -> Iterator[Path]:
        for folder in self.folders:
            for where, _, names in os.walk(folder):
                for name in sorted(name for name in names if "tfevents" in name):
                    path = Path(where) / name
                    try:
                        if path in self.offsets or path.stat().st_mtime >= self.since:
                            yield path
                    except OSError:
                        continue


def records(data: bytes) -> tuple[list[bytes], int]:
    """The whole messages, and how many bytes they take; what is no event file has none."""
    messages: list[bytes] = []
    at = 0
    while at + _HEADER <= len(data):
        length, checksum = struct.unpack_from("<QI", data, at)
        if _masked(data[at : at + 8]) != checksum:
            return messages, len(data)  # damaged: nothing after it can be told apart
        end = at + _HEADER + length + _CHECKSUM
        if length > _MOST_READ:
            return messages, len(data)
        if end > len(data):
            break
        if length <= _MOST_BYTES:
            messages.append(data[at + _HEADER : end - _CHECKSUM])
        at = end
    return messages, at


def scalars_of(message: bytes) -> list[Scalar]:
    """Of one event (a protocol buffer): its time, its step, and the values of its summary."""
    try:
        event = dict(_fields(message))
        when = struct.unpack("<d", _bytes(event.get(1, bytes(8))))[0]
        step = event.get(2, 0)
        summary = _bytes(event.get(5, b""))
        values = [dict(_fields(_bytes(value))) for number, value in _fields(summary) if number == 1]
        tagged_numbers = [(_bytes(value.get(1, b"")).decode(), _number(value)) for value in values]
    except (ValueError, IndexError, struct.error):
        return []
    if not isinstance(step, int):
        return []
    return [(step, when, tag, number) for tag, number in tagged_numbers if number is not None]


def _number(value: dict[int, int | bytes]) -> float | None:
    """A plain value, or a tensor of one number, as newer writers have it."""
    if 2 in value:
        return float(struct.unpack("<f", _bytes(value[2]))[0])
    if 8 not in value:
        return None
    tensor = dict(_fields(_bytes(value[8])))
    kind = tensor.get(1)
    text, size = ("<f", 4) if kind == _FLOAT else ("<d", 8)
    content = _bytes(tensor.get(4) or tensor.get(5 if kind == _FLOAT else 6) or b"")
    if kind not in (_FLOAT, _DOUBLE) or len(content) != size:
        return None
    return float(struct.unpack(text, content)[0])


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message by number, each as it is on the wire."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(message, at)
            yield key >> 3, number
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise ValueError("no field of a message")
            size, at = _varint(message, at)
        if at + size > len(message):
            raise ValueError("a field is cut short")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while shift < 64:
        byte = message[at]
        number, at = number | (byte & 0x7F) << shift, at + 1
        if byte < 0x80:
            return number, at
        shift += 7
    raise ValueError("a number is too long")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where a text is due")
    return value


def _masked(data: bytes) -> int:
    """The checksum as the format has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
