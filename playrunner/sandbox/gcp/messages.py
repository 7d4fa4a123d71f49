"""A request as it came, the call it stands for, and the ways to refuse one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playrunner.sandbox.gcp.gcp_state import GcpState

_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
_REASONS = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    500: "backendError",
    501: "notImplemented",
    503: "backendError",
}


@dataclass(frozen=True)
class Request:
    """One request of HTTP."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    body: bytes
    base: str  # http://127.0.0.1:PORT, as the client called it

    def document(self) -> dict[str, Any]:
        try:
            document = json.loads(self.body or b"{}")
        except ValueError:
            raise GcpError(400, "Invalid JSON payload received.") from None
        if not isinstance(document, dict):
            raise GcpError(400, "Invalid JSON payload received. Expected an object.")
        return document


@dataclass
class Call:
    """A request that was recognised: the call it is, on what."""

    state: GcpState
    request: Request
    service: str = "unknown"
    action: str = "Unknown"
    permission: str = ""
    mutating: bool = False
    at: dict[str, str] = field(default_factory=dict)  # the named parts of the path

    @property
    def project(self) -> str:
        return self.at.get("project", "")

    @property
    def location(self) -> str:
        return self.at.get("location", "")

    @property
    def body(self) -> dict[str, Any]:
        return self.request.document()


@dataclass(frozen=True)
class Reply:
    """What is sent back."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=UTF-8"
    error: str | None = None


class GcpError(Exception):
    """A refusal in the words of Google's APIs."""

    def __init__(
        self,
        code: int,
        message: str,
        status: str = "",
        reason: str = "",
        details: list[Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, details
        self.status, self.reason = (
            status or _WORDS.get(code, "UNKNOWN"),
            reason or _REASONS.get(code, "unknown"),
        )

    def document(self) -> dict[str, Any]:
        one = {"message": self.message, "domain": "global", "reason": self.reason}
        said = {"code": self.code, "message": self.message, "status": self.status, "errors": [one]}
        return {"error": {**said, **({"details": self.details} if self.details else {})}}


def json_reply(value: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode())


def refusal(error: GcpError) -> Reply:
    return Reply(error.code, json.dumps(error.document()).encode(), error=error.status)


def missing(what: str) -> GcpError:
    return GcpError(404, f"Not found: {what}.")


def precondition(message: str) -> GcpError:
    """What the container API answers while it cannot do what is asked."""
    return GcpError(400, message, "FAILED_PRECONDITION", "failedPrecondition")
