"""What an agent does with a request: its module, made of the arguments, is performed.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import sys

from playrunner.hostside.module import Action, Failed
from playrunner.hostside.perform import perform, restore
from playrunner.hostside.step_settings import Timeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def result_of(request: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """What the module returns, or how it failed."""
    module = getattr(sys.modules[request["module"]], request["class"])(**request["args"])
    if isinstance(module, Action):  # not repeated where the connection is lost before its answer
        ctx.wire.hold_nothing()
    try:
        with Timeout(request.get("timeout"), ctx.wire):
            if "restore" in request:
                return restore(module, request["restore"], ctx)
            return perform(module, ctx)
    except Failed as failure:
        return {"failed": True, "changed": False, "msg": str(failure), **failure.values}
    # A broad catch: an exception of a module fails this step, not the agent
    except Exception as error:
        import traceback

        return {
            "failed": True,
            "changed": False,
            "msg": _explain(error),
            "exception": traceback.format_exc(),
        }


def _explain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
