"""Standard streams: what this program writes is shown, never obeyed, and a stream that cannot be
written ends no run.

Text from a host or an API may hold escape sequences that move the cursor, recolour a line or
reorder its characters. All text passes through `visible` on its way out, whichever file prints it;
only `Terminal` adds sequences of our own, after that.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TextIO

from playrunner.errors import NotWritten

# C0 without tab and newline, DEL, C1; marks that reorder text or are not seen at all; halves of
# characters, which stand for bytes that are not UTF-8.
_CONTROLS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with each control character as an escape that can be read: ESC is \\x1b."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return re.sub(
        _CONTROLS, _escaped, text
    )  # compiled by its first use: most commands never need it


def in_one_line(text: str) -> str:
    """The same, for text that must not begin a line of its own."""
    return visible(text).replace("\n", "\\n")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # the byte it stands for
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def encoder(default: Callable[[Any], Any], allow_nan: bool) -> Callable[[Any], str]:
    """json.dumps with these settings; it and JSONEncoder make a new encoder for each value."""
    plain = json.JSONEncoder(default=default, allow_nan=allow_nan)
    make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
    if make is None:  # another Python than CPython
        return plain.encode
    quoted = json.encoder.encode_basestring_ascii  # type: ignore[attr-defined]
    chunks = make(None, default, quoted, None, ": ", ", ", False, False, allow_nan)
    return lambda value: "".join(chunks(value, 0))


_encoded = encoder(str, allow_nan=False)


def as_json(value: Any, indent: int | None = None) -> str:
    """Valid JSON of any value: a number that JSON has no word for (NaN, Infinity) is null, another
    type its text."""
    try:
        if indent is None:
            return _encoded(value)
        return json.dumps(value, indent=indent, default=str, allow_nan=False)
    except (ValueError, TypeError):
        return json.dumps(_without_nan(value), indent=indent, default=str, allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class OutputLost(Exception):
    """Nothing reads standard output any more, so the program ends."""


class Guarded(io.TextIOWrapper):
    """A standard stream. What cannot be written is dropped and remembered: `lost` is the first
    reason."""

    lost: OSError | None = None
    loss_said = False

    def write(self, text: str) -> int:
        return self.write_own(visible(text))

    def write_own(self, text: str) -> int:
        """Write text of ours, with its escape sequences as they are."""
        try:
            super().write(text)
        except OSError as error:
            self._discard_from_now_on(error)
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._discard_from_now_on(error)

    def _discard_from_now_on(self, error: OSError) -> None:
        self.lost = self.lost or error
        # Its buffer and later output are discarded; otherwise each flush would fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def guard_streams() -> str:
    """Replace the standard streams by guarded ones; returns what is wrong with them, if any."""
    closed = sys.stdout is None
    for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        _hold(number, flags)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  it lives as long as the process
    sys.stdout, sys.stderr = _guarded_stream(sys.stdout, 1), _guarded_stream(sys.stderr, 2)
    return "standard output is closed; send it to a file, or to /dev/null" if closed else ""


def _hold(number: int, flags: int) -> None:
    """A closed descriptor's number would be given to the next file opened, into which children
    would then write."""
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, flags)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def _guarded_stream(stream: TextIO | None, number: int) -> TextIO:
    if isinstance(stream, Guarded) or (
        stream is not None and stream is not (sys.__stdout__, sys.__stderr__)[number - 1]
    ):
        return stream  # a test's, or already done
    if stream is None:
        return Guarded(open(number, "wb", closefd=False), encoding="utf-8")
    stream.flush()
    assert isinstance(stream, io.TextIOWrapper)
    return Guarded(
        stream.buffer,
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def write_bytes(content: bytes) -> None:
    """The user's own content on standard output, as it is: it is theirs, and may be no text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def stop_unless_read() -> None:
    """For output without an end: stop once nothing reads standard output any more."""
    if isinstance(sys.stdout, Guarded) and sys.stdout.lost:
        raise OutputLost


def code_after_output(code: int) -> int:
    """The exit code, once all is written: lost output is reported on standard error and is a
    failure."""
    sys.stdout.flush()
    stream = sys.stdout
    if not isinstance(stream, Guarded) or stream.lost is None:
        return code
    if isinstance(stream.lost, BrokenPipeError):  # a reader that has seen enough, such as `head`
        return code
    if not stream.loss_said:
        stream.loss_said = True
        sys.stderr.write(
            f"error: standard output could not be written: {stream.lost.strerror}; the rest of it"
            " is lost\n"
        )
    return code or NotWritten.exit_code


def without_escaping(stream: TextIO) -> TextIO:
    """A standard stream for a library that draws the screen itself; what it is given must be
    `visible` already."""
    original = sys.__stdout__ if stream is sys.stdout else sys.__stderr__
    return original if isinstance(stream, Guarded) and original else stream
