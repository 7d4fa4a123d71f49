"""Refusals of Google's APIs in our own words, with what to do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import BadInput

DOCS = "docs/gcp-permissions.md lists all that are needed"


class Throttled(Refused):
    """Not done, and may be asked again a little later."""


class NotReached(Exception):
    """The service could not even be asked."""


def problem(status: int, answer: Mapping[str, Any], what: str, project: str) -> Exception:
    """An error document of one of the APIs; they all have the same shape."""
    error = answer.get("error") if isinstance(answer.get("error"), Mapping) else {}
    assert isinstance(error, Mapping)
    message, code = (
        str(error.get("message") or f"HTTP {status}"),
        str(error.get("status") or status),
    )
    reasons = _reasons(error)
    text = f"{what}: {message}"
    if status == 429 or "rateLimitExceeded" in reasons or "RATE_LIMIT_EXCEEDED" in reasons:
        return Throttled(text, code)
    if status >= 500 and status != 501:
        return Unanswered(text)
    if status == 401:
        return BadInput(f"{text}; the credentials are not accepted or have expired: log in again")
    if "SERVICE_DISABLED" in reasons or "accessNotConfigured" in reasons:
        return Refused(
            f"{what}: the API {_api(error, what)} is off in project {project}; turn it on with:"
            f" gcloud services enable {_api(error, what)} --project {project}",
            "SERVICE_DISABLED",
        )
    if "CONSUMER_INVALID" in reasons:
        return BadInput(
            f'there is no project "{project}", or these credentials may not see it; set gcp_project'
            ' in the inventory (its id, as "gcloud projects list" shows it)'
        )
    if _is_quota(message, reasons):
        return Refused(
            f"{text}; ask for more quota at"
            f" https://console.cloud.google.com/iam-admin/quotas?project={project}, or declare"
            " less",
            "QUOTA_EXCEEDED",
        )
    if status == 403:
        return Refused(f"{text}; {DOCS}", code)
    in_use = _is_in_use(message, reasons)
    return Refused(
        text, code, in_use=in_use, already=status == 409 and not in_use, not_found=status == 404
    )


def failed(what: str, operation: Mapping[str, Any], project: str) -> Refused:
    """An operation that was accepted and went wrong later."""
    error = operation.get("error") or {}
    inner = error.get("errors") or [error]
    message = "; ".join(
        ": ".join(filter(None, (str(entry.get("code") or ""), str(entry.get("message") or ""))))
        for entry in inner
    )
    code = str(inner[0].get("code") or "FAILED")
    if _is_quota(message, {code}):
        message += (
            "; ask for more quota at"
            f" https://console.cloud.google.com/iam-admin/quotas?project={project}"
        )
    return Refused(f"{what}: {message}", code, in_use="IN_USE" in code)


def _is_quota(message: str, reasons: set[str]) -> bool:
    return (
        bool(reasons & {"quotaExceeded", "QUOTA_EXCEEDED"}) or "quota to satisfy request" in message
    )


def _is_in_use(message: str, reasons: set[str]) -> bool:
    """Whether it is refused only for now."""
    return (
        bool(reasons & {"resourceInUseByAnotherResource", "resourceNotReady"})
        or "incompatible operation" in message
    )


def _reasons(error: Mapping[str, Any]) -> set[str]:
    parts = [
        *(error.get("errors") or ()),
        *(error.get("details") or ()),
        {"reason": error.get("status")},
    ]
    return {
        str(part.get("reason"))
        for part in parts
        if isinstance(part, Mapping) and part.get("reason")
    }


def _api(error: Mapping[str, Any], what: str) -> str:
    services = [(part.get("metadata") or {}).get("service") for part in error.get("details") or ()]
    return str(next(filter(None, services), f"{what.partition('.')[0]}.googleapis.com"))
