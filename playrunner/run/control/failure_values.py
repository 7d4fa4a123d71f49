"""The result of a step that an error on the way to its host ended."""

from __future__ import annotations

from typing import Any

from playrunner.errors import BadArgument, HostUnreachable, NoInterpreter, PlayrunnerError


def failure_values(error: PlayrunnerError) -> dict[str, Any]:
    if isinstance(error, HostUnreachable):
        return {"unreachable": True, "changed": False, "msg": str(error)}
    values: dict[str, Any] = {"failed": True, "changed": False, "msg": str(error)}
    if isinstance(error, BadArgument):
        values["msg"] = error.result
    elif isinstance(error, NoInterpreter):
        values |= {"msg": error.result, "warnings": [str(error)]}
    return values
