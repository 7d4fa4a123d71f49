"""A profile that is rehearsed on a machine without its devices: the arithmetic is made small at the
last moment, in the processes themselves. Launch, data, schedule, checkpoints and evaluation stay
the profile's own; each replacement is told in one line.

TRAINER_REHEARSAL  steps=4,processes=1: how many steps, and how many processes on each node
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trainer.config import Model, Profile, Train
from trainer.errors import BadInput

VARIABLE = "TRAINER_REHEARSAL"
LAYERS, WIDTH, HEADS, CONTEXT = 2, 64, 8, 128  # at most; the vocabulary is the data's


def rehearsal_steps(environment: Mapping[str, str]) -> int:
    """How many steps a rehearsal trains; 0 where this is none."""
    text = environment.get(VARIABLE, "")
    if not text:
        return 0
    settings = dict(part.partition("=")[::2] for part in text.split(","))
    if not settings.get("steps", "").isdigit() or not int(settings["steps"]):
        raise BadInput(f'{VARIABLE} "{text}": write it as steps=4,processes=1')
    return int(settings["steps"])


def rehearsed(profile: Profile, steps: int, world_size: int) -> tuple[Profile, list[str]]:
    """The profile for so many processes of this machine, and what differs."""
    given = profile.train
    most = max(profile.launch.max_nodes, world_size)  # elastic runs keep their batch at every size
    train = replace(
        given,
        steps=min(given.steps, steps),
        schedule=replace(
            given.schedule, decay_steps=given.schedule.decay_steps or given.steps
        ),  # a few steps of the whole run's schedule
        batch_size=min(given.batch_size, given.device_batch_size * most),
        device="cpu",
        precision="fp32",
        model=_narrow(given.model, given.data.sequence),
        strategy=replace(
            given.strategy, name="ddp" if given.strategy.name == "neuron" else given.strategy.name
        ),
        data=replace(given.data, tokenizer=_tokenizer(given.data.tokenizer)),
    )
    return replace(profile, train=train), _differences(given, train)


def _narrow(model: Model, sequence: int) -> Model:
    if model.kind == "mlp":
        return model  # small as it is
    heads = min(model.heads, HEADS)
    return replace(
        model,
        layers=min(model.layers, LAYERS),
        heads=heads,
        kv_heads=max(1, model.kv_heads * heads // model.heads) if model.kv_heads else 0,
        width=min(model.width, WIDTH),
        mlp_width=round(model.mlp_width * min(model.width, WIDTH) / model.width),
        context=min(model.context, max(CONTEXT, sequence)),
        initial_weights="",  # of another shape
    )


def _tokenizer(name: str) -> str:
    """One of the hub's is not asked for: ranks that reach the hub and ranks that do not would read
    different data."""
    return name if name in ("bytes", "trained") or Path(name).exists() else "bytes"


def _differences(before: Train, after: Train) -> list[str]:
    old, new = before.model, after.model
    pairs = [
        (f"{after.steps} steps", f"{before.steps}"),
        (
            f"{new.layers} layers of width {new.width}, context {new.context}",
            f"{old.layers} of {old.width}, context {old.context}",
        ),
        (f"weights from {new.initial_weights or 'a seed'}", old.initial_weights or "a seed"),
        (f"batch {after.batch_size}", f"{before.batch_size}"),
        (f"precision {after.precision}", f"{before.precision}, which is for devices"),
        (
            f"strategy {after.strategy.name}",
            f"{before.strategy.name}, which is for Trainium",
        ),
        (f"tokenizer {after.data.tokenizer}", f"{before.data.tokenizer} of the hub"),
    ]
    changed = [
        before.steps != after.steps,
        (old.layers, old.width, old.context) != (new.layers, new.width, new.context),
        old.initial_weights != new.initial_weights,
        before.batch_size != after.batch_size,
        before.precision != after.precision,
        before.strategy != after.strategy,
        before.data.tokenizer != after.data.tokenizer,
    ]
    return [
        f"rehearsal: {now} in place of {then}"
        for (now, then), differs in zip(pairs, changed, strict=True)
        if differs
    ]
