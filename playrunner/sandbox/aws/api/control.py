"""`/_sandbox/...` of the pretend AWS: what every cloud has, the price table, the nodes of its
clusters and whether a token opens one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moto.core.request import Request

from playrunner.sandbox.aws.api.authentication import Authentication
from playrunner.sandbox.aws.api.wire import Reply
from playrunner.sandbox.aws.api.world import World
from playrunner.sandbox.aws.eks import machines
from playrunner.sandbox.aws.other import prices
from playrunner.sandbox.http import control

_MORE: dict[tuple[str, str], control.Handler] = {
    ("GET", "prices"): lambda world, wish, query: prices.table(),
    ("GET", "nodes"): lambda world, wish, query: machines.listing(world),
}


def answer(world: World, authentication: Authentication, request: Request) -> Reply:
    """Answer one request to the control API."""

    def review(world: World, wish: Any, query: Mapping[str, str]) -> Any:
        clusters = machines.listing(world)["clusters"]
        return {"cluster": authentication.owner_of(world, str(wish["token"]), clusters)}

    more = {**_MORE, ("POST", "token-reviews"): review}
    status, body = control.answer(
        world, request.method, request.path, request.args, request.get_data(), more
    )
    return Reply(status, {"Content-Type": "application/json"}, body)
