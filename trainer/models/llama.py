"""Llama: parameter names and arithmetic of Hugging Face's LlamaForCausalLM."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from trainer.config import Fast, Model
from trainer.models.float8 import Linear
from trainer.models.loss import head_loss
from trainer.models.packing import Mask, Packed, attend, packed_of, uses_flex
from trainer.models.rope import rotary_rates


class Llama(nn.Module):
    normalisers = ("tokens",)

    def __init__(self, settings: Model, fast: Fast, padded_vocab: int) -> None:
        super().__init__()
        self.settings = settings
        self.loss_chunk = fast.loss_chunk if fast.fused_loss == "on" else 0
        self.flex = uses_flex(fast, 0.0)
        self.model = _Decoder(settings, padded_vocab)
        self.real_rows = {
            "model.embed_tokens.weight": settings.vocab_size,
            "lm_head.weight": settings.vocab_size,
        }
        self.lm_head = (
            None
            if settings.tied_embeddings
            else nn.Linear(settings.width, padded_vocab, bias=False)
        )

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.model(batch["input"], *packed_of(batch, self.flex))
        return head_loss(
            hidden, self._head(), batch["label"], self.settings.vocab_size, self.loss_chunk
        ).reshape(1)

    def logits(self, tokens: Tensor, packed: Packed = (None, None)) -> Tensor:
        hidden = self.model(tokens, *packed)
        return functional.linear(hidden, self._head())[..., : self.settings.vocab_size]

    def _head(self) -> Tensor:
        return self.model.embed_tokens.weight if self.lm_head is None else self.lm_head.weight

    def blocks(self) -> Iterator[tuple[nn.Module, str, nn.Module]]:
        for name, block in self.model.layers.named_children():
            yield self.model.layers, name, block

    def fresh(self, name: str, shape: torch.Size) -> tuple[str, float]:
        return ("ones", 0) if "norm" in name else ("normal", self.settings.initializer_range)


class _Decoder(nn.Module):
    cosine: Tensor
    sine: Tensor

    def __init__(self, settings: Model, padded_vocab: int) -> None:
        super().__init__()
        self.settings = settings
        self.embed_tokens = nn.Embedding(padded_vocab, settings.width)
        self.layers = nn.ModuleList(_Block(settings) for _ in range(settings.layers))
        self.norm = _RMSNorm(settings)
        self.restore_buffers()

    def restore_buffers(self) -> None:
        """The rotary table: made again after weights came from the meta device, which has no
        values."""
        device = self.embed_tokens.weight.device
        rates = rotary_rates(self.settings, device)
        angles = torch.outer(torch.arange(self.settings.context, device=device).float(), rates)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(
        self, tokens: Tensor, positions: Tensor | None = None, mask: Mask | None = None
    ) -> Tensor:
        hidden = self.embed_tokens(tokens)
        length = tokens.shape[1]
        if positions is None:
            cosine, sine = self.cosine[:length], self.sine[:length]
        else:
            cosine, sine = self.cosine[positions][:, None], self.sine[positions][:, None]
        cosine, sine = cosine.to(hidden.dtype), sine.to(hidden.dtype)
        for block in self.layers:
            hidden = block(hidden, cosine, sine, mask)
        return self.norm(hidden)


class _Block(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.input_layernorm = _RMSNorm(settings)
        self.self_attn = _Attention(settings)
        self.post_attention_layernorm = _RMSNorm(settings)
        self.mlp = _Mlp(settings)

    def forward(
        self, hidden: Tensor, cosine: Tensor, sine: Tensor, mask: Mask | None = None
    ) -> Tensor:
        hidden = hidden + self.self_attn(self.input_layernorm(hidden), cosine, sine, mask)
        return hidden + self.mlp(self.post_attention_layernorm(hidden))


class _Attention(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.size = settings.width // settings.heads
        kv_width = (settings.kv_heads or settings.heads) * self.size
        self.grouped = kv_width != settings.width
        self.q_proj = Linear(settings.width, settings.width, bias=False)
        self.k_proj = Linear(settings.width, kv_width, bias=False)
        self.v_proj = Linear(settings.width, kv_width, bias=False)
        self.o_proj = Linear(settings.width, settings.width, bias=False)

    def forward(
        self, hidden: Tensor, cosine: Tensor, sine: Tensor, mask: Mask | None = None
    ) -> Tensor:
        batch, length, width = hidden.shape
        query, key, value = (
            projection(hidden).view(batch, length, -1, self.size).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key = _rotate(query, cosine, sine), _rotate(key, cosine, sine)
        mixed = attend(query, key, value, mask, grouped=self.grouped)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, width))


def _rotate(states: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = states.chunk(2, dim=-1)
    return states * cosine + torch.cat((-second, first), dim=-1) * sine


class _Mlp(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        inner = settings.mlp_width or 4 * settings.width
        self.gate_proj = Linear(settings.width, inner, bias=False)
        self.up_proj = Linear(settings.width, inner, bias=False)
        self.down_proj = Linear(inner, settings.width, bias=False)
        # On a GPU one wide product is quicker than two. The joined weight is kept until backward:
        # not where memory is short, with sharded weights or recomputed blocks
        self.joins_projections = False

    def forward(self, hidden: Tensor) -> Tensor:
        # In float8 each projection has a scale of its own
        if self.joins_projections and not self.gate_proj.float8:
            return self._joined(hidden)
        return self.down_proj(functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))

    def _joined(self, hidden: Tensor) -> Tensor:
        from trainer.models.silu import silu_product

        weight = torch.cat((self.gate_proj.weight, self.up_proj.weight))
        return self.down_proj(silu_product(functional.linear(hidden, weight)))


class _RMSNorm(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.eps = settings.norm_eps
        self.weight = nn.Parameter(torch.empty(settings.width))

    def forward(self, hidden: Tensor) -> Tensor:
        # The mean square in fp32: bf16 has too few digits to sum thousands of squares.
        wide = hidden.float()
        scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.to(hidden.dtype)
