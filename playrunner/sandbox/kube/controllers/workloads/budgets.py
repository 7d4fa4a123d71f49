"""Disruption budgets: how many of their pods may be evicted now."""

from __future__ import annotations

import math
from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.pods import is_active, is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    BUDGETS,
    PODS,
    Key,
    Object,
    key_of,
)
from playrunner.sandbox.kube.wire.selectors import by_selector


class BudgetController(Controller):
    name = "budgets"

    def watches(self) -> Iterable[Watch]:
        return ((BUDGETS, by_itself), (PODS, self._over))

    def _over(self, pod: Object) -> Iterable[Key]:
        return [key_of(one) for one in self.context.see(BUDGETS).all(pod["metadata"]["namespace"])]

    def reconcile(self, key: Key) -> float | None:
        budget = self.context.see(BUDGETS).get(*key)
        if budget is None:
            return None
        chosen = by_selector(budget["spec"].get("selector"))
        pods = [pod for pod in self.context.see(PODS).all(key[0]) if chosen(pod) and is_active(pod)]
        healthy = sum(map(is_ready, pods))
        if budget["spec"].get("minAvailable") is not None:
            needed = _amount(budget["spec"]["minAvailable"], len(pods))
        else:
            needed = len(pods) - _amount(budget["spec"].get("maxUnavailable", 0), len(pods))
        self.context.patch_status(
            BUDGETS,
            budget,
            {
                "expectedPods": len(pods),
                "currentHealthy": healthy,
                "desiredHealthy": max(0, needed),
                "disruptionsAllowed": max(0, healthy - needed),
                "observedGeneration": budget["metadata"].get("generation", 1),
            },
        )
        return None


def _amount(amount: int | str, whole: int) -> int:
    return amount if isinstance(amount, int) else math.ceil(int(amount.rstrip("%")) * whole / 100)
