"""Attention inside the documents of a row: what a token may look at, and the kernels for it.

The mask is a table of booleans for torch's own attention, or flex attention's list of blocks in
which anything is to be computed: of short documents most of the table is not. Flex attention has no
dropout and is fast only where it is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from trainer.config import Fast

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

    Mask = Tensor | BlockMask
else:
    Mask = Any
Packed = tuple[Tensor | None, Mask | None]  # positions in the documents, and the mask


def uses_flex(fast: Fast, dropout: float) -> bool:
    return fast.compile in ("blocks", "model") and not dropout


def packed_of(batch: dict[str, Tensor], flex: bool) -> Packed:
    """Of a batch whose rows hold several documents; else nothing."""
    documents = batch.get("document")
    if documents is None:
        return None, None
    # On a CPU flex attention has no backward pass
    mask = block_mask(documents) if flex and documents.is_cuda else table(documents)
    return batch["position"], mask


def table(documents: Tensor) -> Tensor:
    """(rows, 1, length, length): whether a token may look at another; the padding at itself, since
    something must be looked at."""
    same = documents[:, :, None] == documents[:, None, :]
    return same.tril()[:, None]


@torch.compiler.disable
def block_mask(documents: Tensor) -> BlockMask:
    """The same for flex attention. Made anew for each batch, before the compiled part begins, which
    takes it as an input."""
    from torch.nn.attention.flex_attention import create_block_mask

    def allowed(row: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (documents[row, query] == documents[row, key])

    rows, length = documents.shape
    return create_block_mask(allowed, rows, None, length, length, device=documents.device)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None,
    dropout: float = 0.0,
    scale: float | None = None,
    grouped: bool = False,
) -> Tensor:
    """Causal attention; with a mask inside each document alone."""
    if mask is None or isinstance(mask, Tensor):
        return functional.scaled_dot_product_attention(
            query,
            key,
            value,
            mask,
            dropout,
            is_causal=mask is None,
            scale=scale,
            enable_gqa=grouped,
        )
    from torch.nn.attention.flex_attention import flex_attention

    mixed = flex_attention(query, key, value, None, mask, scale, grouped)
    assert isinstance(mixed, Tensor)
    return mixed
