"""GPT-2: parameter names, initialisation and arithmetic of Hugging Face's GPT2LMHeadModel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from trainer.config import Fast, Model
from trainer.models.float8 import linear
from trainer.models.loss import head_loss
from trainer.models.packing import Mask, Packed, attend, packed_of, uses_flex


class GPT2(nn.Module):
    normalisers = ("tokens",)

    def __init__(
        self, settings: Model, fast: Fast, padded_vocab: int, upcast: bool = False
    ) -> None:
        super().__init__()
        self.settings = settings
        self.loss_chunk = fast.loss_chunk if fast.fused_loss == "on" else 0
        self.flex = uses_flex(fast, settings.dropout) and not upcast
        self.transformer = _Transformer(settings, padded_vocab, upcast)
        self.real_rows = {"transformer.wte.weight": settings.vocab_size}
        if settings.freeze_positions:
            self.transformer.wpe.weight.requires_grad_(False)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.transformer(batch["input"], *packed_of(batch, self.flex))
        weight = self.transformer.wte.weight
        return head_loss(
            hidden, weight, batch["label"], self.settings.vocab_size, self.loss_chunk
        ).reshape(1)

    def logits(self, tokens: Tensor, packed: Packed = (None, None)) -> Tensor:
        hidden = self.transformer(tokens, *packed)
        return functional.linear(hidden, self.transformer.wte.weight)[
            ..., : self.settings.vocab_size
        ]

    def blocks(self) -> Iterator[tuple[nn.Module, str, nn.Module]]:
        for name, block in self.transformer.h.named_children():
            yield self.transformer.h, name, block

    def fresh(self, name: str, shape: torch.Size) -> tuple[str, float]:
        if name.endswith("bias"):
            return "zeros", 0
        if ".ln_" in name:
            return "ones", 0
        if name.endswith("c_proj.weight"):
            # Each block adds twice to the residual stream; this keeps its variance at the depth's
            # end.
            return "normal", self.settings.initializer_range / math.sqrt(2 * self.settings.layers)
        return "normal", self.settings.initializer_range

    @torch.no_grad()
    def attention_extremes(self, batch: dict[str, Tensor]) -> dict[str, float]:
        """The largest and smallest scaled score of each layer before the causal mask: one more
        forward pass."""
        attentions: list[Any] = [block.attn for _, _, block in self.blocks()]
        for attention in attentions:
            attention.extremes = []
        self(batch)
        extremes_by_name = {}
        for layer, attention in enumerate(attentions):
            low, high = attention.extremes
            extremes_by_name[f"activations/layer{layer}_attention_weight_max"] = float(high)
            extremes_by_name[f"activations/layer{layer}_attention_weight_min"] = float(low)
            attention.extremes = None
        return extremes_by_name


class _Transformer(nn.Module):
    def __init__(self, settings: Model, padded_vocab: int, upcast: bool) -> None:
        super().__init__()
        self.wte = nn.Embedding(padded_vocab, settings.width)
        self.wpe = nn.Embedding(settings.context, settings.width)
        self.drop = nn.Dropout(settings.dropout)
        self.h = nn.ModuleList(_Block(settings, layer, upcast) for layer in range(settings.layers))
        self.ln_f = nn.LayerNorm(settings.width, eps=settings.norm_eps, bias=settings.bias)
        self.fuses_blocks = False  # where the whole model is compiled at once: see add_norm.py

    def forward(
        self, tokens: Tensor, positions: Tensor | None = None, mask: Mask | None = None
    ) -> Tensor:
        rows = self.wpe.weight[: tokens.shape[1]] if positions is None else self.wpe(positions)
        hidden = self.drop(self.wte(tokens) + rows)
        if self.fuses_blocks:
            return self._fused(hidden, mask)
        for block in self.h:
            hidden = block(hidden, mask)
        return self.ln_f(hidden)

    def _fused(self, hidden: Tensor, mask: Mask | None) -> Tensor:
        """The same, with each branch added and the next norm taken in one pass."""
        from trainer.models.add_norm import add_norm, drawn_seed

        dropout = self.drop.p if self.training else 0.0
        seed = drawn_seed(dropout, hidden)
        blocks: list[Any] = list(self.h)
        normed = blocks[0].ln_1(hidden)
        for number, block in enumerate(blocks):
            branch, bias = block.attn.branch(normed, mask), block.attn.c_proj.bias
            hidden, normed = add_norm(hidden, branch, bias, block.ln_2, dropout, seed, 2 * number)
            following = blocks[number + 1].ln_1 if number + 1 < len(blocks) else self.ln_f
            branch, bias = block.mlp.branch(normed), block.mlp.c_proj.bias
            hidden, normed = add_norm(
                hidden, branch, bias, following, dropout, seed, 2 * number + 1
            )
        return normed


class _Block(nn.Module):
    def __init__(self, settings: Model, layer: int, upcast: bool) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(settings.width, eps=settings.norm_eps, bias=settings.bias)
        self.attn = _Attention(settings, layer, upcast)
        self.ln_2 = nn.LayerNorm(settings.width, eps=settings.norm_eps, bias=settings.bias)
        self.mlp = _Mlp(settings)
        self.fuses_norm = False  # where blocks are compiled each for itself: see add_norm.py

    def forward(self, hidden: Tensor, mask: Mask | None = None) -> Tensor:
        if self.fuses_norm:
            return self._fused(hidden, mask)
        hidden = hidden + self.attn(self.ln_1(hidden), mask)
        return hidden + self.mlp(self.ln_2(hidden))

    def _fused(self, hidden: Tensor, mask: Mask | None) -> Tensor:
        from trainer.models.add_norm import add_norm, drawn_seed

        dropout = self.mlp.dropout.p if self.training else 0.0
        branch, bias = self.attn.branch(self.ln_1(hidden), mask), self.attn.c_proj.bias
        seed = drawn_seed(dropout, hidden)
        hidden, normed = add_norm(hidden, branch, bias, self.ln_2, dropout, seed)
        return hidden + self.mlp(normed)


class _Attention(nn.Module):
    def __init__(self, settings: Model, layer: int, upcast: bool) -> None:
        super().__init__()
        self.heads, self.dropout, self.upcast = settings.heads, settings.dropout, upcast
        self.c_attn = _Conv1D(settings.width, 3 * settings.width, settings.bias)
        self.c_proj = _Conv1D(settings.width, settings.width, settings.bias)
        self.resid_dropout = nn.Dropout(settings.dropout)
        self.scale = (settings.width // settings.heads) ** -0.5 / (
            layer + 1 if settings.upcast_attention else 1
        )
        self.extremes: list[Tensor] | None = None
        self.joins_heads = False  # on the compiled path: see heads.py

    def forward(self, hidden: Tensor, mask: Mask | None = None) -> Tensor:
        return self.resid_dropout(self.c_proj(self._mixed(hidden, mask)))

    def branch(self, hidden: Tensor, mask: Mask | None = None) -> Tensor:
        """Without the last bias and dropout."""
        return self.c_proj.product(self._mixed(hidden, mask))

    def _mixed(self, hidden: Tensor, mask: Mask | None) -> Tensor:
        batch, length, width = hidden.shape
        # Left as (batch, length, heads, size) in memory: flash attention takes the transposed view
        # without a copy.
        query, key, value = self._projected(hidden)
        if self.extremes is not None:
            scores = (query.float() @ key.float().transpose(-1, -2)) * self.scale
            self.extremes = [scores.min(), scores.max()]
        dropout = self.dropout if self.training else 0.0
        if self.upcast:
            mixed = self._upcast(query, key, value, dropout, mask)
        else:
            mixed = attend(query, key, value, mask, dropout, self.scale)
        return mixed.transpose(1, 2).reshape(batch, length, width)

    def _projected(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.joins_heads:
            from trainer.models.heads import split_heads

            bias = self.c_attn.bias
            fixed = None if bias is None else bias.detach()
            return split_heads(self.c_attn.product(hidden, fixed), bias, self.heads)
        batch, length, _ = hidden.shape
        query, key, value = (
            self.c_attn(hidden).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        return query, key, value

    def _upcast(
        self, query: Tensor, key: Tensor, value: Tensor, dropout: float, mask: Mask | None
    ) -> Tensor:
        """Scores in fp32 whatever the autocast, where fp16 would overflow."""
        length = query.shape[2]
        with torch.autocast(query.device.type, enabled=False):
            scores = (query.float() @ key.float().transpose(-1, -2)) * self.scale
            hidden = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
            if isinstance(mask, Tensor):
                hidden = ~mask
            weights = (
                scores.masked_fill(hidden, torch.finfo(torch.float32).min)
                .softmax(-1)
                .to(value.dtype)
            )
        return functional.dropout(weights, dropout) @ value


class _Mlp(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        inner = settings.mlp_width or 4 * settings.width
        self.c_fc = _Conv1D(settings.width, inner, settings.bias)
        self.c_proj = _Conv1D(inner, settings.width, settings.bias)
        self.dropout = nn.Dropout(settings.dropout)
        # The compiled path trades a little memory for less traffic: see gelu.py
        self.keeps_activation = False

    def forward(self, hidden: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self._active(hidden)))

    def branch(self, hidden: Tensor) -> Tensor:
        """Without the last bias and dropout."""
        return self.c_proj.product(self._active(hidden))

    def _active(self, hidden: Tensor) -> Tensor:
        if self.keeps_activation:
            from trainer.models.gelu import gelu

            return gelu(self.c_fc.product(hidden), self.c_fc.bias)
        return functional.gelu(self.c_fc(hidden), approximate="tanh")


class _Conv1D(nn.Module):
    """A linear layer whose weight is stored (inputs, outputs), as GPT-2's checkpoints have it."""

    float8 = False

    def __init__(self, inputs: int, outputs: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None

    def forward(self, hidden: Tensor) -> Tensor:
        return linear(hidden, self.weight.t(), self.bias, self.float8)

    def product(self, hidden: Tensor, bias: Tensor | None = None) -> Tensor:
        """Without the bias, or with the one given."""
        return linear(hidden, self.weight.t(), bias, self.float8)
