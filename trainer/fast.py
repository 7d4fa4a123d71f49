"""The fast path: what `train.fast` leaves to `auto` is decided here, by the device and the run.

A decision never changes what is computed beyond rounding: dropout, masks, batch and schedule stay
the recipe's. What cannot be combined is decided, with the reason, instead of refused.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import Any, Literal

from trainer.config import Fast, Train
from trainer.errors import BadInput
from trainer.frozen import frozen
from trainer.recompute import as_asked, recomputing
from trainer.validate import packs, padded_vocab, sequence_length

_TENSOR_CORE_COLUMNS = 128
_MOST_TOKENS = 65_536  # of a micro-batch: larger ones gain less than one per cent on an H200
_USED_MEMORY = 0.6  # of the device's: fragments, communication buffers and evaluation need the rest
_STATE_BYTES = 18  # per parameter: bf16 weights, fp32 masters and gradients, AdamW's two moments
# Kept for backward per token, layer and unit of width; measured
_TOKEN_BYTES = {"compiled": 44, "plain": 110}
_LANGUAGE_MODELS = ("gpt2", "llama")


@frozen
class Chip:
    """The device that a process trains on."""

    kind: Literal["cpu", "cuda"] = "cpu"
    name: str = "CPU"
    has_bf16: bool = False
    memory: int = 0  # bytes
    can_compile: bool = False  # Triton needs a C compiler for its launchers
    has_float8: bool = False


def chip_of(device: object) -> Chip:
    import torch

    assert isinstance(device, torch.device)
    if device.type != "cuda":
        return Chip()
    properties = torch.cuda.get_device_properties(device)
    return Chip(
        "cuda",
        properties.name,
        properties.major >= 8,
        properties.total_memory,
        any(shutil.which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang")),
        (properties.major, properties.minor) >= (8, 9),
    )


@frozen
class Decision:
    setting: str
    value: object
    reason: str


def decided(train: Train, world_size: int, chip: Chip) -> tuple[Train, list[Decision]]:
    """The settings with nothing left to `auto`, and each that differs from a plain run."""
    made: list[Decision] = []
    if train.precision == "fp16" and train.strategy.name == "fsdp":
        made.append(Decision("train.precision", "bf16", "fsdp keeps no loss scale for fp16"))
        train = replace(train, precision="bf16")
    if train.strategy.activation_offload and train.strategy.activation_checkpointing is False:
        reason = "nothing is recomputed whose inputs could be offloaded"
        made.append(Decision("train.strategy.activation_offload", False, reason))
        train = replace(train, strategy=replace(train.strategy, activation_offload=False))
    if train.precision == "fp8":
        train = _with_float8(train, chip, made)
    if chip.kind == "cpu" or train.fast.mode == "off" or train.strategy.name == "neuron":
        return replace(train, fast=_plain(train.fast), strategy=as_asked(train.strategy)), made
    train = _with_precision(train, world_size, chip, made)
    train = _with_packing(train, made)
    if train.strategy.name == "deepspeed" and train.strategy.zero_stage == 2 and world_size == 1:
        reason = "one process holds all gradients anyway; stage 2 would copy them at each backward"
        made.append(Decision("train.strategy.zero_stage", 1, reason))
        train = replace(train, strategy=replace(train.strategy, zero_stage=1))
    fused = _fused_loss(train, chip, made)
    train = replace(train, fast=replace(train.fast, fused_loss=fused))
    train = _with_recomputing(train, world_size, chip, made)
    fast = train.fast
    compile_ = _compile(train, chip, made)
    columns = fast.padded_vocab
    if not columns:
        columns = _TENSOR_CORE_COLUMNS if train.model.kind in _LANGUAGE_MODELS else 1
    train = replace(train, fast=replace(fast, compile=compile_, padded_vocab=columns))
    if padded_vocab(train) != train.model.vocab_size and not fast.padded_vocab:
        reason = f"{padded_vocab(train)} columns suit tensor cores; the padding takes no part"
        made.append(Decision("train.fast.padded_vocab", columns, reason))
    train = _with_micro_batch(train, world_size, chip, made)
    graphs = _cuda_graphs(train, world_size, made)
    return replace(train, fast=replace(train.fast, cuda_graphs=graphs)), made


def with_saved_padding(train: Train, state: dict[str, Any]) -> Train:
    """A checkpoint's vocabulary stays padded as it was saved, on whichever device."""
    saved = state.get("profile", {}).get("train", {}).get("fast", {}).get("padded_vocab")
    if not saved:
        return train
    return replace(train, fast=replace(train.fast, padded_vocab=int(saved)))


def line(decisions: list[Decision], chip: Chip) -> str:
    """One line for the start of the log; empty where nothing was decided."""
    if not decisions:
        return ""
    chosen = ", ".join(f"{each.setting.removeprefix('train.')}={each.value}" for each in decisions)
    return f"fast on {chip.name}: {chosen} (reasons: --explain; off: --set train.fast=off)"


def _plain(fast: Fast) -> Fast:
    """As written; `auto` is off."""
    return replace(
        fast,
        compile="off" if fast.compile == "auto" else fast.compile,
        cuda_graphs="off" if fast.cuda_graphs == "auto" else fast.cuda_graphs,
        fused_loss="off" if fast.fused_loss == "auto" else fast.fused_loss,
        padded_vocab=max(1, fast.padded_vocab),
    )


def _with_precision(train: Train, world_size: int, chip: Chip, made: list[Decision]) -> Train:
    if train.fast.precision == "as-given" or train.precision not in ("fp16", "bf16"):
        return train
    if not chip.has_bf16:
        return train
    plain = train.strategy.name == "ddp" and world_size == 1 and train.optimizer.name == "adamw"
    wanted: Literal["bf16", "bf16-master"] = (
        "bf16-master" if plain and not train.distill.teacher else "bf16"
    )
    if wanted == train.precision:
        return train
    reason = (
        "as fast as fp16 without its overflows, so that nothing is upcast"
        if train.precision == "fp16"
        else "weights in bf16 with fp32 masters: nothing is cast during the step"
    )
    made.append(Decision("train.precision", wanted, reason))
    return replace(train, precision=wanted)


def _with_packing(train: Train, made: list[Decision]) -> Train:
    data = train.data
    if data.packing != "auto" or data.layout != "documents" or data.stream:
        return train
    if train.model.kind not in _LANGUAGE_MODELS:
        return train
    reason = "documents share rows, so next to nothing is padding; the loss is the same"
    made.append(Decision("train.data.packing", "on", reason))
    return replace(train, data=replace(data, packing="on"))


def _with_float8(train: Train, chip: Chip, made: list[Decision]) -> Train:
    if not chip.has_float8:
        raise BadInput(
            f"train.precision fp8 needs a GPU with float8 (compute capability 8.9 or later), not"
            f" {chip.name}; use bf16"
        )
    if train.model.kind not in _LANGUAGE_MODELS:
        raise BadInput(
            f"train.precision fp8 is for gpt2 and llama, not {train.model.kind}; use bf16"
        )
    made.append(Decision("train.fast.float8", True, "asked for by train.precision: fp8"))
    return replace(train, precision="bf16", fast=replace(train.fast, float8=True))


def _compile(
    train: Train, chip: Chip, made: list[Decision]
) -> Literal["auto", "off", "blocks", "model"]:
    if train.fast.compile != "auto":
        return train.fast.compile
    if train.model.kind == "mlp" or train.log.activations:
        return "off"
    if not chip.can_compile:
        reason = "there is no C compiler here, which Triton needs"
        made.append(Decision("train.fast.compile", "off", reason))
        return "off"
    gathers = train.strategy.name == "deepspeed" and train.strategy.zero_stage == 3
    if gathers and (
        train.strategy.activation_checkpointing or train.strategy.zero_offload != "none"
    ):
        return "off"  # recomputing a block gathers its parameters once more, inside compiled code
    whole = train.strategy.name != "fsdp" and not gathers and train.model.kind in _LANGUAGE_MODELS
    whole = whole and not train.strategy.activation_checkpointing and not train.distill.teacher
    # Float8 has so many parts that a model of 24 blocks compiles for minutes; they are all alike
    whole = whole and not train.fast.float8
    choice: Literal["blocks", "model"] = "model" if whole else "blocks"
    reason = "fewer and larger kernels" + ("" if whole else "; block by block")
    made.append(Decision("train.fast.compile", choice, reason))
    return choice


def _fused_loss(train: Train, chip: Chip, made: list[Decision]) -> Literal["auto", "on", "off"]:
    if train.fast.fused_loss != "auto":
        return train.fast.fused_loss
    if train.model.kind not in _LANGUAGE_MODELS or train.distill.teacher or not chip.can_compile:
        return "off"
    made.append(Decision("train.fast.fused_loss", "on", "the logits of all tokens are never held"))
    return "on"


def _with_micro_batch(train: Train, world_size: int, chip: Chip, made: list[Decision]) -> Train:
    """Larger micro-batches where memory allows: the same batch in fewer, larger pieces."""
    if train.fast.micro_batch == "as-given":
        return train
    sized_by_hand = train.strategy.activation_checkpointing or train.strategy.cpu_offload
    if train.model.kind not in _LANGUAGE_MODELS or sized_by_hand or train.precision == "fp16":
        return train
    size, whole = train.device_batch_size, train.batch_size
    while whole % (2 * size * world_size) == 0 and _fits(train, world_size, chip, 2 * size):
        size *= 2
    if size == train.device_batch_size:
        return train
    reason = f"in place of {train.device_batch_size}: the same batch of {train.batch_size}"
    made.append(Decision("train.device_batch_size", size, reason))
    return replace(train, device_batch_size=size)


def _with_recomputing(train: Train, world_size: int, chip: Chip, made: list[Decision]) -> Train:
    """As few blocks as the device's memory asks for."""
    stage_3 = train.strategy.name == "deepspeed" and train.strategy.zero_stage == 3
    compiles = chip.can_compile and train.fast.compile != "off" and not stage_3
    per_unit = _TOKEN_BYTES["compiled"] if compiles and train.precision[:4] == "bf16" else 0
    strategy, reason = recomputing(train, world_size, chip.memory, per_unit)
    if reason:
        made.append(Decision("train.strategy.activation_checkpointing", True, reason))
    return replace(train, strategy=strategy)


def _fits(train: Train, world_size: int, chip: Chip, samples: int) -> bool:
    tokens = samples * sequence_length(train)
    if tokens > _MOST_TOKENS:
        return False
    shards = world_size if train.strategy.name != "ddp" else 1
    needed = parameters(train) * _STATE_BYTES / shards
    kept = _TOKEN_BYTES["plain" if train.fast.compile == "off" else "compiled"]
    needed += tokens * train.model.layers * train.model.width * kept
    if train.fast.fused_loss != "on":
        needed += tokens * padded_vocab(train) * 6  # logits in bf16 and fp32
    return needed < _USED_MEMORY * chip.memory


def parameters(train: Train) -> int:
    """Nearly; norms, biases and positions are left out."""
    model, vocab = train.model, padded_vocab(train)
    if model.kind == "llama":
        keys = 2 * (model.kv_heads or model.heads) / model.heads
        block = model.width**2 * (2 + keys) + 3 * model.width * (model.mlp_width or 4 * model.width)
        return int(2 * vocab * model.width + model.layers * block)
    return vocab * model.width + model.layers * 12 * model.width**2


def _cuda_graphs(
    train: Train, world_size: int, made: list[Decision]
) -> Literal["auto", "on", "off"]:
    if train.fast.cuda_graphs == "off":
        return "off"
    obstacle = _graph_obstacle(train, world_size)
    if not obstacle:
        if train.fast.cuda_graphs == "auto":
            reason = "the host launches one graph a micro-batch"
            made.append(Decision("train.fast.cuda_graphs", "on", reason))
        return "on"
    if train.fast.cuda_graphs == "on":
        made.append(Decision("train.fast.cuda_graphs", "off", f"asked for, but {obstacle}"))
    return "off"


def _graph_obstacle(train: Train, world_size: int) -> str:
    """Why a step cannot be recorded once and replayed; empty where it can."""
    if train.strategy.name != "ddp" or world_size > 1:
        return f"not with strategy {train.strategy.name} on {world_size} processes"
    if train.model.kind not in _LANGUAGE_MODELS or train.distill.teacher:
        return "the model's loss has several parts"
    if train.fast.compile == "off":
        return "the model is not compiled"
    if train.data.layout != "packed":
        return "the attention differs" if packs(train) else "batches differ in length"
    if train.strategy.activation_checkpointing:
        return "activations are recomputed"
    if train.precision == "fp16":
        return "fp16's loss scale is decided on the host"
    return ""
