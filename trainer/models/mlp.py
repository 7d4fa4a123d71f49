"""A small perceptron for images of digits: inputs - width - width - classes, with ReLU."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from trainer.config import Model


class Mlp(nn.Module):
    normalisers = ("samples",)

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.settings = settings
        width = settings.mlp_width or settings.width
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(settings.inputs, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, settings.classes),
        )

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return functional.cross_entropy(
            self.logits(batch["input"]), batch["label"], reduction="sum"
        ).reshape(1)

    def logits(self, pictures: Tensor) -> Tensor:
        return self.linear_relu_stack(pictures.flatten(1))  # type: ignore[no-any-return]

    def blocks(self) -> Iterator[tuple[nn.Module, str, nn.Module]]:
        return iter(())

    def fresh(self, name: str, shape: torch.Size) -> tuple[str, float]:
        # PyTorch's own default for linear layers: both weight and bias within 1/sqrt(inputs).
        inputs = self.get_parameter(name.replace("bias", "weight")).shape[1]
        return "uniform", inputs**-0.5
