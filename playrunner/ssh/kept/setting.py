"""connections.keep: how long connections stay open after the command that opened them."""

from __future__ import annotations

import re

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput

_UNITS = {"s": 1, "m": 60, "h": 3600}
LONGEST_SECONDS = 24 * 3600


def keep_seconds() -> float:
    """How long unused connections stay open after a command; 0: they end with it."""
    text = str(ansible_config().get("keep_connections") or "").strip()
    if text in ("", "0", "no", "off"):
        return 0.0
    match = re.fullmatch(r"(\d{1,6})([smh])", text)
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise BadInput(
            f'connections.keep (PLAYRUNNER_CONNECTIONS_KEEP) is "{text[:40]}"; set it to a time up'
            " to 24h, such as 10m, or to 0"
        )
    return float(seconds)
