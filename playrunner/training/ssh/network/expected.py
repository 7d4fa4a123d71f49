"""What the inventory expects of the links between nodes."""

from __future__ import annotations

from playrunner.errors import BadInput
from playrunner.ssh.fleet import Fleet
from trainer.netcheck.findings import Expected


def expected_links(fleet: Fleet, host: str) -> Expected:
    return Expected(
        _number(fleet, host, "train_expected_gbps"),
        _number(fleet, host, "train_expected_latency_us"),
    )


def _number(fleet: Fleet, host: str, name: str) -> float | None:
    value = fleet.variable(host, name)
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} of {host} is {value!r}, not a number") from None
