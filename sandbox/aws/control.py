"""`/_sandbox/...`: how a rehearsal or a test steers the pretend AWS, and asks what was called."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from moto.core.request import Request

from sandbox.aws import prices
from sandbox.aws.wire import Reply
from sandbox.aws.world import BadSetting, World
from sandbox.faults import BadFault


def answer(world: World, request: Request) -> Reply:
    """Answer one request to the control API; bodies are JSON both ways."""
    at = (request.method, request.path.removeprefix("/_sandbox/").strip("/"))
    handler = _HANDLERS.get(at)
    if handler is None:
        there = ", ".join(f"{method} /_sandbox/{name}" for method, name in _HANDLERS)
        return _reply(404, {"error": f"there is no {at[0]} /_sandbox/{at[1]}; there are: {there}"})
    try:
        wish = json.loads(request.get_data() or b"{}")
        return _reply(200, handler(world, wish, request))
    except (BadFault, BadSetting, json.JSONDecodeError, TypeError, ValueError) as error:
        return _reply(400, {"error": str(error)})


def _health(world: World, wish: Any, request: Request) -> Any:
    return {"up_since": world.since, "calls": len(world.calls), "ahead": len(world.timeline)}


def _add_faults(world: World, wish: Any, request: Request) -> Any:
    world.faults.add(wish if isinstance(wish, list) else [wish])
    return _list_faults(world, wish, request)


def _list_faults(world: World, wish: Any, request: Request) -> Any:
    return [fault.summary() for fault in world.faults.all]


def _clear_faults(world: World, wish: Any, request: Request) -> Any:
    world.faults.all.clear()
    return []


def _calls(world: World, wish: Any, request: Request) -> Any:
    since = int(request.args.get("since", 0))  # the number of the last call already seen
    return [asdict(call) for call in world.calls if call.number > since]


def _clear_calls(world: World, wish: Any, request: Request) -> Any:
    world.calls.clear()
    return []


def _settings(world: World, wish: Any, request: Request) -> Any:
    return world.settings.summary()


def _change_settings(world: World, wish: Any, request: Request) -> Any:
    world.settings.change(wish)
    return world.settings.summary()


def _prices(world: World, wish: Any, request: Request) -> Any:
    return prices.table()


def _reset(world: World, wish: Any, request: Request) -> Any:
    world.reset()
    return {}


_HANDLERS: dict[tuple[str, str], Callable[[World, Any, Request], Any]] = {
    ("GET", "health"): _health,
    ("GET", "faults"): _list_faults,
    ("POST", "faults"): _add_faults,
    ("DELETE", "faults"): _clear_faults,
    ("GET", "calls"): _calls,
    ("DELETE", "calls"): _clear_calls,
    ("GET", "settings"): _settings,
    ("POST", "settings"): _change_settings,
    ("GET", "prices"): _prices,
    ("POST", "reset"): _reset,
}


def _reply(status: int, value: Any) -> Reply:
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(value).encode())
