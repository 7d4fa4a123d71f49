"""Replies: what an agent may answer. A frame becomes a Reply here or is refused; code behind this
need not look again."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from playrunner.ssh.limits import (
    BEATS,
    DEPTH,
    NESTED_VALUES,
    SHOWN_ALLOWANCE,
    TEXT_CHARACTERS,
    WARNINGS,
    Limits,
)

_KINDS = ("alive", "need", "out", "passed", "result")
_FLAGS = ("changed", "failed", "skipped", "unreachable", "unknown")  # of a result
_NO_ANSWER = (
    "failed",
    "skipped",
    "unreachable",
    "unknown",
)  # a result with one of these says no more
_TEXTS = ("msg", "exception", "ansible_job_id")
_MOST_SECONDS = 1e9  # 31 years


class NotAReply(Exception):
    """The agent said something that does not answer what it was asked; the text says what is wrong
    with it."""


class Reply(NamedTuple):
    """A checked frame: about which request, of which kind, and what that kind carries."""

    number: int
    kind: str  # alive, need, out, passed or result
    text: str = ""  # the output shown, or the name of the file needed
    values: dict[str, Any] = {}
    body: bytes = b""
    seconds: float = 0.0


class Asked(NamedTuple):
    """A request that was sent and is not answered."""

    number: int
    epoch: int
    request: Mapping[str, Any]
    answers: Mapping[str, Any]  # what its module's results hold
    at: float


class Outstanding:
    """The requests an agent has not answered, and what it may say about them: it answers in order,
    each once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked: deque[Asked] = deque()
        self._sent_files: set[str] = set()
        self._shown = 0  # characters, of the request that is answered next
        self._beats = 0  # signs of life, of the same
        self._free_at = 0.0  # when the agent answered last, and could begin the next
        self._halted: tuple[int, Any] = (
            -1,
            None,
        )  # epoch and loop of a failure that stops what was sent ahead

    def add(self, asked: Asked) -> None:
        self._asked.append(asked)

    def accept(self, reply: Reply) -> None:
        """Refuse a reply that is about no request, or not about the next one, or says what it
        cannot know."""
        if not self._asked:
            raise NotAReply("it answers though nothing was asked")
        asked = self._asked[0]
        if reply.number != asked.number:
            raise NotAReply(f"it answers request {reply.number}, but the next is {asked.number}")
        if reply.kind == "need":
            self._accept_need(reply.text, asked)
        elif reply.kind == "out":
            self._shown += len(reply.text)
            if self._shown > SHOWN_ALLOWANCE * self._limits.shown_bytes:
                raise NotAReply("it shows more output than it was told to")
        elif reply.kind == "alive":
            self._beats += 1
            if self._beats > BEATS + 2 * (time.monotonic() - asked.at) / self._limits.beat_seconds:
                raise NotAReply("it says that it is alive more often than it was told to")
        if reply.kind in ("passed", "result"):
            self._accept_answer(reply, asked)
        else:
            self._expect_in_time(asked)

    def _accept_need(self, name: str, asked: Asked) -> None:
        if name in self._sent_files:
            raise NotAReply("it asks for a file that it has")
        if name not in _offered(asked.request.get("args")):
            raise NotAReply("it asks for a file that the step does not offer")
        self._sent_files.add(name)

    def _expect_in_time(self, asked: Asked) -> None:
        """The agent ends a step at its timeout; one that goes on says what it likes about the step."""
        timeout = asked.request.get("timeout")
        if (
            timeout
            and time.monotonic()
            > max(asked.at, self._free_at) + timeout + self._limits.silent_seconds
        ):
            raise NotAReply(f"it goes on with a step whose timeout is {timeout:g} seconds")

    def _accept_answer(self, reply: Reply, asked: Asked) -> None:
        group = asked.request.get("group")
        if reply.kind == "passed":
            epoch, failed_group = self._halted
            if asked.epoch > epoch or (group is not None and group == failed_group):
                raise NotAReply("it passes over a step though none before it failed")
        elif not any(reply.values.get(flag) for flag in _NO_ANSWER):
            _expect_shape(reply.values, asked.answers)
        elif reply.values.get("failed") and asked.request.get("halt", True):
            self._halted = asked.epoch, group
        self._asked.popleft()
        self._free_at = time.monotonic()
        self._shown = self._beats = 0


def parsed(line: bytes) -> dict[str, Any]:
    """The frame on one line, of plain values that nest no deeper than they may."""
    nested = line.count(b"[") + line.count(b"{")
    if nested > NESTED_VALUES:
        raise NotAReply(f"a frame of more than {NESTED_VALUES} lists and mappings")
    try:
        frame = _decoder.decode(line.decode())
    except RecursionError:
        raise NotAReply(f"a frame nested deeper than {DEPTH} levels") from None
    except ValueError:
        raise NotAReply("a line that is not JSON") from None
    if not isinstance(frame, dict):
        raise NotAReply("a frame that is not a mapping")
    if nested > DEPTH and _depth(frame) > DEPTH:
        raise NotAReply(f"a frame nested deeper than {DEPTH} levels")
    return frame


def body_size(frame: Mapping[str, Any], limits: Limits) -> int:
    """How many raw bytes follow the frame's line."""
    size = frame.get("body", 0)
    if type(size) is not int or size < 0:
        raise NotAReply('"body" is not a size')
    if size and "result" not in frame:
        raise NotAReply('only a result has a "body"')
    if size > limits.reply_bytes:
        raise NotAReply(
            f"a reply of {size} bytes, over the limit of {limits.reply_bytes}; PLAYRUNNER_REPLY_MB"
            " raises it"
        )
    return size


def checked(frame: dict[str, Any], body: bytes | bytearray) -> Reply:
    """The reply a frame stands for."""
    number = frame.get("id")
    if type(number) is not int:
        raise NotAReply("a frame without the number of a request")
    kinds = [kind for kind in _KINDS if kind in frame]
    if len(kinds) != 1:
        raise NotAReply(f"a frame must have one of {', '.join(_KINDS)}")
    kind = kinds[0]
    if kind in ("need", "out"):
        return Reply(number, kind, _expect(frame, kind, str, "a text"))
    if kind in ("alive", "passed"):
        if frame[kind] is not True:
            raise NotAReply(f'"{kind}" is not true')
        return Reply(number, kind)
    seconds = frame.get("seconds", 0.0)
    if type(seconds) not in (int, float) or not 0 <= seconds < _MOST_SECONDS:
        raise NotAReply('"seconds" is not a duration')
    values = _expect(frame, "result", dict, "a mapping")
    rest = _with_long_texts(values, frame.get("parts", []), body)
    return Reply(number, kind, values=_checked_values(values), body=rest, seconds=float(seconds))


def _checked_values(values: dict[str, Any]) -> dict[str, Any]:
    """A step's result: what the controller itself reads of it has the right type; the rest is the
    playbook's business."""
    for name in _FLAGS:
        if name in values and type(values[name]) is not bool:
            raise NotAReply(f'"{name}" is not true or false')
    for name in _TEXTS:
        if values.get(name) is not None:
            values[name] = _cut(_expect(values, name, str, "a text"))
    if "warnings" in values:
        warnings = _expect(values, "warnings", list, "a list")
        if not all(isinstance(text, str) for text in warnings):
            raise NotAReply('"warnings" holds something that is not a text')
        values["warnings"] = [_cut(text) for text in warnings[:WARNINGS]]
    if "ansible_facts" in values:
        _expect(values, "ansible_facts", dict, "a mapping")
    if "diff" in values:
        diff = _expect(values, "diff", dict, "a mapping")
        for side in ("before", "after"):
            if diff.get(side) is not None:
                _expect(diff, side, dict, "a mapping")
    return values


def _with_long_texts(values: dict[str, Any], parts: Any, body: bytes | bytearray) -> bytes:
    """Put the texts that travelled as raw bytes in their places; what is left of the body comes
    back."""
    if not isinstance(parts, list):
        raise NotAReply('"parts" is not a list')
    start = 0
    for part in parts:
        if not isinstance(part, list) or [type(word) for word in part] != [str, int, bool]:
            raise NotAReply('"parts" holds something that is not a name, a size and a flag')
        name, size, has_lines = part
        if size < 0 or start + size > len(body):
            raise NotAReply('"parts" is longer than the body')
        try:
            values[name] = text = str(
                memoryview(body)[start : start + size], "utf-8", "surrogatepass"
            )
        except ValueError:
            raise NotAReply(f'"{name}" is not UTF-8') from None
        if has_lines:
            values[f"{name}_lines"] = text.splitlines()
        start += size
    return bytes(memoryview(body)[start:])


def _expect_shape(values: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    for name, wanted in shape.items():
        if not _fits(values.get(name), wanted):
            raise NotAReply(f'"{name}" is not what this step gives')


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            _fits(value.get(name), inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(_fits(inner, wanted[0]) for inner in value)
    return type(value) is wanted or (wanted is float and type(value) is int)


def _expect(values: Mapping[str, Any], name: str, kind: type, words: str) -> Any:
    if type(values.get(name)) is not kind:
        raise NotAReply(f'"{name}" is not {words}')
    return values[name]


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS:
        return text
    return f"{text[:TEXT_CHARACTERS]}... ({len(text) - TEXT_CHARACTERS} more characters)"


def _offered(value: Any) -> Iterator[str]:
    """The names of files that a request's arguments speak of."""
    if isinstance(value, dict):
        if isinstance(value.get("sha1"), str):
            yield value["sha1"]
        for inner in value.values():
            yield from _offered(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _offered(inner)


def _depth(value: Any) -> int:
    """Level by level: a walk that calls itself would run out of stack on what it is to find."""
    depth, level = 0, [value]
    while level and depth <= DEPTH:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    return depth


def _refused(word: str) -> float:
    raise ValueError(word)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_decoder = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)
