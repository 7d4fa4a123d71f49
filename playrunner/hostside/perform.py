"""perform: observe a resource, compare it with its desired state, change it if they differ.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

from playrunner.hostside.module import Action, Module, Probe
from playrunner.hostside.state import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.state import State

    Result = dict[str, Any]


def perform(module: Module, ctx: Any) -> Result:
    """Run one step on one host; under `ctx.check` it changes nothing."""
    if isinstance(module, Probe):
        return {"changed": False, **module.look(ctx)}
    if isinstance(module, Action):
        return _act(module, ctx)
    found = module.observe(ctx)
    return bring_to(module, Change.between(found, module.desired(ctx, found)), ctx)


def bring_to(module: Module, change: Change, ctx: Any) -> Result:
    result: Result = {"changed": bool(change)}
    if change:
        result["diff"] = {"before": change.before, "after": change.after}
        if not ctx.check:
            module.apply(ctx, change)
    result.update(module.returns(ctx, change))
    return result


def restore(module: Module, before: State | None, ctx: Any) -> Result:
    """Return to an earlier state, with the same method that made the change."""
    return bring_to(module, Change.between(module.observe(ctx), before), ctx)


def _act(module: Action, ctx: Any) -> Result:
    nothing_to_do = module.guard(ctx)
    if nothing_to_do is not None:
        return {"changed": False, **nothing_to_do}
    if ctx.check:
        message = "Command would have run if not in check mode"
        if module.foreseeable:
            return {"changed": True, "msg": message}
        return {"changed": False, "unknown": True, "skipped": True, "msg": message}
    return {"changed": True, **module.act(ctx)}
