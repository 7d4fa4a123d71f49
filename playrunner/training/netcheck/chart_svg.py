"""Bandwidth over size as an SVG chart."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from trainer.netcheck.units import size_text

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 34, 40


def chart_svg(rates: Sequence[tuple[int, float]], reference_gbytes: float | None = None) -> str:
    """Of (bytes, GB/s), sizes on a logarithmic axis; the reference is a red line."""
    most = max([rate for _, rate in rates] + [reference_gbytes or 0.0, 1e-9]) * 1.1
    first, last = log10(rates[0][0]), log10(max(rates[-1][0], rates[0][0] + 1))

    def x(size: int) -> float:
        return _LEFT + (log10(size) - first) / (last - first) * (WIDTH - _LEFT - _RIGHT)

    def y(rate: float) -> float:
        return HEIGHT - _BOTTOM - rate / most * (HEIGHT - _TOP - _BOTTOM)

    parts = [_text(4, 16, "GB/s")]
    for number in range(5):
        rate = most * number / 4
        parts += [_level(y(rate), "#d7d7d7"), _text(4, y(rate) + 4, f"{rate:.3g}")]
    for size, _ in rates[:: max(1, len(rates) // 5)]:
        parts.append(_text(min(x(size) - 12, WIDTH - 70), HEIGHT - _BOTTOM + 20, size_text(size)))
    if reference_gbytes:
        parts.append(_level(y(reference_gbytes), "#c83228"))
    points = " ".join(f"{x(size):.1f},{y(rate):.1f}" for size, rate in rates)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#1e5ac8" stroke-width="2"/>')
    parts += [
        f'<circle cx="{x(size):.1f}" cy="{y(rate):.1f}" r="3" fill="#1e5ac8"/>'
        for size, rate in rates
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _level(y: float, colour: str) -> str:
    return f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{text}</text>'
