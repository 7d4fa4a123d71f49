"""`/_sandbox/...` of the pretend AWS: what every cloud has, the price table, and the nodes of its clusters."""

from __future__ import annotations

from moto.core.request import Request

from sandbox import control
from sandbox.aws import eks_machines, prices
from sandbox.aws.wire import Reply
from sandbox.aws.world import World

_MORE: dict[tuple[str, str], control.Handler] = {
    ("GET", "prices"): lambda world, wish, query: prices.table(),
    ("GET", "nodes"): lambda world, wish, query: eks_machines.listing(world),
}


def answer(world: World, request: Request) -> Reply:
    """Answer one request to the control API."""
    status, body = control.answer(world, request.method, request.path, request.args, request.get_data(), _MORE)
    return Reply(status, {"Content-Type": "application/json"}, body)
