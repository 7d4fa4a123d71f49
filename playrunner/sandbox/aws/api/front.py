"""The path of every request: parse, apply injected faults, answer (ourselves or by moto), and
recorded."""

from __future__ import annotations

import io
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.request import Request
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.exceptions import HTTPException
from werkzeug.test import run_wsgi_app

from playrunner.sandbox.aws.api import control, credentials, services
from playrunner.sandbox.aws.api.authentication import Authentication
from playrunner.sandbox.aws.api.aws_state import ACCOUNT, AwsState
from playrunner.sandbox.aws.api.resource import about
from playrunner.sandbox.aws.api.wire import (
    AwsError,
    Call,
    Reply,
    addressed,
    complaint,
    understood,
    written,
)
from playrunner.sandbox.aws.ec2 import network, offerings
from playrunner.sandbox.faults import Fault
from playrunner.sandbox.http import control_secret, sockets
from playrunner.sandbox.http.calls import CallRecord

StartResponse = Callable[..., Any]
NOT_IMPLEMENTED = 501  # boto3 does not retry it, as it would a 500


class Front:
    """The WSGI application."""

    def __init__(self, folder: Path) -> None:
        """`folder` has the operator's keys and the secret for `/_sandbox/...`."""
        credentials.make_moto_unpredictable()
        offerings.add_missing()
        self.state = AwsState(folder.parent)
        self.authentication = Authentication(folder)
        self._folder = folder
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.RLock()  # moto's backends are not made for two callers at once

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        body = _read_body(environ)
        request = Request(environ.copy())
        if request.path.startswith("/_sandbox/"):
            return _send(self._steered(request), start_response)
        began = time.perf_counter()
        # First of all: a stranger's request is not read, not counted, and uses up no fault.
        refusal = self._refused(request, body)
        if refusal is not None:
            return _send(refusal, start_response)
        call, reply = self._understood(request)
        fault = self._fault(call)
        if reply is None and (fault is None or fault.kind == "lost"):
            reply = self._shown(call, body, lambda: self._answered(call, environ))
        elif fault is not None and fault.kind in ("throttle", "error", "deny"):
            reply = _refusal(call, fault)
        self._record(call, reply, fault, began, request.headers.get("User-Agent", ""))
        if fault is not None and fault.kind == "timeout":
            sockets.keep_silent(environ["werkzeug.socket"], fault.seconds)
        if reply is None or (fault is not None and fault.kind == "lost"):
            raise sockets.reset(environ["werkzeug.socket"])
        return _send(reply, start_response)

    def _shown(self, call: Call, body: bytes, answered: Callable[[], Reply]) -> Reply:
        """What a caller sees of an answer: a read may be late."""
        lag, name = self.state.lag, (call.service, call.action)
        if call.mutating:
            reply = answered()
            with self._lock:
                lag.changed(call.service, reply.body)
            return reply
        with self._lock:
            missing = lag.missing(*name, body)
        if missing:
            code, number = missing
            return complaint(call, AwsError(code, f"The ID '{number}' does not exist"))
        reply = answered()
        key = (*name, call.region_name, call.path, body)
        with self._lock:
            return reply if reply.error else lag.answer(*name, key, reply)

    def warm_up(self) -> None:
        """Load what the first calls need, so that they are not slow: a region's images, IAM's
        managed policies."""
        with self._lock:
            for region in ("us-east-1", "us-west-2"):
                network.backend(region).describe_availability_zones()
            len(iam_backends[ACCOUNT]["aws"].managed_policies)

    def _steered(self, request: Request) -> Reply:
        if not control_secret.is_right(self._folder, request.headers.get("Authorization", "")):
            return Reply(401, {"Content-Type": "application/json"}, control_secret.REFUSAL)
        with self._lock:
            return control.answer(self.state, self.authentication, request)

    def _refused(self, request: Request, body: bytes) -> Reply | None:
        call = addressed(self.state, request)
        try:
            with self._lock:
                self.authentication.require(
                    self.state, request, body, "s3" if call.service == "s3" else call.protocol
                )
        except AwsError as error:
            return complaint(call, error)
        return None

    def _understood(self, request: Request) -> tuple[Call, Reply | None]:
        try:
            return understood(self.state, request), None
        except AwsError as error:
            call = Call(self.state, "unknown", "Unknown", "us-east-1", {})
            return call, complaint(call, error)

    def _fault(self, call: Call) -> Fault | None:
        with self._lock:
            return self.state.faults.striking(call.service, call.action, call.mutating)

    def _answered(self, call: Call, environ: dict[str, Any]) -> Reply:
        with self._lock:
            try:
                self.state.timeline.catch_up()
                if call.dry_run:
                    raise AwsError(
                        "DryRunOperation",
                        "Request would have succeeded, but DryRun flag is set.",
                        412,
                    )
                answer = services.ANSWERS.get(call.service, {}).get(call.action)
                if answer is not None:
                    return written(call, answer(call))
                around = services.AROUND.get(call.service, {}).get(call.action)
                environ["wsgi.input"].seek(0)
                if around is not None:

                    def moto(more: str = "") -> Reply:
                        return self._from_moto(call, _with_more(environ, more))

                    return around(call, moto)
                return self._from_moto(call, environ)
            except AwsError as error:
                return complaint(call, error)
            except ServiceException as error:
                return complaint(call, AwsError(error.code, error.message))
            except (
                HTTPException
            ) as error:  # what moto's backends raise where they are asked directly
                code = getattr(error, "error_type", "InvalidParameterValue")
                return complaint(
                    call, AwsError(code, getattr(error, "message", str(error)), error.code or 400)
                )
            # a defect of ours or moto's must not look like a server to retry
            except Exception as error:
                traceback.print_exc()
                what = f"{call.service}:{call.action} ({type(error).__name__}: {error})"
                said = f"the sandbox fell over {what}; its log has more"
                return complaint(call, AwsError("SandboxDefect", said, NOT_IMPLEMENTED))

    def _from_moto(self, call: Call, environ: dict[str, Any]) -> Reply:
        if call.action == "Unknown" or call.service in services.NOT_FROM_MOTO:
            raise _not_implemented(call)
        try:
            parts, status, headers = run_wsgi_app(self._moto, environ, buffered=True)
        except (
            NotImplementedError,
            ModuleNotFoundError,
        ) as error:  # the second: wants packages we do not ask for
            raise _not_implemented(call) from error
        body = b"".join(parts)
        code = int(status.split()[0])
        if _is_a_web_page(call, code, body):
            raise _not_implemented(call)
        reply = {
            name: value
            for name, value in headers.items()
            if name.lower() not in ("date", "server", "connection")
        }
        return Reply(code, reply, body, _error_code(reply, body) if code >= 400 else None)

    def _record(
        self, call: Call, reply: Reply | None, fault: Fault | None, began: float, agent: str
    ) -> None:
        answer = None if reply is None else reply.status
        error = None if reply is None else reply.error
        with self._lock:
            self.state.calls.append(
                CallRecord(
                    self.state.number(),
                    time.time(),
                    call.service,
                    call.action,
                    call.permission,
                    call.region_name,
                    call.mutating,
                    answer,
                    error,
                    fault.kind if fault else None,
                    round((time.perf_counter() - began) * 1000, 1),
                    agent,
                    about(call),
                )
            )


# Where the status tells, not only the code: a HEAD of S3 has no body to say it in, and a bare 400
# is not to be repeated.
_THROTTLED = {"ec2": ("RequestLimitExceeded", 503), "s3": ("SlowDown", 503)}


def _refusal(call: Call, fault: Fault) -> Reply:
    if fault.kind == "throttle":
        code, status = _THROTTLED.get(call.service, ("ThrottlingException", 400))
        return complaint(
            call, AwsError(fault.code or code, fault.message or "Rate exceeded", status)
        )
    if fault.kind == "deny":
        code = "UnauthorizedOperation" if call.service == "ec2" else "AccessDeniedException"
        said = fault.message or f"You are not authorized to perform: {call.permission}"
        return complaint(call, AwsError(fault.code or code, said, 403))
    if fault.status == HTTPStatus.BAD_GATEWAY:
        return Reply(
            502,
            {"Content-Type": "text/html"},
            b"<html><body>Bad Gateway</body></html>",
            "BadGateway",
        )
    code = fault.code or {503: "ServiceUnavailable"}.get(fault.status, "InternalFailure")
    return complaint(
        call, AwsError(code, fault.message or "An internal error has occurred", fault.status)
    )


def _not_implemented(call: Call) -> AwsError:
    said = f"the sandbox does not do {call.service}:{call.action}; see docs/sandbox.md"
    return AwsError("NotImplemented", said, NOT_IMPLEMENTED)


def _is_a_web_page(call: Call, code: int, body: bytes) -> bool:
    """Whether moto answered as a web server does, not as AWS does: it does not know the call, or
    fell over it."""
    if code == HTTPStatus.INTERNAL_SERVER_ERROR:
        return b"<html" in body.lower() or body.strip() == b"Internal Server Error"
    return code == HTTPStatus.NOT_FOUND and call.service != "s3" and b"<html" in body.lower()


def _error_code(headers: dict[str, str], body: bytes) -> str:
    for name, value in headers.items():
        if name.lower() == "x-amzn-errortype":
            return value
    text = body.decode(errors="replace")
    for start, end in (("<Code>", "</Code>"), ('"__type": "', '"')):
        if start in text:
            return text.split(start, 1)[1].split(end, 1)[0].rpartition("#")[2]
    return "Unknown"


def _read_body(environ: dict[str, Any]) -> bytes:
    """Take the body in whole, so that it can be read by us and by moto again."""
    stream, length = environ["wsgi.input"], environ.get("CONTENT_LENGTH")
    chunked = environ.pop("HTTP_TRANSFER_ENCODING", "").lower() == "chunked"
    body = stream.read() if chunked else stream.read(int(length or 0))
    environ.update({"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))})
    return bytes(body)


def _with_more(environ: dict[str, Any], more: str) -> dict[str, Any]:
    """A request whose form has some more fields."""
    if not more:
        return environ
    body = environ["wsgi.input"].read() + b"&" + more.encode()
    return {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}


def _send(reply: Reply, start_response: StartResponse) -> Iterable[bytes]:
    headers = {
        **reply.headers,
        "Content-Length": reply.headers.get("Content-Length", str(len(reply.body))),
    }
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unknown"
    start_response(f"{reply.status} {phrase}", list(headers.items()))
    return [reply.body]
