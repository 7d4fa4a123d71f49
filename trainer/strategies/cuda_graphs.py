"""The GPU's fast path: compiled models, and whole micro-batches replayed as one CUDA graph."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo
import torch._functorch.config
from torch import Tensor

from trainer.config import Train
from trainer.data.loader import Batch


def compiled(module: Any, train: Train) -> Any:
    """The model with its blocks or its whole trunk compiled in place, so that names stay as they
    are."""
    use_fused_operators(module)
    if train.fast.compile == "blocks":
        compile_blocks(module)
        return module
    trunk = getattr(module, "transformer", getattr(module, "model", None))
    if trunk is not None and hasattr(trunk, "fuses_blocks"):
        trunk.fuses_blocks = True
    _use(module, "joins_projections")
    if train.fast.fused_loss == "on" and trunk is not None:
        # The fused loss brings its own kernels; the compiler gets everything before it.
        trunk.compile()
    else:
        module.compile()
    return module


def compile_blocks(module: Any, hooked: bool = False) -> None:
    """Each block for itself; with `hooked` without what runs before and after it, which the
    compiler cannot follow."""
    blocks = [block for _, _, block in module.blocks()]
    # Blocks share their code but not every constant of it: each takes one of the compiler's
    # places, of which there are eight
    config: Any = torch._dynamo.config
    config.recompile_limit = max(config.recompile_limit, len(blocks) + 8)
    for block in blocks:
        if hooked:
            block.forward = torch.compile(block.forward)
        else:
            block.compile()


def use_fused_operators(module: Any) -> None:
    """Let the parts of a model that have operators of their own for the GPU use them."""
    # Imported here: the compiler must not be the first to meet them
    import trainer.models.add_norm
    import trainer.models.gelu
    import trainer.models.heads
    import trainer.models.silu  # noqa: F401

    # Their backward is part of the traced graph, so that what was compiled of it can be kept, too
    torch._functorch.config.autograd_cache_allow_custom_autograd_functions = True
    _use(module, "keeps_activation", "joins_heads", "fuses_norm")


def _use(module: Any, *choices: str) -> None:
    for part in module.modules():
        for choice in choices:
            if hasattr(part, choice):
                setattr(part, choice, True)


class Replayed:
    """Forward and backward recorded once, then replayed: the host launches one graph instead of
    hundreds of kernels."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.graph: Any = None

    def accumulate(self, batches: list[Batch], counts: dict[str, float], step: int) -> list[Tensor]:
        from trainer.strategies.session import seed_micro_batch

        if self.graph is None:
            self._record(batches[0])
        session, losses = self.session, []
        self.scale.fill_(1.0 / counts[session.module.normalisers[0]])
        for turn, batch in enumerate(batches):
            for name, tensor in batch.items():
                self.inputs[name].copy_(tensor, non_blocking=True)
            # The graph reads the generator's seed at each replay, so dropout is the step's own
            seed_micro_batch(session, step, turn)
            self.graph.replay()
            self._hand_over(turn == 0)
            losses.append(self.loss.clone())
        return losses

    def _record(self, batch: Batch) -> None:
        """Warm up on a side stream, as capture asks for, then capture one micro-batch."""
        self.inputs = {name: tensor.clone() for name, tensor in batch.items()}
        self.scale = torch.ones((), device=self.session.processes.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._forget()
                self._forward_backward()
        torch.cuda.current_stream().wait_stream(side)
        self._forget()
        torch.cuda.empty_cache()
        self.graph = torch.cuda.CUDAGraph()
        # Of this thread: another one pins the memory of the next batches meanwhile
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = self._forward_backward()
        self.gradients = [each.grad for each in self.session.weights.parameters.values()]
        several = (
            self.session.train.batch_size > self.session.train.device_batch_size
            and not self.session.weights.mastered
        )
        self.totals = [torch.empty_like(each) for each in self.gradients] if several else []
        self._forget()

    def _forward_backward(self) -> Tensor:
        from trainer.strategies.session import autocast

        # Autocast may not keep its cast weights from one replay to the next.
        with autocast(self.session):
            loss = self.session.call(self.inputs)[0] * self.scale
        loss.backward()
        return loss.detach()  # type: ignore[no-any-return]

    def _hand_over(self, first: bool) -> None:
        """The graph overwrites its gradients each time: several micro-batches are added up outside
        it."""
        weights = self.session.weights
        alone = weights.mastered or len(self.totals) == 0
        for number, (parameter, source) in enumerate(
            zip(weights.parameters.values(), self.gradients, strict=True)
        ):
            if alone:
                parameter.grad = source
            else:
                parameter.grad = (
                    self.totals[number].copy_(source) if first else self.totals[number].add_(source)
                )
        weights.collect()

    def _forget(self) -> None:
        for parameter in self.session.weights.parameters.values():
            parameter.grad = None
