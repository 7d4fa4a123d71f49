"""Bandwidth over size as a picture: a PNG made with the standard library alone, a plot being no
reason to install a library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from math import log10

from trainer.netcheck.units import size_text

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 34, 40
_SCALE = 2  # of the letters
_WHITE, _GREY, _BLACK, _BLUE, _RED = (255,) * 3, (215,) * 3, (40,) * 3, (30, 90, 200), (200, 50, 40)
# Letters of three by five dots, a row each: only those that sizes and rates are written with.
_DOTS = {
    "0": (7, 5, 5, 5, 7),
    "1": (2, 6, 2, 2, 7),
    "2": (7, 1, 7, 4, 7),
    "3": (7, 1, 7, 1, 7),
    "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7),
    "6": (7, 4, 7, 5, 7),
    "7": (7, 1, 2, 2, 2),
    "8": (7, 5, 7, 5, 7),
    "9": (7, 5, 7, 1, 7),
    ".": (0, 0, 0, 0, 2),
    " ": (0, 0, 0, 0, 0),
    "/": (1, 1, 2, 4, 4),
    "B": (6, 5, 6, 5, 6),
    "G": (7, 4, 5, 5, 7),
    "K": (5, 5, 6, 5, 5),
    "M": (5, 7, 7, 5, 5),
    "i": (2, 0, 2, 2, 2),
    "s": (3, 4, 2, 1, 6),
}


def picture(rates: Sequence[tuple[int, float]], reference_gbytes: float | None = None) -> bytes:
    """The PNG's bytes, of (bytes, GB/s): sizes from left to right, by their logarithm; the
    reference as a red line."""
    canvas = _Canvas()
    most = max([rate for _, rate in rates] + [reference_gbytes or 0.0, 1e-9]) * 1.1
    first, last = log10(rates[0][0]), log10(max(rates[-1][0], rates[0][0] + 1))

    def place(size: int, rate: float) -> tuple[int, int]:
        return round(
            _LEFT + (log10(size) - first) / (last - first) * (WIDTH - _LEFT - _RIGHT)
        ), _height(rate, most)

    for number in range(5):
        value = most * number / 4
        canvas.line((_LEFT, _height(value, most)), (WIDTH - _RIGHT, _height(value, most)), _GREY)
        canvas.text(4, _height(value, most) - 5, f"{value:.3g}", _BLACK)
    canvas.text(4, 4, "GB/s", _BLACK)
    for size, rate in rates[:: max(1, len(rates) // 5)]:
        canvas.text(
            min(place(size, rate)[0] - 12, WIDTH - 70),
            HEIGHT - _BOTTOM + 12,
            size_text(size),
            _BLACK,
        )
    if reference_gbytes:
        canvas.line(
            (_LEFT, _height(reference_gbytes, most)),
            (WIDTH - _RIGHT, _height(reference_gbytes, most)),
            _RED,
        )
    points = [place(size, rate) for size, rate in rates]
    for one, other in pairwise(points):
        canvas.line(one, other, _BLUE)
    for x, y in points:
        canvas.block(x - 2, y - 2, 5, _BLUE)
    return canvas.png()


def _height(value: float, most: float) -> int:
    return round(HEIGHT - _BOTTOM - value / most * (HEIGHT - _TOP - _BOTTOM))


class _Canvas:
    def __init__(self) -> None:
        self._dots = bytearray(bytes(_WHITE) * (WIDTH * HEIGHT))

    def block(self, x: int, y: int, side: int, colour: tuple[int, ...]) -> None:
        for row in range(max(y, 0), min(y + side, HEIGHT)):
            for column in range(max(x, 0), min(x + side, WIDTH)):
                start = (row * WIDTH + column) * 3
                self._dots[start : start + 3] = bytes(colour)

    def line(self, one: tuple[int, int], other: tuple[int, int], colour: tuple[int, ...]) -> None:
        steps = max(abs(other[0] - one[0]), abs(other[1] - one[1]), 1)
        for step in range(steps + 1):
            self.block(
                round(one[0] + (other[0] - one[0]) * step / steps),
                round(one[1] + (other[1] - one[1]) * step / steps),
                1,
                colour,
            )

    def text(self, x: int, y: int, text: str, colour: tuple[int, ...]) -> None:
        for number, letter in enumerate(text):
            for row, bits in enumerate(_DOTS.get(letter, _DOTS[" "])):
                for column in range(3):
                    if bits & (4 >> column):
                        self.block(
                            x + (number * 4 + column) * _SCALE, y + row * _SCALE, _SCALE, colour
                        )

    def png(self) -> bytes:
        rows = b"".join(
            b"\0" + self._dots[start : start + WIDTH * 3]
            for start in range(0, len(self._dots), WIDTH * 3)
        )
        header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)  # eight bits, red green blue
        return (
            b"\x89PNG\r\n\x1a\n"
            + _chunk(b"IHDR", header)
            + _chunk(b"IDAT", zlib.compress(rows, 9))
            + _chunk(b"IEND", b"")
        )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
