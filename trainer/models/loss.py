"""Cross-entropy over a large vocabulary, in the open or fused with the output projection."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

IGNORED = -100  # a label that carries no loss


def head_loss(hidden: Tensor, weight: Tensor, labels: Tensor, vocab: int, chunk: int = 0) -> Tensor:
    """The summed cross-entropy of `hidden @ weight.T`; columns past `vocab` are padding and take no
    part.

    With `chunk`, that many rows at a time go through projection, loss and gradient at once, so that
    the logits of all rows never exist together, in any precision.
    """
    hidden, labels = hidden.flatten(0, -2), labels.flatten()
    if chunk:
        if torch.is_autocast_enabled(hidden.device.type):
            kind = torch.get_autocast_dtype(hidden.device.type)
            hidden, weight = hidden.to(kind), weight.to(kind)
        return _FusedHeadLoss.apply(hidden, weight, labels, vocab, chunk)  # type: ignore[no-any-return, no-untyped-call]
    logits = functional.linear(hidden, weight)[:, :vocab]
    return functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="sum")


class _FusedHeadLoss(torch.autograd.Function):
    """Gradients are made during the forward pass, while a chunk's logits are at hand; backward only
    scales them."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, vocab: int, chunk: int
    ) -> Tensor:
        wanted = hidden.requires_grad or weight.requires_grad
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        hidden_grad = torch.empty_like(hidden) if wanted else None
        weight_grad = (
            torch.zeros(weight.shape, dtype=torch.float32, device=weight.device) if wanted else None
        )
        for start in range(0, hidden.shape[0], chunk):
            rows = slice(start, start + chunk)
            logits = hidden[rows] @ weight.t()
            total += _loss_and_gradient(logits, labels[rows], vocab, wanted)
            if hidden_grad is not None and weight_grad is not None:
                torch.mm(logits, weight, out=hidden_grad[rows])
                _add_product(weight_grad, logits.t(), hidden[rows])
        if wanted:
            ctx.save_for_backward(hidden_grad, weight_grad)
            ctx.weight_kind = weight.dtype
        return total

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        hidden_grad, weight_grad = ctx.saved_tensors
        return (
            _scaled(hidden_grad, scale, hidden_grad.dtype),
            _scaled(weight_grad, scale, ctx.weight_kind),
            None,
            None,
            None,
        )


def _scaled(value: Tensor, scale: Tensor, kind: torch.dtype) -> Tensor:
    if value.is_cuda:
        from trainer.models import kernels

        return kernels.scaled(value, scale, kind)
    return (value * scale).to(kind)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left @ right, summed in fp32 whatever the factors are."""
    if left.dtype == torch.float32:
        total.addmm_(left, right)
    elif left.is_cuda:
        torch.addmm(total, left, right, out_dtype=torch.float32, out=total)
    else:
        total += (left @ right).float()


def _loss_and_gradient(logits: Tensor, labels: Tensor, vocab: int, wanted: bool) -> Tensor:
    """The chunk's summed loss; `logits` become its gradient in place when wanted."""
    if logits.is_cuda:
        from trainer.models.kernels import cross_entropy_in_place

        return cross_entropy_in_place(logits, labels, vocab)
    real = logits[:, :vocab].float()
    normaliser = real.logsumexp(-1)
    kept = labels != IGNORED
    safe = labels.clamp(min=0)
    total = ((normaliser - real.gather(1, safe[:, None])[:, 0]) * kept).sum()
    if wanted:
        gradient = (real - normaliser[:, None]).exp_()
        gradient.scatter_add_(
            1, safe[:, None], torch.full_like(safe, -1, dtype=torch.float32)[:, None]
        )
        logits.zero_()
        logits[:, :vocab] = gradient * kept[:, None]
    return total
