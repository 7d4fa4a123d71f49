"""One request and the kinds of answer it can have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playrunner.sandbox.kube.schema.problems import bad_request
from playrunner.sandbox.kube.wire import protobuf


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Message
    body: bytes = b""
    groups: tuple[str, ...] = ()  # that the client's certificate names

    @staticmethod
    def of(
        method: str, target: str, headers: Message, body: bytes, groups: tuple[str, ...] = ()
    ) -> Request:
        parts = urlsplit(target)
        return Request(
            method, parts.path, parse_qs(parts.query, keep_blank_values=True), headers, body, groups
        )

    def option(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[-1]

    def flag(self, name: str) -> bool:
        return self.option(name) in ("true", "1", "True")

    def number(self, name: str) -> int | None:
        text = self.option(name)
        if not text:
            return None
        if not text.lstrip("-").isdigit():
            raise bad_request(f"Invalid {name}: {text!r} is not a number")
        return int(text)

    def document(self) -> Any:
        """The body; JSON, or YAML or protobuf where the client says so."""
        sort = self.headers.get("Content-Type", "")
        if protobuf.CONTENT_TYPE in sort:
            return protobuf.decoded(self.body) if self.body else None
        if "yaml" in sort:
            import yaml

            try:
                return yaml.safe_load(self.body)
            except yaml.YAMLError as error:
                raise bad_request(f"error decoding YAML: {error}") from error
        try:
            return json.loads(self.body) if self.body else None
        except ValueError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error

    @property
    def manager(self) -> str:
        """Who writes: the field manager named, else the first part of the client's name."""
        return (
            self.option("fieldManager")
            or self.headers.get("User-Agent", "unknown").split("/")[0][:128]
        )


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    value: Any = None
    code: int = 200
    content_type: str = "application/json"
    # A name with several values is sent as often.
    headers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    def body(self) -> bytes:
        if isinstance(self.value, bytes):
            return self.value
        return json.dumps(self.value, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True)
class Stream:
    """An answer that goes on: pieces are sent as they come; an empty piece asks whether the client
    is still there."""

    pieces: Iterable[bytes]
    content_type: str = "application/json"


@dataclass(frozen=True)
class Upgrade:
    """The connection is handed over, for exec and port-forward."""

    take_over: Callable[[Any], None]
