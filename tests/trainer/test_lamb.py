"""LAMB against its definition, written out in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainer.config import Optimizer, Train
from trainer.optim.lamb import Lamb
from trainer.optim.optimizer import Weights, make_optimizer

LR, BETAS, EPS, DECAY = 0.1, (0.9, 0.999), 1e-6, 0.01


def by_hand(
    value: np.ndarray, gradients: list[np.ndarray], decay: float, adapted: bool
) -> np.ndarray:
    mean, square = np.zeros_like(value), np.zeros_like(value)
    for step, gradient in enumerate(gradients, 1):
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * gradient**2
        update = (mean / (1 - BETAS[0] ** step)) / (
            np.sqrt(square / (1 - BETAS[1] ** step)) + EPS
        ) + decay * value
        trust = 1.0
        if adapted and np.linalg.norm(value) > 0 and np.linalg.norm(update) > 0:
            trust = float(np.linalg.norm(value) / np.linalg.norm(update))
        value = value - LR * trust * update
    return value


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 4)
        self.norm = torch.nn.LayerNorm(4)
        self.zero = torch.nn.Parameter(torch.zeros(5))


def test_steps_agree_with_the_definition() -> None:
    torch.manual_seed(0)
    model = Small()
    before = {
        name: value.detach().double().numpy().copy() for name, value in model.named_parameters()
    }
    settings = Optimizer(name="lamb", lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY)
    train = Train(optimizer=settings)
    optimizer = make_optimizer(Weights(model, train), train, torch.device("cpu"))
    assert isinstance(optimizer, Lamb)
    gradients = [
        {
            name: np.random.default_rng(step).normal(size=value.shape)
            for name, value in before.items()
        }
        for step in range(3)
    ]
    for each in gradients:
        for name, parameter in model.named_parameters():
            parameter.grad = torch.from_numpy(each[name]).float()
        optimizer.step()
    for name, parameter in model.named_parameters():
        exempt = name.endswith("bias") or name.startswith("norm")
        expected = by_hand(
            before[name], [each[name] for each in gradients], 0.0 if exempt else DECAY, not exempt
        )
        np.testing.assert_allclose(
            parameter.detach().numpy(), expected, rtol=2e-5, atol=1e-6, err_msg=name
        )


def test_a_step_is_as_long_as_the_tensor_asks_for_whatever_the_gradient_s_size() -> None:
    moved = []
    for scale in (1.0, 1000.0):
        weight = torch.nn.Parameter(torch.full((4, 4), 2.0))
        optimizer = Lamb([{"params": [weight]}], LR, BETAS, EPS)
        weight.grad = scale * torch.arange(1.0, 17.0).reshape(4, 4)
        optimizer.step()
        moved.append((weight.detach() - 2.0).norm().item())
    assert moved == pytest.approx([LR * 8.0, LR * 8.0], rel=1e-4)
