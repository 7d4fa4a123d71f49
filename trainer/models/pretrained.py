"""Folders in Hugging Face format: their shape, and their weights into our models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer.config import Model
from trainer.errors import BadInput
from trainer.models import write


def shape_of_folder(folder: str, otherwise: Model) -> Model:
    """The model's shape from the folder's config.json."""
    try:
        config = json.loads((Path(folder) / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder}: no usable config.json: {error}") from None
    if config.get("model_type") != "gpt2":
        raise BadInput(f"{folder}: a {config.get('model_type')} model, where a gpt2 one is needed")
    return replace(
        otherwise,
        layers=config["n_layer"],
        heads=config["n_head"],
        width=config["n_embd"],
        context=config["n_positions"],
        vocab_size=config["vocab_size"],
        mlp_width=config.get("n_inner") or 0,
        upcast_attention=bool(config.get("reorder_and_upcast_attn")),
    )


@torch.no_grad()
def load_folder(model: Any, folder: str) -> None:
    """Put a folder's weights into a model; padded rows of the vocabulary stay as they were."""
    tensors = _tensors(Path(folder))
    for name, parameter in model.named_parameters():
        given = tensors.get(name.removeprefix("student."))
        if given is None:
            if name.endswith("bias") and not name.startswith("cls"):
                continue
            raise BadInput(
                f"{folder}: has no {name}; it holds another model than the profile describes"
            )
        if given.shape != parameter.shape:
            whole = torch.zeros(parameter.shape, dtype=given.dtype)
            if (
                given.shape[1:] != parameter.shape[1:]
                or given.shape[0] > parameter.shape[0]
                or "w" not in name
            ):
                raise BadInput(
                    f"{folder}: {name} is {tuple(given.shape)}, the profile's model has"
                    f" {tuple(parameter.shape)}"
                )
            whole[: given.shape[0]] = given
            given = whole
        write(parameter, given.to(parameter.device))


def _tensors(folder: Path) -> Mapping[str, Tensor]:
    files = sorted(folder.glob("*.safetensors"))
    if files:
        return _Safetensors(files)
    files = sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        raise BadInput(f"{folder}: no *.safetensors or pytorch_model.bin there")
    return {
        name: tensor
        for file in files
        for name, tensor in torch.load(file, map_location="cpu", weights_only=True).items()
    }


class _Safetensors(Mapping[str, Tensor]):
    """Tensors read when they are asked for: eight ranks of a node never hold a large model each."""

    def __init__(self, files: list[Path]) -> None:
        from safetensors import safe_open

        opened: Any = safe_open  # without types
        handles: list[Any] = [opened(file, "pt") for file in files]
        self._holders: dict[str, Any] = {name: file for file in handles for name in file.keys()}  # noqa: SIM118

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._holders[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._holders)

    def __len__(self) -> int:
        return len(self._holders)
