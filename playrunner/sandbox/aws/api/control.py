"""`/_sandbox/...` of the pretend AWS: what every cloud has, the price table, the nodes of its
clusters and whether a token opens one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moto.core.request import Request

from playrunner.sandbox.aws.api.authentication import Authentication
from playrunner.sandbox.aws.api.aws_state import AwsState
from playrunner.sandbox.aws.api.wire import Reply
from playrunner.sandbox.aws.eks import machines
from playrunner.sandbox.aws.other import prices
from playrunner.sandbox.http import control

_MORE: dict[tuple[str, str], control.Handler] = {
    ("GET", "prices"): lambda state, body, query: prices.table(),
    ("GET", "nodes"): lambda state, body, query: machines.listing(state),
}


def answer(state: AwsState, authentication: Authentication, request: Request) -> Reply:
    """Answer one request to the control API."""

    def review(state: AwsState, body: Any, query: Mapping[str, str]) -> Any:
        clusters = machines.listing(state)["clusters"]
        return {"cluster": authentication.owner_of(state, str(body["token"]), clusters)}

    more = {**_MORE, ("POST", "token-reviews"): review}
    status, body = control.answer(
        state, request.method, request.path, request.args, request.get_data(), more
    )
    return Reply(status, {"Content-Type": "application/json"}, body)
