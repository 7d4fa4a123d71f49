"""Checks what an agent sends: a frame becomes a valid Reply or is refused here, and only here."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from playrunner.ssh.file_uploads import offered_files
from playrunner.ssh.limits import (
    DEPTH,
    HEARTBEATS,
    NESTED_VALUES,
    SHOWN_ALLOWANCE,
    TEXT_CHARACTERS,
    WARNINGS,
    Limits,
)

_KINDS = frozenset({"alive", "need", "out", "passed", "result"})
_FLAGS = ("changed", "failed", "skipped", "unreachable", "unknown")  # of a result
_NO_VALUES = ("failed", "skipped", "unreachable", "unknown")  # such a result has no other values
_TEXTS = ("msg", "exception", "ansible_job_id")
_MOST_SECONDS = 1e9  # 31 years


class InvalidReply(Exception):
    """The agent sent something other than a valid reply; the text says what is wrong."""


class Reply(NamedTuple):
    """A checked frame: the request it is about, its kind, and that kind's content."""

    number: int
    kind: str  # alive, need, out, passed or result
    text: str = ""  # the output shown, or the name of the file needed
    values: dict[str, Any] = {}
    body: bytes = b""
    seconds: float = 0.0
    start: int | None = None  # from which byte on a large file is needed


class SentRequest(NamedTuple):
    """A request without a result yet."""

    number: int
    epoch: int
    request: Mapping[str, Any]
    answers: Mapping[str, Any]  # names and types in its module's results
    at: float


class Outstanding:
    """The requests an agent has not answered; it must answer each once, in order."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sent: deque[SentRequest] = deque()
        self._sent_files: set[str] = set()
        self._sent_large = 0  # for the next request
        self._shown = 0  # characters of output for the next request
        self._heartbeats = 0  # for the next request
        self._free_at = 0.0  # when the agent answered last and could start the next
        # Epoch and loop of a failure, which cancels the requests sent ahead
        self._halted: tuple[int, Any] = (-1, None)

    def add(self, sent: SentRequest) -> None:
        self._sent.append(sent)

    def accept(self, reply: Reply) -> None:
        """Refuse a reply that is not about the next request, or that request cannot have."""
        if not self._sent:
            raise InvalidReply("a reply without a request")
        sent = self._sent[0]
        if reply.number != sent.number:
            raise InvalidReply(f"a reply to request {reply.number}, but the next is {sent.number}")
        if reply.kind == "need":
            self._accept_need(reply, sent)
        elif reply.kind == "out":
            self._shown += len(reply.text)
            if self._shown > SHOWN_ALLOWANCE * self._limits.shown_bytes:
                raise InvalidReply("more live output than the limit it was given")
        elif reply.kind == "alive":
            self._heartbeats += 1
            if (
                self._heartbeats
                > HEARTBEATS + 2 * (time.monotonic() - sent.at) / self._limits.heartbeat_seconds
            ):
                raise InvalidReply("more heartbeats than the interval it was given")
        if reply.kind in ("passed", "result"):
            self._accept_answer(reply, sent)
        else:
            self._expect_in_time(sent)

    def _accept_need(self, reply: Reply, sent: SentRequest) -> None:
        offered = list(offered_files(sent.request.get("args")))
        if (reply.text, True) not in [(name, size >= (reply.start or 0)) for name, size in offered]:
            raise InvalidReply("it requests a file that the step does not offer")
        large = reply.start is not None
        self._sent_large += large  # twice where the beginning that it had was wrong
        if reply.text in self._sent_files or self._sent_large > 2 * len(offered):
            raise InvalidReply("it requests a file that it has")
        if not large:
            self._sent_files.add(reply.text)

    def _expect_in_time(self, sent: SentRequest) -> None:
        """Our agent ends a step at its timeout; one that goes on cannot be trusted."""
        timeout = sent.request.get("timeout")
        if (
            timeout
            and time.monotonic()
            > max(sent.at, self._free_at) + timeout + self._limits.silent_seconds
        ):
            raise InvalidReply(f"it is still running a step whose timeout is {timeout:g} seconds")

    def _accept_answer(self, reply: Reply, sent: SentRequest) -> None:
        group = sent.request.get("group")
        if reply.kind == "passed":
            epoch, failed_group = self._halted
            if sent.epoch > epoch or (group is not None and group == failed_group):
                raise InvalidReply("it skips a step although none before it failed")
        elif not any(map(reply.values.get, _NO_VALUES)):
            _expect_shape(reply.values, sent.answers)
        elif reply.values.get("failed") and sent.request.get("halt", True):
            self._halted = sent.epoch, group
        self._sent.popleft()
        self._free_at = time.monotonic()
        self._shown = self._heartbeats = self._sent_large = 0


def parsed(line: bytes) -> dict[str, Any]:
    """The frame on one line; its nesting is limited."""
    nested = line.count(b"[") + line.count(b"{")
    if nested > NESTED_VALUES:
        raise InvalidReply(f"a frame of more than {NESTED_VALUES} lists and mappings")
    try:
        frame = _decoder.decode(line.decode())
    except RecursionError:
        raise InvalidReply(f"a frame nested deeper than {DEPTH} levels") from None
    except ValueError:
        raise InvalidReply("a line that is not JSON") from None
    if not isinstance(frame, dict):
        raise InvalidReply("a frame that is not a mapping")
    if nested > DEPTH and _depth(frame) > DEPTH:
        raise InvalidReply(f"a frame nested deeper than {DEPTH} levels")
    return frame


def body_size(frame: Mapping[str, Any], limits: Limits) -> int:
    """How many raw bytes follow the frame's line."""
    size = frame.get("body", 0)
    if type(size) is not int or size < 0:
        raise InvalidReply('"body" is not a size')
    if size and "result" not in frame:
        raise InvalidReply('only a result has a "body"')
    if size > limits.reply_bytes:
        raise InvalidReply(
            f"a reply of {size} bytes, over the limit of {limits.reply_bytes}; PLAYRUNNER_REPLY_MB"
            " raises it"
        )
    return size


def checked(frame: dict[str, Any], body: bytes | bytearray) -> Reply:
    """The reply a frame stands for."""
    number = frame.get("id")
    if type(number) is not int:
        raise InvalidReply("a frame without the number of a request")
    kinds = _KINDS & frame.keys()
    if len(kinds) != 1:
        raise InvalidReply(f"a frame must have one of {', '.join(sorted(_KINDS))}")
    (kind,) = kinds
    if kind in ("need", "out"):
        start = frame.get("from")
        if start is not None and (type(start) is not int or start < 0):
            raise InvalidReply('"from" is not an offset')
        return Reply(number, kind, _expect(frame, kind, str, "a text"), start=start)
    if kind in ("alive", "passed"):
        if frame[kind] is not True:
            raise InvalidReply(f'"{kind}" is not true')
        return Reply(number, kind)
    seconds = frame.get("seconds", 0.0)
    if type(seconds) not in (int, float) or not 0 <= seconds < _MOST_SECONDS:
        raise InvalidReply('"seconds" is not a duration')
    values = _expect(frame, "result", dict, "a mapping")
    rest = _with_long_texts(values, frame.get("parts", []), body)
    return Reply(number, kind, values=_checked_values(values), body=rest, seconds=float(seconds))


def _checked_values(values: dict[str, Any]) -> dict[str, Any]:
    """Check the types of the values that the controller itself reads; the rest is up to the
    playbook."""
    for name in _FLAGS:
        if name in values and type(values[name]) is not bool:
            raise InvalidReply(f'"{name}" is not true or false')
    for name in _TEXTS:
        if values.get(name) is not None:
            values[name] = _cut(_expect(values, name, str, "a text"))
    if "warnings" in values:
        warnings = _expect(values, "warnings", list, "a list")
        if not all(isinstance(text, str) for text in warnings):
            raise InvalidReply('"warnings" holds something that is not a text')
        values["warnings"] = [_cut(text) for text in warnings[:WARNINGS]]
    if "ansible_facts" in values:
        _expect(values, "ansible_facts", dict, "a mapping")
    if "diff" in values:
        _check_diff(values["diff"])
    return values


def _check_diff(diff: Any) -> None:
    """Our modules give two states; those written for Ansible also give texts, or a list."""
    for part in diff if type(diff) is list else [diff]:
        sides = [part.get("before"), part.get("after")] if type(part) is dict else [part]
        if type(part) is not dict or {*map(type, sides)} - {dict, str, type(None)}:
            raise InvalidReply('"diff" does not have two states')


def _with_long_texts(values: dict[str, Any], parts: Any, body: bytes | bytearray) -> bytes:
    """Insert the texts that were sent as raw bytes; returns the rest of the body."""
    if not isinstance(parts, list):
        raise InvalidReply('"parts" is not a list')
    start = 0
    for part in parts:
        if not isinstance(part, list) or [type(field) for field in part] != [str, int, bool]:
            raise InvalidReply('"parts" holds something that is not a name, a size and a flag')
        name, size, has_lines = part
        if size < 0 or start + size > len(body):
            raise InvalidReply('"parts" is longer than the body')
        try:
            values[name] = text = str(
                memoryview(body)[start : start + size], "utf-8", "surrogatepass"
            )
        except ValueError:
            raise InvalidReply(f'"{name}" is not UTF-8') from None
        if has_lines:
            values[f"{name}_lines"] = text.splitlines()
        start += size
    return bytes(memoryview(body)[start:])


def _expect_shape(values: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    for name, kind in shape.items():
        if not _fits(values.get(name), kind):
            raise InvalidReply(f'"{name}" does not have the type that this module returns')


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            _fits(value.get(name), inner) for name, inner in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(inner, shape[0]) for inner in value)
    return type(value) is shape or (shape is float and type(value) is int)


def _expect(values: Mapping[str, Any], name: str, kind: type, description: str) -> Any:
    if type(values.get(name)) is not kind:
        raise InvalidReply(f'"{name}" is not {description}')
    return values[name]


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS:
        return text
    return f"{text[:TEXT_CHARACTERS]}... ({len(text) - TEXT_CHARACTERS} more characters)"


def _depth(value: Any) -> int:
    """Level by level: recursion would run out of stack on hostile input."""
    depth, level = 0, [value]
    while level and depth <= DEPTH:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list  # JSON has no other kinds
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
