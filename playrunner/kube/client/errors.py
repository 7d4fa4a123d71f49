"""Errors of the API server in plain words: which right is missing, which field is wrong, who owns
it, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from playrunner.cloud.resource import Refused
from playrunner.project import program
from playrunner.text.answers import BadAnswer, document

_TYPED = (
    "failed to create typed patch object",
    "failed to create typed live object",
    "field not declared in schema",
    "failed to convert new object",
    "error decoding",
    "unmarshal",
)
_WEBHOOK_SILENT = ("failed calling webhook", "failed calling admission webhook")
_MANAGER = re.compile(r'conflict with "([^"]*)"')
MOST_CAUSES = 6  # of one refusal


class KubeError(Refused):
    """A refusal by an API server."""

    def __init__(
        self, status: int, body: Mapping[str, Any], verb: str, what: str, who: str = ""
    ) -> None:
        self.status, self.body, self.verb, self.what = status, body, verb, what
        self.message = " ".join(str(body.get("message") or "").split())
        reason = str(body.get("reason") or "")
        super().__init__(
            _text(self, reason, who),
            reason or str(status),
            not_found=status == 404,
            already=reason == "AlreadyExists",
        )

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        causes = self._details.get("causes")
        listed = causes if isinstance(causes, list) else []
        return [cause for cause in listed if isinstance(cause, Mapping)]

    @property
    def missing_kind(self) -> str:
        """The plural of what was not found: namespaces, where an object's namespace is missing."""
        return str(self._details.get("kind") or "") if self.not_found else ""

    @property
    def _details(self) -> Mapping[str, Any]:
        details = self.body.get("details")
        return details if isinstance(details, Mapping) else {}

    @property
    def conflict(self) -> bool:
        """Another field manager owns a field that we declare."""
        return self.status == 409 and any(
            cause.get("reason") == "FieldManagerConflict" for cause in self.causes
        )

    @property
    def webhook_silent(self) -> bool:
        """An admission webhook did not answer; it may a moment later."""
        return any(text in self.message for text in _WEBHOOK_SILENT)

    @property
    def comes_before(self) -> bool:
        """It names another object that its webhook has not seen yet; it may a moment later."""
        return "must be created before" in self.message

    @property
    def invalid(self) -> bool:
        """The object itself is wrong, whenever and wherever it is applied."""
        return self.status in (400, 422) or (
            self.status == 500 and any(words in self.message for words in _TYPED)
        )

    @property
    def terminating(self) -> bool:
        """Its namespace is being deleted."""
        return self.status == 403 and "being terminated" in self.message

    @property
    def forbidden(self) -> bool:
        """The user has no right to do this; admission did not even look at it."""
        return self.status == 403 and " cannot " in self.message

    @property
    def passing(self) -> bool:
        """Whether the same call may succeed a moment later."""
        if self.status == 500:
            return not self.invalid and not self.webhook_silent
        return self.status in (429, 502, 503, 504)


def problem(status: int, data: bytes, verb: str, what: str, who: str = "") -> KubeError:
    try:
        body = document(data, what)
    except BadAnswer:
        body = None
    if not isinstance(body, dict):
        body = {"message": data[:500].decode(errors="replace").strip() or f"status {status}"}
    return KubeError(status, body, verb, what, who)


def _text(error: KubeError, reason: str, who: str) -> str:
    status, message, what = error.status, error.message, f"{error.verb} {error.what}"
    if status == 401:
        return (
            f"{what}: the API server does not accept {who or 'these credentials'} (401); log in"
            ' again, or choose another context with kube_context; "kubectl auth can-i --list"'
            " shows what it sees"
        )
    if error.conflict:
        return _conflict(error)
    if error.webhook_silent:
        return f"{what}: {message}"
    if error.invalid:
        return f"{what}: {_fields(error)}"
    if status == 403 and "cannot" in message:
        return (
            f"{what}: {message}; give it the right (a Role or ClusterRole with this verb;"
            f" {program()} kube.rights --for training, add-ons or audit prints all of them), or use"
            " another kube_context"
        )
    if status == 404 and not message:
        return f"{what}: not found"
    return f"{what}: {message or reason or status}"


def _conflict(error: KubeError) -> str:
    owners: dict[str, list[str]] = {}
    for cause in error.causes:
        manager = _MANAGER.search(str(cause.get("message", "")))
        owners.setdefault(manager[1] if manager else str(cause.get("message")), []).append(
            str(cause.get("field", ""))
        )
    owned = "; ".join(
        f'"{owner}" owns {", ".join(fields[:MOST_CAUSES])}' for owner, fields in owners.items()
    )
    return (
        f"{error.verb} {error.what}: {owned}; take these fields out of the declaration, or take"
        f" them over with force: true (kubectl get {error.what} -o yaml --show-managed-fields shows"
        " who owns what)"
    )


def _fields(error: KubeError) -> str:
    causes = [
        f"{cause['field']}: {cause.get('message', '')}"
        for cause in error.causes
        if cause.get("field")
    ]
    more = f" (and {len(causes) - MOST_CAUSES} more)" if len(causes) > MOST_CAUSES else ""
    return ("; ".join(dict.fromkeys(causes[:MOST_CAUSES])) + more) if causes else error.message
