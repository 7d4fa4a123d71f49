"""The path of every request: parse, authenticate, apply injected faults, answer, and
recorded."""

from __future__ import annotations

import threading
import time
import traceback
from pathlib import Path

from playrunner.sandbox.faults import Fault
from playrunner.sandbox.gcp import control_pools, services
from playrunner.sandbox.gcp.auth import Entrance
from playrunner.sandbox.gcp.gcp_state import GcpState
from playrunner.sandbox.gcp.messages import Call, GcpError, Reply, Request, json_reply, refusal
from playrunner.sandbox.gcp.routes import Route, recognised, table
from playrunner.sandbox.http import control, control_secret
from playrunner.sandbox.http.calls import CallRecord

_NOT_LET_IN = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or"
    " other valid authentication credential."
)


class Front:
    """Answers requests, one at a time."""

    def __init__(self, folder: Path) -> None:
        """`folder` has its secrets."""
        self.state, self._folder = GcpState(), folder
        self.entrance = Entrance(folder)
        self._routes = table(self.entrance)
        self._lock = threading.RLock()

    def answer(self, request: Request) -> tuple[Reply | None, Fault | None]:
        """The reply, and the fault that keeps it from arriving; without a reply nothing was
        done."""
        if request.path.startswith(control.PREFIX):
            return self._steered(request), None
        began = time.perf_counter()
        with self._lock:
            self.state.timeline.catch_up()
            call, route = recognised(self._routes, self.state, request)
            if not self._is_let_in(call):  # not counted, and it uses up no fault
                return refusal(GcpError(401, _NOT_LET_IN)), None
            fault = self.state.faults.striking(call.service, call.action, call.mutating)
            reply: Reply | None = None
            if fault is None or fault.kind == "lost":
                reply = self._answered(call, route)
            elif fault.kind in ("throttle", "error", "deny"):
                reply = refusal(_struck(call, fault))
            self._record(call, reply, fault, began)
        return reply, (
            fault
            if fault is not None
            and fault.kind
            not in (
                "throttle",
                "error",
                "deny",
            )
            else None
        )

    def _answered(self, call: Call, route: Route | None) -> Reply:
        try:
            if route is None:
                what = f"{call.request.method} {call.request.path}"
                raise GcpError(501, f"the sandbox does not do {what}; see docs/gcp.md")
            services.refuse_disabled(call)
            answer = self._once(call, route)
            return answer if isinstance(answer, Reply) else json_reply(answer)
        except GcpError as error:
            return refusal(error)
        except Exception as error:  # a defect of ours must not look like a server to retry
            traceback.print_exc()
            answer = (
                f"the sandbox fell over {call.service}.{call.action} ({type(error).__name__}:"
                f" {error}); its log has more"
            )
            return refusal(GcpError(501, answer))

    def _once(self, call: Call, route: Route) -> object:
        """Compute Engine knows a request again by the id it carries, and answers it as before."""
        number = call.request.query.get("requestId", "") if call.mutating else ""
        if number not in self.state.requests:
            answer = route.answer(call)
            if not number:
                return answer
            self.state.requests[number] = answer
        return self.state.requests[number]

    def _steered(self, request: Request) -> Reply:
        if not control_secret.is_right(self._folder, request.headers.get("authorization", "")):
            return Reply(401, control_secret.REFUSAL)
        with self._lock:
            return Reply(
                *control.answer(
                    self.state,
                    request.method,
                    request.path,
                    request.query,
                    request.body,
                    control_pools.MORE,
                )
            )

    def _is_let_in(self, call: Call) -> bool:
        """Only the endpoint that gives tokens out takes something else: an assertion, which it
        looks at itself."""
        if (call.service, call.action) == ("oauth2", "token"):
            return True
        return self.entrance.knows(call.request.headers.get("authorization", ""))

    def _record(self, call: Call, reply: Reply | None, fault: Fault | None, began: float) -> None:
        self.state.calls.append(
            CallRecord(
                self.state.number(),
                time.time(),
                call.service,
                call.action,
                call.permission,
                call.location,
                call.mutating,
                reply.status if reply else None,
                reply.error if reply else None,
                fault.kind if fault else None,
                round((time.perf_counter() - began) * 1000, 1),
                call.request.headers.get("user-agent", ""),
            )
        )


def _struck(call: Call, fault: Fault) -> GcpError:
    if fault.kind == "throttle":
        return GcpError(
            429,
            fault.message
            or "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'.",
        )
    if fault.kind == "deny":
        said = f"Required '{call.permission}' permission for '{call.request.path.lstrip('/')}'"
        return GcpError(403, fault.message or said)
    return GcpError(
        fault.status, fault.message or "Internal error. Please try again or contact Google Support."
    )
