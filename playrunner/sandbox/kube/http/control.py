"""`/_sandbox/...`: control of the pretend Kubernetes API, for rehearsals and tests, and the record
of calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from playrunner.sandbox.faults import BadFault, Fault
from playrunner.sandbox.kube.http.routes import route
from playrunner.sandbox.kube.schema.kinds import Kinds
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.store.cluster import Cluster, Settings
from playrunner.sandbox.kube.wire.messages import Reply, Request

if TYPE_CHECKING:
    from playrunner.sandbox.kube.http.api import Api

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Call:
    """One request as faults and the list of calls name it: service `kube`, action as `pods:watch`
    or `jobs/status:patch`."""

    def __init__(self, request: Request, kinds: Kinds) -> None:
        self.request = request
        self.started = time.time()
        self.action = self._action(kinds)

    def _action(self, kinds: Kinds) -> str:
        try:
            at = route(kinds, self.request.path)
        except Refusal:
            return f"{self.request.path}:{self.request.method.lower()}"
        verb = _VERBS.get(self.request.method, "get" if at.name else "list")
        if self.request.method == "GET" and (
            at.watch or (self.request.flag("watch") and not at.name)
        ):
            verb = "watch"
        if verb == "patch" and "apply" in self.request.headers.get("Content-Type", ""):
            verb = "apply"
        return f"{at.kind.plural}{'/' + at.subresource if at.subresource else ''}:{verb}"

    @property
    def for_faults(self) -> tuple[str, str, bool]:
        return "kube", self.action, self.request.method not in ("GET", "HEAD", "OPTIONS")

    def record(self, status: int, fault: Fault | None) -> dict[str, Any]:
        return {
            "at": self.started,
            "method": self.request.method,
            "path": self.request.path,
            "action": self.action,
            "agent": self.request.headers.get("User-Agent", ""),
            "status": status,
            "fault": fault.kind if fault else None,
        }


def answer(api: Api, request: Request) -> Reply:
    """Bodies are JSON both ways; the token is asked for as everywhere."""
    name = request.path.removeprefix("/_sandbox/").strip("/")
    handler = _HANDLERS.get((request.method, name))
    if not api.authentication.knows(request):
        return Reply({"error": "the token in kubeconfig.yaml is needed"}, 401)
    if handler is None:
        there = ", ".join(f"{method} /_sandbox/{path}" for method, path in _HANDLERS)
        return Reply(
            {"error": f"there is no {request.method} /_sandbox/{name}; there are: {there}"}, 404
        )
    try:
        return Reply(handler(api.cluster, request))
    except (BadFault, TypeError, ValueError) as error:
        return Reply({"error": str(error)}, 400)
    except Refusal as refusal:
        return Reply({"error": refusal.message}, refusal.code)


def _health(cluster: Cluster, request: Request) -> Any:
    return {"version": cluster.store.version, "calls": len(cluster.calls)}


def _faults(cluster: Cluster, request: Request) -> Any:
    return [fault.summary() for fault in cluster.faults.all]


def _add_faults(cluster: Cluster, request: Request) -> Any:
    body = request.document()
    cluster.faults.add(body if isinstance(body, list) else [body])
    return _faults(cluster, request)


def _clear_faults(cluster: Cluster, request: Request) -> Any:
    cluster.faults.all.clear()
    return []


def _calls(cluster: Cluster, request: Request) -> Any:
    return list(cluster.calls)


def _clear_calls(cluster: Cluster, request: Request) -> Any:
    cluster.calls.clear()
    return []


def _settings(cluster: Cluster, request: Request) -> Any:
    return asdict(cluster.settings)


def _change_settings(cluster: Cluster, request: Request) -> Any:
    body = request.document() or {}
    known = {one.name for one in fields(Settings)}
    if unknown := sorted(set(body) - known):
        raise ValueError(
            f"unknown setting {', '.join(unknown)}; valid are: {', '.join(sorted(known))}"
        )
    for name, value in body.items():
        setattr(cluster.settings, name, value)
    return asdict(cluster.settings)


def _outage(cluster: Cluster, request: Request) -> Any:
    seconds = float((request.document() or {}).get("seconds", 2))
    cluster.away_until = time.monotonic() + seconds
    return {"seconds": seconds}


def _forget(cluster: Cluster, request: Request) -> Any:
    cluster.store.forget_history()
    return {"version": cluster.store.version}


def _reset(cluster: Cluster, request: Request) -> Any:
    cluster.reset()
    return {}


_HANDLERS: dict[tuple[str, str], Callable[[Cluster, Request], Any]] = {
    ("GET", "health"): _health,
    ("GET", "faults"): _faults,
    ("POST", "faults"): _add_faults,
    ("DELETE", "faults"): _clear_faults,
    ("GET", "calls"): _calls,
    ("DELETE", "calls"): _clear_calls,
    ("GET", "settings"): _settings,
    ("POST", "settings"): _change_settings,
    ("POST", "forget-history"): _forget,
    ("POST", "outage"): _outage,
    ("POST", "reset"): _reset,
}
