"""Settling: bring a thing in a cloud to a target, and look until it is there.

Clouds answer late, twice or never. So nothing is believed but what is seen: a call whose answer is
lost, or that says the thing exists already, is followed by another look; only what still differs
then is applied again.
"""

from __future__ import annotations

import time
from typing import Any

from playrunner.cloud.resource import CloudModule, Refused, Unanswered
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State

FIRST_PAUSE, LONGEST_PAUSE = (
    0.1,
    10.0,
)  # seconds between looks; a tenth of what was waited so far, within these
SURE_SECONDS = 2.0  # what was asked for without an answer may take this long to be seen
# Lost answers, and zones without capacity to fall over to; what differs after so many attempts
# stays so
MOST_APPLIED = 16


def settle(module: CloudModule, ctx: Any) -> dict[str, Any]:
    """The declared state; under `ctx.check` it only looks."""
    return _Settling(module, ctx).to_declared()


class StillInUse(Failed):
    """Something else uses what should go, and does not let go of it."""


def dissolve(module: CloudModule, ctx: Any, in_use_seconds: float | None = None) -> dict[str, Any]:
    """Take the thing away and wait until it is gone; what is not ours stays.

    `in_use_seconds`: how long others may still use it; by default as long as it may take to go.
    """
    return _Settling(module, ctx, in_use_seconds).to_nothing()


class _Settling:
    """One thing on its way."""

    def __init__(self, module: CloudModule, ctx: Any, in_use_seconds: float | None = None) -> None:
        self.module, self.ctx, self.in_use_seconds = module, ctx, in_use_seconds
        self.started = time.monotonic()
        self.held = ""  # what keeps it from going, as the last attempt was told

    def to_declared(self) -> dict[str, Any]:
        module, ctx = self.module, self.ctx
        first: Change | None = None
        applied = 0
        found = self._still(module.observe(ctx))
        while True:
            self._refuse_foreign(found)
            change, reason = self._change(found), module.broken(found) if found else None
            if not change and not reason:
                return self._result(first or change, found)
            first = first or change
            if ctx.check:
                return {**self._result(first, found), "changed": True}
            if reason and not module.again(ctx, found or {}):
                raise Failed(reason)
            if applied >= MOST_APPLIED:
                raise Failed(
                    reason
                    or f"still not as declared after {applied} attempts: {_differing(change)}"
                )
            applied += 1
            self._apply(change)
            if self.held:
                self._rest(self.held)
            found = self._until_seen(change)

    def to_nothing(self) -> dict[str, Any]:
        module, ctx = self.module, self.ctx
        found = module.observe(ctx)
        if found is None:
            return {"changed": False}
        if not module.ours(ctx, found):
            return {
                "changed": False,
                "foreign": True,
                "msg": f"{module.label(found)} does not carry our mark: left alone",
            }
        first = Change.between(found, None)
        if ctx.check:
            return self._result(first, found)
        asked = False
        while found is not None:
            if not asked or not module.moving(found):
                asked = self._apply(Change.between(found, None))
            self._rest(module.moving(found) or self.held or "going")
            found = module.observe(ctx)
        return self._result(first, None)

    def _change(self, found: State | None) -> Change:
        return Change.between(found, self.module.desired(self.ctx, found))

    def _refuse_foreign(self, found: State | None) -> None:
        if found is not None and not self.module.ours(self.ctx, found):
            raise Failed(
                f"{self.module.label(found) or 'it'} exists and does not carry the mark of"
                f' "{self.ctx.owner.cluster}"; give ours another name, or remove the other one'
            )

    def _apply(self, change: Change) -> bool:
        """Ask for it; False when it is not known to be under way, so that the asking may have to be
        repeated."""
        self.held = ""
        try:
            self.module.apply(self.ctx, change)
        except Unanswered:
            self.ctx.progress("no answer came; looking what was done")
            return False
        except Refused as refusal:
            if change.removes and refusal.in_use:
                if (
                    self.in_use_seconds is not None
                    and time.monotonic() - self.started > self.in_use_seconds
                ):
                    raise StillInUse(f"still in use: {refusal}") from None
                self.held = f"still in use: {refusal}"
                return False
            if not ((change.creates and refusal.already) or (change.removes and refusal.not_found)):
                raise
        return True

    def _until_seen(self, asked: Change) -> State | None:
        """The thing once something of what was asked for shows, and it stands still; what was just
        made may not show at once."""
        found = self._still(self.module.observe(self.ctx))
        sure = time.monotonic() + SURE_SECONDS
        while (
            self._change(found).same_as(asked)
            and time.monotonic() < sure
            and not (found and self.module.broken(found))
        ):
            self._rest("waiting until it is seen")
            found = self._still(self.module.observe(self.ctx))
        return found

    def _still(self, found: State | None) -> State | None:
        """What it is once the service is done with it."""
        while found is not None and not self.ctx.check:
            doing = self.module.moving(found)
            if not doing:
                break
            self._rest(doing)
            found = self.module.observe(self.ctx)
        return found

    def _rest(self, why: str) -> None:
        waited = time.monotonic() - self.started
        limit = self.module.settle_seconds
        if waited > limit:
            raise Failed(f"not settled within {limit:g} seconds: {why}")
        self.ctx.progress(why)
        self.ctx.sleep(min(max(FIRST_PAUSE, waited / 10), LONGEST_PAUSE))
        self.ctx.refresh()

    def _result(self, change: Change, found: State | None) -> dict[str, Any]:
        result: dict[str, Any] = {**(found or {}), "changed": bool(change)}
        if change:
            result["diff"] = {"before": change.before, "after": change.after}
        return result


def _differing(change: Change) -> str:
    before, after = change.before or {}, change.after or {}
    return ", ".join(name for name in after if before.get(name) != after[name]) or "it is not there"
