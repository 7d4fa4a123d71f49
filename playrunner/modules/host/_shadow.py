"""What /etc/shadow says of an account beside its password: when it ends, and how passwords age."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from playrunner.hostside.state import State

DAY_SECONDS = 86400
# Argument of user -> its column, and the flag of chage
AGING = {
    "password_expire_min": (3, "-m"),
    "password_expire_max": (4, "-M"),
    "password_expire_warn": (5, "-W"),
    "password_expire_account_disable": (6, "-I"),
}
_EXPIRES = 7


def shadow_state(columns: Optional[list[str]]) -> State:
    """Locked or not, the day it ends, and the ages of passwords; nothing when it may not be
    read."""
    if columns is None:
        return {}
    state: State = {"locked": columns[1].startswith("!"), "expires": day(columns[_EXPIRES])}
    for name, (column, _) in AGING.items():
        state[name] = int(columns[column]) if columns[column] else None
    return state


def day(text: str) -> str:
    """Days since 1970 as a date; nothing for never."""
    if not text or int(text) < 0:
        return ""
    return time.strftime("%Y-%m-%d", time.gmtime(int(text) * DAY_SECONDS))


def day_of(seconds: float) -> str:
    """The day on which a moment falls; nothing when it is negative, which means never."""
    return "" if seconds < 0 else time.strftime("%Y-%m-%d", time.gmtime(seconds))


def looks_hashed(text: str) -> bool:
    """Whether a text can be what /etc/shadow has for a password."""
    import re

    parts = text.split("$")
    if len(parts) == 1:
        return len(text) == 13  # DES
    length = {"1": 22, "5": 43, "6": 86}.get(parts[1], len(parts[-1]))
    letters = re.fullmatch(r"[./0-9A-Za-z=]+", parts[-1])
    return len(parts) >= 4 and bool(letters) and len(parts[-1]) == length
