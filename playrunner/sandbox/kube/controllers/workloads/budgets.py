"""Disruption budgets: how many of their pods may be taken away now, which evictions ask for."""

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
        return [key_of(one) for one in self.world.see(BUDGETS).all(pod["metadata"]["namespace"])]

    def reconcile(self, key: Key) -> float | None:
        one = self.world.see(BUDGETS).get(*key)
        if one is None:
            return None
        chosen = by_selector(one["spec"].get("selector"))
        pods = [pod for pod in self.world.see(PODS).all(key[0]) if chosen(pod) and is_active(pod)]
        healthy = sum(map(is_ready, pods))
        if one["spec"].get("minAvailable") is not None:
            needed = _amount(one["spec"]["minAvailable"], len(pods))
        else:
            needed = len(pods) - _amount(one["spec"].get("maxUnavailable", 0), len(pods))
        self.world.patch_status(BUDGETS, one, {
            "expectedPods": len(pods), "currentHealthy": healthy, "desiredHealthy": max(0, needed),
            "disruptionsAllowed": max(0, healthy - needed), "observedGeneration": one["metadata"].get("generation", 1),
        })  # fmt: skip
        return None


def _amount(wish: int | str, whole: int) -> int:
    return wish if isinstance(wish, int) else math.ceil(int(wish.rstrip("%")) * whole / 100)
