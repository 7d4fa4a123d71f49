"""Sums that must come out even before anything starts; every complaint shows the numbers."""

from __future__ import annotations

from trainer.config import Profile, Train
from trainer.errors import BadInput


def accumulation(train: Train, world_size: int) -> int:
    """Micro-batches per optimizer step on each rank."""
    together = train.device_batch_size * world_size
    if together < 1 or train.batch_size < together or train.batch_size % together:
        raise BadInput(
            f"batch_size {train.batch_size} is not a multiple of device_batch_size"
            f" {train.device_batch_size} x {world_size} processes = {together}; set"
            f" train.batch_size to {_suggestion(train.batch_size, together)} or change"
            " train.device_batch_size"
        )
    return train.batch_size // together


def rounds(train: Train, world_size: int) -> int:
    """Micro-batches per optimizer step on the ranks that take most of them."""
    return -(-(train.batch_size // train.device_batch_size) // world_size)


def check(profile: Profile, world_size: int) -> None:
    """Refuse settings that contradict one another or the number of processes."""
    train = profile.train
    _check_sizes(profile)
    if not _shares_unevenly(profile, world_size):
        accumulation(train, world_size)
    _check_model(train)
    _check_schedules(train)
    _check_strategy(train)
    _check_packing(train)
    _check_latency(train)


def padded_vocab(train: Train) -> int:
    multiple = max(1, train.fast.padded_vocab)
    return -(-train.model.vocab_size // multiple) * multiple


def sequence_length(train: Train) -> int:
    return train.data.sequence or train.model.context


def packs(train: Train) -> bool:
    """Whether documents share rows; `auto` that no device decided on is off."""
    return train.data.layout == "documents" and train.data.packing == "on"


def _shares_unevenly(profile: Profile, world_size: int) -> bool:
    """An elastic run keeps its batch on any number of processes: its micro-batches are dealt out
    in turn, and some ranks take one more than others. The loss is a mean over the whole batch,
    whoever computes which part."""
    train = profile.train
    return (
        profile.launch.min_nodes > 0
        and train.strategy.name != "deepspeed"  # its engine counts the same number on every rank
        and train.batch_size % train.device_batch_size == 0
        and train.batch_size // train.device_batch_size >= world_size
    )


def _suggestion(given: int, together: int) -> int:
    return max(together, given // together * together)


def _check_sizes(profile: Profile) -> None:
    """Sizes that nothing can be divided by or made of."""
    train, model, launch = profile.train, profile.train.model, profile.launch
    sizes = {
        "launch.nodes": launch.nodes,
        "launch.processes_per_node": launch.processes_per_node,
        "train.batch_size": train.batch_size,
        "train.device_batch_size": train.device_batch_size,
        "train.model.layers": model.layers,
        "train.model.heads": model.heads,
        "train.model.width": model.width,
        "train.model.context": model.context,
        "train.model.vocab_size": model.vocab_size,
    }
    for name, size in sizes.items():
        if size < 1:
            raise BadInput(f"{name} {size}: must be 1 or more")
    if model.kv_heads < 0:
        raise BadInput(f"train.model.kv_heads {model.kv_heads}: must be 0 or more")


def _check_model(train: Train) -> None:
    model = train.model
    if model.kind == "mlp":
        return
    if model.width % model.heads:
        raise BadInput(f"model.width {model.width} is not a multiple of model.heads {model.heads}")
    kv_heads = model.kv_heads or model.heads
    if model.heads % kv_heads:
        raise BadInput(f"model.heads {model.heads} is not a multiple of model.kv_heads {kv_heads}")
    if sequence_length(train) > model.context:
        raise BadInput(
            f"data.sequence {train.data.sequence} is longer than model.context {model.context}"
        )
    scaling = model.rope_scaling
    if scaling.kind != "none" and scaling.factor < 1:
        raise BadInput(f"model.rope_scaling.factor {scaling.factor:g}: must be 1 or more")
    if scaling.kind == "llama3" and scaling.high_frequency <= scaling.low_frequency:
        raise BadInput(
            f"model.rope_scaling.high_frequency {scaling.high_frequency:g} must be more than"
            f" low_frequency {scaling.low_frequency:g}"
        )
    if train.distill.teacher and model.kind != "gpt2":
        raise BadInput(f"distill.teacher needs model.kind gpt2, not {model.kind}")


def _check_schedules(train: Train) -> None:
    untils = [until for _, until in train.checkpoint.schedule]
    if untils != sorted(set(untils)):
        raise BadInput(
            f"checkpoint.schedule: each `until` must be larger than the one before, not {untils}"
        )
    if any(every < 1 for every, _ in train.checkpoint.schedule):
        raise BadInput("checkpoint.schedule: each `every` must be 1 or more")
    if train.minutes < 0:
        raise BadInput(f"minutes {train.minutes}: must be 0 or more")
    if train.steps < 1:
        raise BadInput(f"steps {train.steps}: must be 1 or more")
    if train.schedule.warmup_steps > (train.schedule.decay_steps or train.steps):
        raise BadInput(
            f"schedule.warmup_steps {train.schedule.warmup_steps} is more than the steps to decay"
            f" over {train.schedule.decay_steps or train.steps}"
        )


def _check_strategy(train: Train) -> None:
    strategy = train.strategy
    if strategy.zero_offload == "parameters" and strategy.zero_stage != 3:
        raise BadInput(
            f"strategy.zero_offload parameters needs zero_stage 3, not {strategy.zero_stage}"
        )
    if train.precision == "bf16-master" and strategy.name != "ddp":
        raise BadInput(
            f"precision bf16-master is for ddp; {strategy.name} keeps its own master weights: use"
            " bf16"
        )
    if train.precision == "bf16-master" and train.optimizer.name != "adamw":
        raise BadInput(
            f"precision bf16-master is for optimizer adamw, not {train.optimizer.name}: use bf16"
            " with it"
        )
    if strategy.name == "deepspeed":
        _check_deepspeed(train)
    if train.precision == "fp16" and strategy.name == "fsdp" and train.fast.precision != "auto":
        raise BadInput("precision fp16 with fsdp is not supported; use bf16")
    if train.model.kind == "mlp" and strategy.name != "ddp":
        raise BadInput(f"model.kind mlp trains with strategy ddp, not {strategy.name}")


def _check_packing(train: Train) -> None:
    if train.data.packing != "on":
        return
    if train.data.layout != "documents":
        raise BadInput(
            f"data.packing on is for data.layout documents; {train.data.layout} rows have no"
            " padding"
        )
    if train.model.kind not in ("gpt2", "llama"):
        raise BadInput(f"data.packing on is for gpt2 and llama, not {train.model.kind}")
    if train.data.stream:
        raise BadInput("data.packing on needs rows that can be looked up; set data.stream=false")
    if train.strategy.name == "neuron":
        raise BadInput("data.packing on is for ddp, fsdp and deepspeed, not neuron")


def _check_deepspeed(train: Train) -> None:
    """What ZeRO's engine cannot do; each would otherwise be left out in silence."""
    if train.guard.spike_factor:
        raise BadInput(
            f"guard.spike_factor {train.guard.spike_factor} is for ddp, fsdp and neuron:"
            " deepspeed's engine moves the weights before a loss can be turned down; set"
            " guard.spike_factor=0 or use strategy fsdp"
        )
    if train.optimizer.name == "lamb":
        raise BadInput(
            "optimizer lamb is for ddp, fsdp and neuron: ZeRO lays all tensors end to end, and LAMB"
            " needs the size of each; use strategy fsdp, or optimizer adamw"
        )
    if train.optimizer.name != "adamw":
        raise BadInput(
            f"strategy deepspeed trains with optimizer adamw, not {train.optimizer.name}; use"
            " strategy ddp or fsdp"
        )


def _check_latency(train: Train) -> None:
    data = train.data
    if data.latency < 0:
        raise BadInput(f"data.latency {data.latency:g}: must be 0 or more seconds")
    if data.latency and data.source != "synthetic":
        raise BadInput(
            f"data.latency is for data.source synthetic; {data.source} is as slow as its storage"
        )
