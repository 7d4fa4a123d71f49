"""BERT with both pre-training heads: parameter names and arithmetic of Hugging Face's
BertForPreTraining."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from trainer.config import Model
from trainer.models.loss import IGNORED

_SEGMENTS = 2  # first and second sentence


class Bert(nn.Module):
    normalisers = (
        "tokens",
        "samples",
    )  # masked words are averaged over words, sentence order over samples

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.settings = settings
        self.bert = _Encoder(settings)
        self.cls = _Heads(settings)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        hidden, pooled = self.bert(batch["input"], batch["segment"], batch["mask"])
        # Only masked positions (about one in seven) meet the vocabulary: the rest would be thrown
        # away.
        labels = batch["label"].flatten()
        places = (labels != IGNORED).nonzero()[:, 0]
        words = self.cls.predictions(
            hidden.flatten(0, 1)[places], self.bert.embeddings.word_embeddings.weight
        )
        masked = functional.cross_entropy(words.float(), labels[places], reduction="sum")
        order = functional.cross_entropy(
            self.cls.seq_relationship(pooled).float(), batch["next"], reduction="sum"
        )
        return torch.stack((masked, order))

    def blocks(self) -> Iterator[tuple[nn.Module, str, nn.Module]]:
        for name, block in self.bert.encoder.layer.named_children():
            yield self.bert.encoder.layer, name, block

    def fresh(self, name: str, shape: torch.Size) -> tuple[str, float]:
        if name.endswith("bias"):
            return "zeros", 0
        return ("ones", 0) if "LayerNorm" in name else ("normal", self.settings.initializer_range)


class _Encoder(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.embeddings = _Embeddings(settings)
        self.encoder = _Layers(settings)
        self.pooler = _Pooler(settings)

    def forward(self, tokens: Tensor, segments: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.embeddings(tokens, segments)
        visible = mask[:, None, None, :].bool()
        for layer in self.encoder.layer:
            hidden = layer(hidden, visible)
        return hidden, self.pooler(hidden)


class _Layers(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(settings) for _ in range(settings.layers))


class _Embeddings(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(settings.vocab_size, settings.width)
        self.position_embeddings = nn.Embedding(settings.context, settings.width)
        self.token_type_embeddings = nn.Embedding(_SEGMENTS, settings.width)
        self.LayerNorm = nn.LayerNorm(settings.width, eps=settings.norm_eps)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        places = self.position_embeddings.weight[: tokens.shape[1]]
        return self.dropout(
            self.LayerNorm(
                self.word_embeddings(tokens) + places + self.token_type_embeddings(segments)
            )
        )


class _Pooler(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.dense = nn.Linear(settings.width, settings.width)

    def forward(self, hidden: Tensor) -> Tensor:
        return torch.tanh(self.dense(hidden[:, 0]))


class _Layer(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        inner = settings.mlp_width or 4 * settings.width
        self.attention = _Attention(settings)
        self.intermediate = _Dense(settings.width, inner)
        self.output = _Output(inner, settings)

    def forward(self, hidden: Tensor, visible: Tensor) -> Tensor:
        hidden = self.attention(hidden, visible)
        return self.output(functional.gelu(self.intermediate.dense(hidden)), hidden)


class _Attention(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.heads, self.dropout = settings.heads, settings.dropout
        self.self = _Projections(settings)
        self.output = _Output(settings.width, settings)

    def forward(self, hidden: Tensor, visible: Tensor) -> Tensor:
        batch, length, width = hidden.shape
        query, key, value = (
            project(hidden).view(batch, length, self.heads, -1).transpose(1, 2)
            for project in (self.self.query, self.self.key, self.self.value)
        )
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=visible, dropout_p=dropout
        )
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width), hidden)


class _Projections(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.query = nn.Linear(settings.width, settings.width)
        self.key = nn.Linear(settings.width, settings.width)
        self.value = nn.Linear(settings.width, settings.width)


class _Dense(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)


class _Output(nn.Module):
    def __init__(self, inputs: int, settings: Model) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, settings.width)
        self.LayerNorm = nn.LayerNorm(settings.width, eps=settings.norm_eps)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(hidden)) + residual)


class _Heads(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.predictions = _Predictions(settings)
        self.seq_relationship = nn.Linear(settings.width, 2)


class _Predictions(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(settings.vocab_size))
        self.transform = _Transform(settings)

    def forward(self, hidden: Tensor, words: Tensor) -> Tensor:
        return functional.linear(self.transform(hidden), words, self.bias)


class _Transform(nn.Module):
    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.dense = nn.Linear(settings.width, settings.width)
        self.LayerNorm = nn.LayerNorm(settings.width, eps=settings.norm_eps)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.LayerNorm(functional.gelu(self.dense(hidden)))
