"""What `set_stats` gave in a run, of each host and of the whole run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.results import Result

WHOLE_RUN = "_run"


def custom_stats(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """By host, and under WHOLE_RUN; values of one name add up unless they should not."""
    by_host: dict[str, dict[str, Any]] = {}
    for result in results:
        for values in [item.values for item in result.items] or [result.values]:
            stats = values.get("ansible_stats")
            if not isinstance(stats, Mapping) or not isinstance(stats.get("data"), Mapping):
                continue
            known = by_host.setdefault(result.host if stats.get("per_host") else WHOLE_RUN, {})
            for name, value in stats["data"].items():
                adds = stats.get("aggregate", True) and name in known
                known[name] = _sum(known[name], value) if adds else value
    return by_host


def stats_lines(stats: Mapping[str, Mapping[str, Any]]) -> list[str]:
    hosts = [*sorted(set(stats) - {WHOLE_RUN}), *([WHOLE_RUN] if WHOLE_RUN in stats else [])]
    return [f"\t{'RUN' if host == WHOLE_RUN else host}: {_dumped(stats[host])}" for host in hosts]


def _sum(known: Any, value: Any) -> Any:
    if isinstance(known, Mapping) and isinstance(value, Mapping):
        return {**known, **value}
    try:
        return known + value
    except TypeError:
        return value


def _dumped(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values), indent=1, default=str, ensure_ascii=False).replace("\n", "")
