"""Which errors of stores' libraries are worth a retry: those of the connection, not a store's
refusals."""

from __future__ import annotations

_RETRYABLE = (
    "Timeout",
    "TimedOut",
    "Connect",
    "Disconnect",
    "Incomplete",
    "SlowDown",
    "ServiceUnavailable",
    "InternalError",
    "ThrottlingException",
)


def is_retryable(error: BaseException) -> bool:
    """By type, and by class name and error code: each library has its own."""
    if isinstance(error, (PermissionError, FileNotFoundError)):
        return False
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    response = getattr(error, "response", None) or getattr(error.__cause__, "response", None) or {}
    code = str((response.get("Error") or {}).get("Code", "")) if isinstance(response, dict) else ""
    return any(part in f"{type(error).__name__} {code}" for part in _RETRYABLE)
