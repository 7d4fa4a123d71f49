"""Which errors of stores' libraries may pass by themselves: those of the way there; what a store
says, it says again."""

from __future__ import annotations

_PASSING = (
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


def may_pass(error: BaseException) -> bool:
    """By type, and by the name and code it goes by: each library has its own."""
    if isinstance(error, (PermissionError, FileNotFoundError)):
        return False
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    response = getattr(error, "response", None) or getattr(error.__cause__, "response", None) or {}
    code = str((response.get("Error") or {}).get("Code", "")) if isinstance(response, dict) else ""
    return any(word in f"{type(error).__name__} {code}" for word in _PASSING)
