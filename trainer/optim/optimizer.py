"""The optimizer, over the parameters themselves or over fp32 master copies of bf16 ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trainer.config import Train


class Weights:
    """What the optimizer moves, by name: the trainable parameters, or fp32 masters of them."""

    def __init__(self, model: Any, train: Train, world_size: int = 1) -> None:
        self.parameters = {
            name: each for name, each in model.named_parameters() if each.requires_grad
        }
        self.masters: dict[str, Any] = dict(self.parameters)
        self.mastered = train.precision == "bf16-master"
        # One micro-batch on one rank: its bf16 gradients are all there is, and need no wider sum.
        self.sums = self.mastered and (world_size > 1 or train.batch_size > train.device_batch_size)
        self.empty = True
        self.table: Any = None  # of the sums' addresses, on a GPU
        if self.mastered:
            self.masters = {name: each.detach().float() for name, each in self.parameters.items()}
            model.to(torch.bfloat16)
            for module in model.modules():
                if hasattr(module, "restore_buffers"):
                    module.restore_buffers()

    def collect(self) -> None:
        """Add the bf16 gradients of a micro-batch to fp32 sums."""
        if not self.sums:
            return
        sources = [each.grad for each in self.parameters.values() if each.grad is not None]
        if self.empty:
            for master in self.masters.values():
                master.grad = torch.empty_like(master) if master.grad is None else master.grad
        self._add(sources)
        self.empty = False
        for each in self.parameters.values():
            each.grad = None

    def _add(self, sources: list[Any]) -> None:
        totals = self.gradients()
        if not totals[0].is_cuda:
            (torch._foreach_copy_ if self.empty else torch._foreach_add_)(totals, sources)
            return
        if self.table is None:
            from trainer.optim.kernels import SumTable

            self.table = SumTable(totals)
        self.table.add(sources, self.empty)

    def gradients(self) -> list[Tensor]:
        holders = self.masters if self.sums or not self.mastered else self.parameters
        return [each.grad for each in holders.values() if each.grad is not None]

    def forget_gradients(self) -> None:
        self.empty = True
        for each in self.parameters.values():
            each.grad = None

    def publish(self) -> None:
        """Give the masters' values to the bf16 parameters."""
        if self.mastered:
            with torch.no_grad():
                torch._foreach_copy_(list(self.parameters.values()), list(self.masters.values()))


def make_optimizer(weights: Weights, train: Train, device: torch.device) -> torch.optim.Optimizer:
    settings = train.optimizer
    groups = decay_groups(weights.masters, settings.weight_decay)
    if settings.name == "sgd":
        return torch.optim.SGD(groups, lr=settings.lr, momentum=settings.momentum)
    if settings.name == "lamb":
        from trainer.optim.lamb import Lamb

        exempt = {id(each) for name, each in weights.masters.items() if _is_exempt(name)}
        adapted = [{**group, "adapted": id(group["params"][0]) not in exempt} for group in groups]
        return Lamb(adapted, settings.lr, settings.betas, settings.eps)
    if weights.mastered:
        return MasterAdamW(weights, groups, train)
    # On CPUs the fused kernel is quick too, but sharded tensors do not have it there, where
    # offloaded ones are as well.
    on_gpu = device.type == "cuda" and not (
        train.strategy.name == "fsdp" and train.strategy.cpu_offload
    )
    fused = train.fast.fused_optimizer and (on_gpu or train.strategy.name == "ddp")
    return torch.optim.AdamW(
        groups, lr=settings.lr, betas=settings.betas, eps=settings.eps, fused=fused
    )


class MasterAdamW(torch.optim.AdamW):
    """AdamW on fp32 masters that reads the gradients as they are, clips them on the way and writes
    the bf16 weights too."""

    def __init__(self, weights: Weights, groups: list[dict[str, Any]], train: Train) -> None:
        super().__init__(
            groups, lr=train.optimizer.lr, betas=train.optimizer.betas, eps=train.optimizer.eps
        )
        self.weights, self.fused_kernel = weights, train.fast.fused_optimizer
        self.table: Any = None

    def move(self, shrink: Tensor) -> None:
        masters = list(self.weights.masters.values())
        if not masters[0].is_cuda or not self.fused_kernel:
            for master, gradient in zip(masters, self.weights.gradients(), strict=True):
                master.grad = gradient.float() * shrink
            super().step()
            self.weights.publish()
            return
        for master in masters:
            if not self.state[master]:
                self.state[master] = {
                    "step": torch.zeros(()),
                    "exp_avg": torch.zeros_like(master),
                    "exp_avg_sq": torch.zeros_like(master),
                }
        states = [self.state[master] for master in masters]
        torch._foreach_add_([state["step"] for state in states], 1)
        if self.table is None:
            from trainer.optim.kernels import AdamWTable

            decays = {
                id(each): group["weight_decay"]
                for group in self.param_groups
                for each in group["params"]
            }
            self.table = AdamWTable(
                list(self.weights.parameters.values()),
                masters,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [decays[id(master)] for master in masters],
            )
        group = self.param_groups[0]
        self.table.step(
            self.weights.gradients(),
            shrink,
            group["lr"],
            group["betas"],
            group["eps"],
            int(states[0]["step"]),
        )


def decay_groups(named: dict[str, Any], weight_decay: float) -> list[dict[str, Any]]:
    """Decay pulls weights to zero, which is wrong for biases and for norms, whose rest is one."""
    decayed = [each for name, each in named.items() if not _is_exempt(name)]
    exempt = [each for name, each in named.items() if _is_exempt(name)]
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": exempt, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def _is_exempt(name: str) -> bool:
    return name.endswith("bias") or "norm" in name.lower() or ".ln_" in name
