"""LAMB: Adam's step for each tensor, stretched to that tensor's own size, which keeps very large
batches steady."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Lamb(torch.optim.Optimizer):
    """A group with `adapted` false (biases and norms, whose size says little) takes plain Adam
    steps.

    Tensors may be in pieces over ranks (fsdp): everything but the two norms works on a rank's own
    piece, and the norms of all tensors travel in one sum.
    """

    def __init__(
        self, groups: list[dict[str, Any]], lr: float, betas: tuple[float, float], eps: float
    ) -> None:
        super().__init__(
            groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0, "adapted": True}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        for group in self.param_groups:
            given = [each for each in group["params"] if each.grad is not None]
            if given:
                self._move(group, given)
        return None

    def room(self, parameter: Any) -> dict[str, Any]:
        """A parameter's state before its first step."""
        return {
            "step": torch.zeros(()),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }

    def _move(self, group: dict[str, Any], given: list[Any]) -> None:
        for each in given:
            self.state[each] = self.state[each] or self.room(each)
            self.state[each]["step"] += 1
        parameters = [_local(each) for each in given]
        updates = self._adam(group, given, [_local(each.grad) for each in given])
        if group["weight_decay"]:
            torch._foreach_add_(updates, parameters, alpha=group["weight_decay"])
        if group["adapted"]:
            torch._foreach_mul_(updates, _trust(given[0], parameters, updates))
        torch._foreach_add_(parameters, updates, alpha=-group["lr"])

    def _adam(
        self, group: dict[str, Any], given: list[Any], gradients: list[Tensor]
    ) -> list[Tensor]:
        states = [self.state[each] for each in given]
        means, squares = (
            [_local(state[name]) for state in states] for name in ("exp_avg", "exp_avg_sq")
        )
        first, second = group["betas"]
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - second)
        step = float(states[0]["step"])
        # Both averages start at zero; these undo the pull towards it.
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, math.sqrt(1 - second**step))
        torch._foreach_add_(roots, group["eps"])
        updates = torch._foreach_div(means, roots)
        torch._foreach_div_(updates, 1 - first**step)
        return list(updates)


def _trust(sharded: Any, parameters: list[Tensor], updates: list[Tensor]) -> list[Tensor]:
    """Each tensor's norm over its update's; 1 where either is nothing."""
    squares = torch.stack(
        [*torch._foreach_norm(parameters), *torch._foreach_norm(updates)]
    ).square()
    for dimension, placement in enumerate(getattr(sharded, "placements", ())):
        if placement.is_shard():
            torch.distributed.all_reduce(squares, group=sharded.device_mesh.get_group(dimension))
    sizes, moves = squares.sqrt().chunk(2)
    return list(torch.where((sizes > 0) & (moves > 0), sizes / moves, 1.0).unbind())


def _local(value: Any) -> Tensor:
    return value.to_local() if hasattr(value, "to_local") else value  # type: ignore[no-any-return]
