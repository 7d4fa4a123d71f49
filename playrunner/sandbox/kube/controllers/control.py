"""Control of the cluster beyond its API, for rehearsals and tests: add, stop and remove machines,
kill or evict pods, inject faults.

HTTP on loopback with the API's token; `controllers.json` in the sandbox's folder has the address.
Bodies are JSON both ways.
"""

from __future__ import annotations

import hmac
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.injected_faults import (
    BadInjectedFault,
    InjectedFaults,
)
from playrunner.sandbox.kube.controllers.framework.process import ready_file
from playrunner.sandbox.kube.controllers.kubelet.kubelet_controller import PodWorkers
from playrunner.sandbox.kube.controllers.kubelet.pod_worker import PodWorker
from playrunner.sandbox.kube.controllers.machines.machines import Machine, Machines
from playrunner.sandbox.kube.controllers.nodes.spot import give_notice

ADDRESS = "127.0.0.1"
Handler = Callable[[ControllerContext, list[str], Any], Any]


class Unknown(Exception):
    """There is nothing of that name."""


def control_request(folder: Path, method: str, path: str, body: Any = None) -> Any:
    """One control request to the controllers that keep their things in this folder; ValueError
    says what was wrong."""
    url = json.loads(ready_file(folder).read_text())["control"]
    headers = {"Authorization": f"Bearer {(folder / 'token').read_text().strip()}"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/{path.lstrip('/')}", data, headers, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ValueError(json.load(error)["error"]) from None


class ControlServer(ThreadingHTTPServer):
    """Listens from the start, on a port of its own."""

    daemon_threads = True

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.token = (context.folder / "token").read_text().strip()
        super().__init__((ADDRESS, 0), _Requests)

    def start(self) -> str:
        """Its address."""
        threading.Thread(target=self.serve_forever, name="control", daemon=True).start()
        return f"http://{ADDRESS}:{self.server_port}"


class _Requests(BaseHTTPRequestHandler):
    server: ControlServer
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(
            given.encode(errors="replace"), f"Bearer {self.server.token}".encode()
        ):
            self._say(401, {"error": "the token in kubeconfig.yaml is needed"})
            return
        what, *names = [part for part in self.path.split("/") if part] or [""]
        handler = _HANDLERS.get((self.command, what))
        if handler is None:
            there = ", ".join(f"{method} /{name}" for method, name in _HANDLERS)
            self._say(404, {"error": f"there is no {self.command} {self.path}; there are: {there}"})
            return
        try:
            self._say(200, handler(self.server.context, names, json.loads(body) if body else {}))
        except Unknown as error:
            self._say(404, {"error": str(error)})
        except (BadInjectedFault, TypeError, ValueError) as error:
            self._say(400, {"error": str(error)})

    do_GET = do_POST = do_DELETE = _handle

    def _say(self, code: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


def _nodes(context: ControllerContext, names: list[str], body: Any) -> Any:
    return [asdict(machine) for machine in context.the(Machines).all().values()]


def _change_node(context: ControllerContext, names: list[str], body: Any) -> Any:
    """`POST nodes` adds a machine; `POST nodes/NAME` with `up` stops or starts it, with
    `spot_notice_seconds` has it go soon."""
    machines = context.the(Machines)
    if not names:
        known = {one.name for one in fields(Machine)}
        if not isinstance(body, dict) or not body.get("name") or set(body) - known:
            raise ValueError(
                f"a node needs a name; optional are: {', '.join(sorted(known - {'name'}))}"
            )
        machines.add(Machine(**{**body, "taints": tuple(body.get("taints") or ())}))
    elif "spot_notice_seconds" in body:
        _require_node(context, names[0])
        give_notice(context, names[0], float(body["spot_notice_seconds"]))
    elif body.get("up", True):
        machines.start(names[0])
    else:
        _require_node(context, names[0])
        machines.stop(names[0])
    return _nodes(context, [], {})


def _remove_node(context: ControllerContext, names: list[str], body: Any) -> Any:
    if not names:
        context.the(Machines).forget_changes()
        return _nodes(context, [], {})
    _require_node(context, names[0])
    context.the(Machines).lose(names[0])
    return _nodes(context, [], {})


def _require_node(context: ControllerContext, name: str) -> None:
    there = context.the(Machines).all()
    if name not in there:
        raise Unknown(f"there is no node {name}; there are: {', '.join(there)}")


def _strike_pod(context: ControllerContext, names: list[str], body: Any) -> Any:
    """`POST pods/NAMESPACE/NAME/oom` kills a container as out of memory, `.../say` as whatever its
    last line says (`line`), `.../evict` the pod as its node under pressure does."""
    if len(names) != 3 or names[2] not in ("oom", "evict", "say"):
        raise ValueError("the path must be pods/NAMESPACE/NAME/ and oom, evict or say")
    workers: list[PodWorker] = context.the(PodWorkers).of(names[0], names[1])
    if not workers:
        raise Unknown(f"no pod {names[0]}/{names[1]} runs here")
    if names[2] == "oom":
        workers[0].kill_container(body.get("container") or workers[0].mains[0].name, "OOMKilled")
    elif names[2] == "say":
        workers[0].end_with(body.get("container") or workers[0].mains[0].name, str(body["line"]))
    else:
        workers[0].fail("Evicted", body.get("message") or "The node was low on resource: memory.")
    return {}


def _list_faults(context: ControllerContext, names: list[str], body: Any) -> Any:
    return context.the(InjectedFaults).summary()


def _add_faults(context: ControllerContext, names: list[str], body: Any) -> Any:
    for one in body if isinstance(body, list) else [body]:
        context.the(InjectedFaults).add(one)
    return context.the(InjectedFaults).summary()


def _clear_faults(context: ControllerContext, names: list[str], body: Any) -> Any:
    context.the(InjectedFaults).clear()
    return []


_HANDLERS: dict[tuple[str, str], Handler] = {
    ("GET", "nodes"): _nodes,
    ("POST", "nodes"): _change_node,
    ("DELETE", "nodes"): _remove_node,
    ("POST", "pods"): _strike_pod,
    ("GET", "faults"): _list_faults,
    ("POST", "faults"): _add_faults,
    ("DELETE", "faults"): _clear_faults,
}
