"""Refusals in the words of a Kubernetes API server: every error answer is one `Refusal`, sent as a
Status object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playrunner.sandbox.kube.schema.kinds import Kind


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one field."""

    field: str
    reason: str  # FieldValueRequired, FieldValueInvalid, ...
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Refusal(Exception):
    """The request is answered with an error."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details = details or {}
        self.retry_after = retry_after

    def status(self) -> dict[str, Any]:
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        return {
            **status,
            "reason": self.reason,
            **({"details": self.details} if self.details else {}),
            "code": self.code,
        }


class Undecodable(Exception):
    """A value that its kind cannot hold. How that is answered depends on the request: see
    `undecodable` in store/write_checks.py."""

    def __init__(self, why: str, *, wrong_type: bool = False) -> None:
        super().__init__(why)
        self.wrong_type = wrong_type  # seen by the schema alone, without reading the value


def required(field: str, message: str = "") -> Problem:
    return Problem(
        field, "FieldValueRequired", f"Required value{': ' + message if message else ''}"
    )


def invalid_value(field: str, value: Any, why: str) -> Problem:
    return Problem(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")


def unsupported(field: str, value: Any, allowed: list[Any]) -> Problem:
    choices = ", ".join(shown(one) for one in allowed)
    return Problem(
        field,
        "FieldValueNotSupported",
        f"Unsupported value: {shown(value)}: supported values: {choices}",
    )


def duplicate(field: str, value: Any) -> Problem:
    return Problem(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def forbidden_field(field: str, why: str) -> Problem:
    return Problem(field, "FieldValueForbidden", f"Forbidden: {why}")


def shown(value: Any) -> str:
    """A value as Go prints it in these messages."""
    if isinstance(value, str):
        return '"' + value.replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        import json

        return json.dumps(value, separators=(",", ":"))
    return str(value)


def not_found(kind: Kind, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{kind.qualified} "{name}" not found', _details(kind, name))


def already_exists(kind: Kind, name: str) -> Refusal:
    return Refusal(
        409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', _details(kind, name)
    )


def conflict(kind: Kind, name: str, why: str = "") -> Refusal:
    why = why or (
        "the object has been modified; please apply your changes to the latest version and try"
        " again"
    )
    return Refusal(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}',
        _details(kind, name),
    )


def forbidden(
    kind: Kind, name: str, why: str, causes: list[dict[str, str]] | None = None
) -> Refusal:
    details = _details(kind, name)
    if causes:
        details["causes"] = causes
    return Refusal(403, "Forbidden", f'{kind.qualified} "{name}" is forbidden: {why}', details)


def invalid(kind: Kind, name: str, problems: list[Problem]) -> Refusal:
    listed = str(problems[0]) if len(problems) == 1 else "[" + ", ".join(map(str, problems)) + "]"
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    causes = [
        {"reason": one.reason, "message": one.message, "field": one.field} for one in problems
    ]
    details = {**_details(kind, name), "kind": kind.kind, "causes": causes}
    return Refusal(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details)


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unsupported_media_type(message: str) -> Refusal:
    return Refusal(415, "UnsupportedMediaType", message)


def expired(wanted: int, oldest: int) -> Refusal:
    return Refusal(410, "Expired", f"too old resource version: {wanted} ({oldest})")


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> Refusal:
    return Refusal(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def no_such_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource")


def _details(kind: Kind, name: str) -> dict[str, Any]:
    return {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural}
