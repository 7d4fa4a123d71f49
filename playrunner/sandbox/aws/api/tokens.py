"""Client tokens: the same request sent twice is done once, and a token reused for another request
is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply

TOKEN_NAMES = ("ClientToken", "ClientRequestToken", "clientRequestToken")

Answer = TypeVar("Answer")


def once(call: Call, token: str | None, do: Callable[[], Answer]) -> Answer:
    """Do it, or give the answer of the time it was done with this token."""
    if not token:
        return do()
    asked = {name: value for name, value in call.params.items() if name not in TOKEN_NAMES}
    earlier = call.region.tokens.get((f"{call.service}:{call.action}", token))
    if earlier is None:
        answer = do()
        call.region.tokens[f"{call.service}:{call.action}", token] = (asked, answer)
        return answer
    if earlier[0] != asked:
        raise _mismatch(call)
    return earlier[1]  # type: ignore[no-any-return]


def forget(call: Call, thing: Any) -> None:
    """The token of a thing that is gone may be used again."""
    for key, (_, answer) in list(call.region.tokens.items()):
        if isinstance(answer, dict) and any(part is thing for part in answer.values()):
            del call.region.tokens[key]


def _mismatch(call: Call) -> AwsError:
    message = "The client token was already used by a request with other parameters"
    if call.service == "eks":
        return AwsError("InvalidParameterException", message)
    return AwsError(
        "IncompatibleParameterError" if call.service == "fsx" else "IdempotentParameterMismatch",
        message,
    )


def keep_token(call: Call, moto: Callable[[], Reply]) -> Reply:
    """For calls of EC2 whose token moto does not look at."""

    def ask() -> Reply:
        reply = moto()
        if reply.error:
            raise _Refused(reply)
        return reply

    try:
        return once(call, call.params.get("ClientToken"), ask)
    except _Refused as refused:  # what failed is not remembered
        return refused.reply


class _Refused(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.error)
        self.reply = reply


AROUND = dict.fromkeys(
    (
        "CreateLaunchTemplate",
        "CreateLaunchTemplateVersion",
        "CreateNetworkInterface",
        "CreateRouteTable",
        "CreateVpcEndpoint",
    ),
    keep_token,
)
