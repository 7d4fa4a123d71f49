"""Reconcile a resource in a cloud with its declaration, and wait until it is as declared.

Clouds answer late, twice or never, and what they show may be minutes old. So a creation that was
answered is believed, and looked for until it shows; a call whose answer is lost, or that says the
resource exists already, is followed by looking for a while; only what still differs then is applied
again.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from playrunner.cloud.resource import CloudModule, Refused, ResourceContext, Unanswered
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State

# Seconds between looks: a twentieth of the time waited so far, within these limits.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
# How long a resource may take to show: one whose creation was answered, or that was seen before;
# one that may have been asked for, when asking again would make a second one, or would be refused;
# and a change of one that is there.
ANSWERED_SECONDS, LOST_SECONDS, REFUSED_SECONDS, CHANGED_SECONDS = 300.0, 60.0, 2.0, 20.0
# Lost answers, and zones without capacity to fall over to; what differs after so many attempts
# stays so.
MAX_ATTEMPTS = 16


class StillInUse(Failed):
    """Another resource uses the one to delete, and keeps using it."""


class Use(Protocol):
    """What is made of each request to delete a resource that others may use."""

    def accepted(self) -> None: ...

    def refused(self) -> bool:
        """Others use it; whether to wait no longer."""


def reconcile(module: CloudModule, ctx: ResourceContext) -> dict[str, Any]:
    """Create or update the resource and wait until it is as declared; under `ctx.check` only
    observe it."""
    return _Reconciliation(module, ctx).create_or_update()


def delete_and_wait(
    module: CloudModule,
    ctx: ResourceContext,
    use: Use | None = None,
    surveyed_state: State | None = None,
) -> dict[str, Any]:
    """Delete the resource and wait until it is gone; a resource without our tag is kept.

    `use`: how long other resources may still use it; by default as long as the deletion may take.
    `surveyed_state`: what a survey saw of it a moment ago, which counts when it does not
    show now.
    """
    return _Reconciliation(module, ctx, use).delete(surveyed_state)


class _Reconciliation:
    """One resource on its way to the declared state, or to deletion."""

    def __init__(self, module: CloudModule, ctx: ResourceContext, use: Use | None = None) -> None:
        self.module, self.ctx, self.use = module, ctx, use
        self.started = self.looked = time.monotonic()
        self.blocked_by = ""  # what kept the last attempt from deleting it
        self.exists_already = False  # a creation was refused because of that
        self.believed_until = 0.0  # until then a resource that does not show is there all the same
        ctx.applied.clear()

    def create_or_update(self) -> dict[str, Any]:
        module, ctx = self.module, self.ctx
        first: Change | None = None
        observed = self._wait_until_stable(self._first_look())
        while True:
            self._refuse_foreign(observed)
            change = self._change(observed)
            if observed is not None and not change and not ctx.check:
                observed = module.wait_until_ready(ctx, observed, len(ctx.applied))
                change = Change(change.before, change.after, observed)
            reason = module.broken(observed) if observed else None
            if not change and not reason:
                return self._result(first or change, observed)
            first = first or change
            if ctx.check:
                return {**self._result(first, observed), "changed": True}
            if reason and not module.again(ctx, observed or {}):
                raise Failed(reason)
            attempts = len(ctx.applied)
            if attempts >= MAX_ATTEMPTS:
                raise Failed(
                    reason
                    or f"still not as declared after {attempts} attempts: {_differing(change)}"
                )
            if module.leased and ctx.claim(self.looked):
                # Another run may have changed it before this one got the lease
                self.looked = time.monotonic()
                ctx.refresh()
                first, observed = None, self._wait_until_stable(self._first_look())
                continue
            answered = self._apply(change)
            if self.blocked_by:
                self._sleep(self.blocked_by)
            # What does not show after the second time hardly shows after a longer wait.
            patient = answered and attempts < 2
            observed = self._wait_until_visible(
                change, CHANGED_SECONDS if patient else REFUSED_SECONDS
            )

    def delete(self, surveyed_state: State | None = None) -> dict[str, Any]:
        module, ctx = self.module, self.ctx
        observed = module.observe(ctx)
        if observed is None and module.can_double:
            observed = surveyed_state
        if observed is None:
            return {"changed": False}
        if not module.ours(ctx, observed):
            return {
                "changed": False,
                "foreign": True,
                "msg": f"{module.label(observed)} {module.whose(ctx, observed)}: kept",
            }
        first = Change.between(observed, None)
        if ctx.check:
            return self._result(first, observed)
        requested = False
        while observed is not None:
            if not requested or not module.moving(observed):
                requested = self._apply(Change.between(observed, None))
            self._sleep(module.moving(observed) or self.blocked_by or "deleting")
            observed = module.observe(ctx)
        return self._result(first, None)

    def _change(self, observed: State | None) -> Change:
        return Change.between(observed, self.module.desired(self.ctx, observed))

    def _refuse_foreign(self, observed: State | None) -> None:
        if observed is not None and not self.module.ours(self.ctx, observed):
            raise Failed(
                f"{self.module.label(observed) or 'it'} already exists but"
                f" {self.module.whose(self.ctx, observed)}; choose another name or delete it"
            )

    def _apply(self, change: Change) -> bool:
        """Ask for the change; False when it may not have been accepted, so that it may have to be
        asked for again."""
        self.blocked_by = ""
        self.ctx.applied.append(change)
        try:
            self.module.apply(self.ctx, change)
        except Unanswered:
            self.ctx.progress("no answer; checking what was done")
            lost = LOST_SECONDS if self.module.can_double else REFUSED_SECONDS
            self._believe(lost if change.creates else self._known_seconds())
            return False
        except Refused as refusal:
            if change.removes and refusal.in_use:
                if self.use and self.use.refused():
                    raise StillInUse(f"still in use: {refusal}") from None
                self.blocked_by = f"still in use: {refusal}"
                return False
            done = refusal.not_found if change.removes else refusal.already
            # What is there already and does not show is not ours.
            if not done or (change.creates and self.exists_already):
                raise
            self.exists_already = True
            self._believe(LOST_SECONDS if change.creates else self._known_seconds())
            return True
        if self.use:
            self.use.accepted()
        self._believe(ANSWERED_SECONDS if change.creates else self._known_seconds())
        return True

    def _known_seconds(self) -> float:
        """How long a resource that was seen is believed to be there after an update, unless the
        update deleted it, to create it again."""
        last = self.ctx.last_change
        return ANSWERED_SECONDS if last and not last.startswith("delete_") else 0.0

    def _believe(self, seconds: float) -> None:
        self.believed_until = time.monotonic() + seconds if seconds else 0.0

    def _first_look(self) -> State | None:
        """The resource, which may not show yet when an earlier run asked for it moments ago."""
        observed = self.module.observe(self.ctx)
        if observed is not None or self.ctx.check or not self.module.can_double:
            return observed
        asked = self.ctx.created_at()
        if asked is not None:
            self._believe(max(0.0, asked + LOST_SECONDS - time.time()))
            observed = self._look()
        return observed

    def _look(self) -> State | None:
        """The resource; while it is believed to be there, only an answer that shows it counts,
        unless its absence is as declared (an image that is kept in the registry alone)."""
        observed = self.module.observe(self.ctx)
        while (
            observed is None
            and time.monotonic() < self.believed_until
            and self.module.desired(self.ctx, None) is not None
        ):
            self._sleep("waiting until it shows")
            observed = self.module.observe(self.ctx)
        return observed

    def _wait_until_visible(self, change: Change, seconds: float) -> State | None:
        """The resource once some of the change shows and it is stable; a new one may not show at
        once."""
        observed = self._wait_until_stable(self._look())
        if observed is not None and change.creates:
            self._believe(ANSWERED_SECONDS)  # it may be gone again in the next answer
        deadline = time.monotonic() + seconds
        while (
            self._change(observed).same_as(change)
            and time.monotonic() < deadline
            and not (observed and self.module.broken(observed))
        ):
            self._sleep("waiting until the change is visible")
            observed = self._wait_until_stable(self._look())
        return observed

    def _wait_until_stable(self, observed: State | None) -> State | None:
        """The resource once the service has finished working on it."""
        while observed is not None and not self.ctx.check:
            doing = self.module.moving(observed)
            if not doing:
                break
            self._sleep(doing)
            observed = self._look()
        return observed

    def _sleep(self, reason: str) -> None:
        waited = time.monotonic() - self.started
        limit = self.module.settle_seconds
        if waited > limit:
            raise Failed(f"not settled within {limit:g} seconds: {reason}")
        self.ctx.progress(reason)
        self.ctx.sleep(min(max(FIRST_PAUSE, waited / 20), LONGEST_PAUSE))
        self.ctx.refresh()

    def _result(self, change: Change, observed: State | None) -> dict[str, Any]:
        result: dict[str, Any] = {**(observed or {}), "changed": bool(change)}
        if change:
            result["diff"] = {"before": change.before, "after": change.after}
        return result


def _differing(change: Change) -> str:
    before, after = change.before or {}, change.after or {}
    names = [name for name in after if before.get(name) != after[name]]
    return ", ".join(names) or "it does not exist"
