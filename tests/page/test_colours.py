"""Colours that stand for something can be told apart with every kind of colour vision."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from playrunner.page.rendering import STATIC

# How linear red, green and blue are seen without one kind of cone (Machado and others, 2009)
VISION = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
LEAST = 8.0  # in CIELAB; about 2 is the least that an eye notices
WHITE = (0.95047, 1.0, 1.08883)


def lab(colour: str, kind: str) -> tuple[float, float, float]:
    parts = [int(colour[first : first + 2], 16) / 255 for first in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear, strict=True))))
        for row in VISION[kind]
    )
    xyz = (
        0.4124 * red + 0.3576 * green + 0.1805 * blue,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        0.0193 * red + 0.1192 * green + 0.9505 * blue,
    )
    x, y, z = (
        t ** (1 / 3) if (t := value / white) > 0.008856 else 7.787 * t + 16 / 116
        for value, white in zip(xyz, WHITE, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("kind", VISION)
def test_runs_of_a_chart_and_bars_of_a_timeline_differ(kind: str) -> None:
    script = (STATIC / "page.js").read_text()
    palette = re.findall(r"#[0-9a-f]{6}", script.partition("const palette")[2].partition(";")[0])
    bars = re.findall(r"--bar-\w+: (#[0-9a-f]{6})", (STATIC / "page.css").read_text())
    assert len(palette) == 8 and len(bars) >= 6
    for colours in (palette, sorted(set(bars))):
        for left, right in combinations(colours, 2):
            seen = zip(lab(left, kind), lab(right, kind), strict=True)
            assert sum((a - b) ** 2 for a, b in seen) ** 0.5 >= LEAST, (left, right)
