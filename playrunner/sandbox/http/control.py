"""`/_sandbox/...`: control of a pretend cloud, for rehearsals and tests, and the record of calls.
Bodies are JSON both ways."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from playrunner.sandbox.faults import BadFault, Faults
from playrunner.sandbox.http.calls import CallRecord
from playrunner.sandbox.http.timeline import Timeline
from playrunner.sandbox.settings import BadSetting, Settings

PREFIX = "/_sandbox/"


class ControlledCloud(Protocol):
    """What a cloud must have to be controlled."""

    faults: Faults
    timeline: Timeline
    calls: list[CallRecord]
    since: float

    @property
    def settings(self) -> Settings: ...

    def reset(self) -> None: ...


Handler = Callable[[Any, Any, Mapping[str, str]], Any]


def answer(
    cloud: ControlledCloud,
    method: str,
    path: str,
    query: Mapping[str, str],
    body: bytes,
    more: Mapping[tuple[str, str], Handler] | None = None,
) -> tuple[int, bytes]:
    """The status and body for one request; `more` are a cloud's own handlers."""
    handlers = {**_HANDLERS, **(more or {})}
    at = (method, path.removeprefix(PREFIX).strip("/"))
    handler = handlers.get(at)
    if handler is None:
        there = ", ".join(f"{method} {PREFIX}{name}" for method, name in handlers)
        return _reply(404, {"error": f"there is no {at[0]} {PREFIX}{at[1]}; there are: {there}"})
    try:
        return _reply(200, handler(cloud, json.loads(body or b"{}"), query))
    except (BadFault, BadSetting, json.JSONDecodeError, TypeError, ValueError) as error:
        return _reply(400, {"error": str(error)})


def _health(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    return {"up_since": cloud.since, "calls": len(cloud.calls), "ahead": len(cloud.timeline)}


def _add_faults(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    cloud.faults.add(body if isinstance(body, list) else [body])
    return _list_faults(cloud, body, query)


def _list_faults(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    return [fault.summary() for fault in cloud.faults.all]


def _clear_faults(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    cloud.faults.all.clear()
    return []


def _calls(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    since = int(query.get("since", 0))  # the number of the last call already seen
    return [asdict(call) for call in cloud.calls if call.number > since]


def _clear_calls(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    cloud.calls.clear()
    return []


def _settings(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    return cloud.settings.summary()


def _change_settings(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    cloud.settings.change(body)
    return cloud.settings.summary()


def _reset(cloud: ControlledCloud, body: Any, query: Mapping[str, str]) -> Any:
    cloud.reset()
    return {}


_HANDLERS: dict[tuple[str, str], Handler] = {
    ("GET", "health"): _health,
    ("GET", "faults"): _list_faults,
    ("POST", "faults"): _add_faults,
    ("DELETE", "faults"): _clear_faults,
    ("GET", "calls"): _calls,
    ("DELETE", "calls"): _clear_calls,
    ("GET", "settings"): _settings,
    ("POST", "settings"): _change_settings,
    ("POST", "reset"): _reset,
}


def _reply(status: int, value: Any) -> tuple[int, bytes]:
    return status, json.dumps(value).encode()
