"""The model by name: small modules with Hugging Face's parameter names and arithmetic.

They are our own because importing the originals takes longer than a smoke run; tests hold the two
equal, and `python -m trainer.export` writes folders that `from_pretrained` loads.

Every model is called with a batch (a dict of tensors) and answers a vector of loss sums, one per
entry of its `normalisers`. The loop divides them by counts taken over all ranks, so a loss never
depends on how a batch was split.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from trainer.config import Train
from trainer.validate import padded_vocab

if TYPE_CHECKING:
    from collections.abc import Iterator


class Trainable(Protocol):
    normalisers: tuple[str, ...]  # what each loss sum is divided by: "tokens" or "samples"

    def blocks(self) -> Iterator[tuple[nn.Module, str, nn.Module]]:
        """Each repeated block with its parent and name there: what is sharded, recomputed or
        compiled as one."""

    def fresh(self, name: str, shape: torch.Size) -> tuple[str, float]:
        """How a new parameter starts: ("normal", std), ("uniform", bound), ("zeros", 0) or ("ones",
        0)."""


def build(train: Train) -> Any:
    """The student or only model, on the current default device, with whatever weights that device
    gives."""
    model = _family(train)
    if train.fast.float8:
        from trainer.models.float8 import use_float8

        use_float8(model)
    if train.distill.teacher:
        from trainer.models.distill import Distilled

        return Distilled(model, train)
    return model


def _family(train: Train) -> Any:
    settings = train.model
    if settings.kind == "gpt2":
        from trainer.models.gpt2 import GPT2

        # bf16 has fp32's range: what overflows in fp16 does not there
        upcast = settings.upcast_attention and train.precision == "fp16"
        return GPT2(settings, train.fast, padded_vocab(train), upcast)
    if settings.kind == "llama":
        from trainer.models.llama import Llama

        return Llama(settings, train.fast, padded_vocab(train))
    if settings.kind == "bert":
        from trainer.models.bert import Bert

        return Bert(settings)
    from trainer.models.mlp import Mlp

    return Mlp(settings)


@torch.no_grad()
def initialise(model: Any, seed: int) -> None:
    """Fresh weights, each from its own seed and name: equal on every rank, for every strategy and
    number of ranks."""
    for name, parameter in model.named_parameters():
        write(parameter, fresh_values(model, name, parameter.shape, parameter.device, seed))
    for module in model.modules():
        if hasattr(module, "restore_buffers"):
            module.restore_buffers()


def fresh_values(
    model: Any, name: str, shape: torch.Size, device: torch.device, seed: int
) -> Tensor:
    kind, scale = model.fresh(name, shape)
    real = getattr(model, "real_rows", {}).get(name, shape[0])
    if real < shape[0]:
        # Rows that only pad the vocabulary stay zero, so that padding changes no other number.
        padding = torch.zeros(shape[0] - real, *shape[1:], device=device)
        return torch.cat(
            (fresh_values(model, name, torch.Size((real, *shape[1:])), device, seed), padding)
        )
    values = torch.empty(shape, device=device)
    generator = torch.Generator(device=device).manual_seed(zlib.crc32(f"{seed} {name}".encode()))
    if kind == "normal":
        return values.normal_(0.0, scale, generator=generator)
    if kind == "uniform":
        return values.uniform_(-scale, scale, generator=generator)
    return values.fill_(1.0 if kind == "ones" else 0.0)


@torch.no_grad()
def write(parameter: Any, values: Tensor) -> None:
    """Put a whole tensor into a parameter; of a sharded one, this rank's piece."""
    if hasattr(parameter, "placements"):
        from torch.distributed.tensor import distribute_tensor

        parameter.copy_(
            distribute_tensor(
                values.to(parameter.dtype),
                parameter.device_mesh,
                parameter.placements,
                src_data_rank=None,
            )
        )
    else:
        parameter.copy_(values)


def parameter_count(model: nn.Module) -> int:
    return sum(
        getattr(parameter, "ds_numel", parameter.numel())
        for parameter in model.parameters()
        if parameter.requires_grad
    )
