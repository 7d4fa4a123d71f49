"""deepspeed: ZeRO stages 1 to 3, its JSON configuration rendered from the profile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoint import read_state
from trainer.config import Train
from trainer.data.loader import Batch
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput
from trainer.models import build, fresh_values, initialise, write
from trainer.optim.deepspeed_config import rendered
from trainer.optim.optimizer import Weights, decay_groups
from trainer.optim.schedule import learning_rate
from trainer.strategies import deepspeed_library
from trainer.strategies.activations import recompute_blocks
from trainer.strategies.deepspeed_clipping import clip_on_device
from trainer.strategies.session import Accept, Outcome, Session, normalised, seed_micro_batch

TAG = "deepspeed"


def wrap(train: Train, processes: ProcessGroup) -> Session:
    on_cpu = processes.device.type == "cpu"
    deepspeed = deepspeed_library.imported(on_cpu)
    settings = rendered(train, processes.world_size, on_cpu)
    os.environ.setdefault(
        "LOCAL_RANK", str(processes.local_rank)
    )  # it reads the environment, which one process need not have
    deepspeed.init_distributed(dist_init_required=False)
    if train.strategy.zero_stage == 3:
        with deepspeed.zero.Init(config_dict_or_path=settings):
            module = build(train)
        _initialise_in_pieces(deepspeed, module, train.seed, processes)
    else:
        with processes.device:
            module = build(train)
        initialise(module, train.seed)
    if train.model.initial_weights:
        raise BadInput("model.initial_weights is for ddp and fsdp; use one of them")
    recompute_blocks(module, train.strategy, train.model.dropout)
    if train.fast.compile in ("blocks", "model"):
        _compile(deepspeed, module, train)
    weights = Weights(module, train)
    groups = decay_groups(weights.parameters, train.optimizer.weight_decay)
    engine, optimizer, _, _ = deepspeed.initialize(
        model=module,
        optimizer=_adamw(groups, train, on_cpu),
        config=settings,
        dist_init_required=False,
    )
    clip_on_device(optimizer)
    return Session(
        train,
        processes,
        module,
        engine,
        weights,
        optimizer,
        extra={"engine": engine, "own_precision": True},
    )


def _compile(deepspeed: Any, module: Any, train: Train) -> None:
    from trainer.strategies.cuda_graphs import compile_blocks, compiled, use_fused_operators

    if train.strategy.zero_stage < 3:
        compiled(module, train)
        return
    # Stage 3 gathers parameters before a module and drops them after it: a block at a time, so
    # that nothing has to be gathered while compiled code runs
    deepspeed.utils.set_z3_leaf_modules(module, [type(block) for _, _, block in module.blocks()])
    use_fused_operators(module)
    compile_blocks(module, hooked=True)


def step(
    session: Session,
    batches: list[Batch],
    counts: dict[str, float],
    number: int,
    accept: Accept | None = None,
) -> Outcome:
    engine = session.extra["engine"]
    rate = learning_rate(session.train, session.taken)
    for group in engine.optimizer.param_groups:
        group["lr"] = rate
    losses, skipped = [], engine.skipped_steps
    for turn, batch in enumerate(batches):
        seed_micro_batch(session, number, turn)
        session.processes.progress.at("forward")
        # Packed steps differ in length from what the engine was told
        engine.set_gradient_accumulation_boundary(turn == len(batches) - 1)
        loss = normalised(session, engine(batch).float(), counts)
        # The engine divides by ranks and micro-batches; the loss is a share of the whole already.
        session.processes.progress.at("backward")
        share = session.processes.world_size * engine.gradient_accumulation_steps()
        engine.backward(loss * share)
        session.processes.progress.at("optimizer")
        engine.step()
        losses.append(loss.detach())
    missed = engine.skipped_steps - skipped
    session.taken, session.skipped = session.taken + (not missed), session.skipped + missed
    norm = engine.get_global_grad_norm()
    return Outcome(sum(losses[1:], losses[0]), norm, losses=tuple(losses))


def save(session: Session, folder: Path) -> Callable[[], None]:
    """The engine goes through its files now, and each is copied aside; the answer writes them."""
    from trainer.strategies.deepspeed_async_files import FilesAside

    engine, files = session.extra["engine"], FilesAside()
    usual, engine.checkpoint_engine = engine.checkpoint_engine, files
    try:
        engine.save_checkpoint(str(folder), tag=TAG)
    finally:
        engine.checkpoint_engine = usual
    return files.write


def load(session: Session, folder: Path) -> None:
    from trainer.checkpoint.safe_load import check_files, tensors_only

    if not (folder / TAG).is_dir():
        raise BadInput(
            f"{folder}: not written by deepspeed; resume it with the strategy it was written with,"
            " or export it"
        )
    engine, processes, trust = (
        session.extra["engine"],
        session.processes,
        session.train.checkpoint.trust,
    )
    processes.together(lambda: check_files(_share(processes, folder), trust))
    with tensors_only(trust):
        _load(engine, processes, folder, trust)


def _share(processes: ProcessGroup, folder: Path) -> list[Path]:
    """The files that this rank looks at before any is loaded: together, all of every folder."""
    files = sorted((folder / TAG).rglob("*.pt"))
    if processes.separate_folders:
        return files if processes.owns_folder else []
    return files[processes.rank :: processes.world_size]


def _load(engine: Any, processes: ProcessGroup, folder: Path, trust: bool) -> None:
    if read_state(folder).get("world_size") == processes.world_size:
        engine.load_checkpoint(str(folder), tag=TAG)
        return
    universal = folder.parent / f".universal-{folder.name}"
    _convert_for_all(processes, folder, universal, trust)
    engine._config.load_universal_checkpoint = True
    decays = [group["weight_decay"] for group in engine.optimizer.param_groups]
    engine.load_checkpoint(str(universal), tag=TAG)
    engine._config.load_universal_checkpoint = False
    processes.agreed(None)  # all have read it
    if processes.owns_folder:
        shutil.rmtree(universal, ignore_errors=True)
    _fix_loaded_groups(engine, decays)


def _convert_for_all(processes: ProcessGroup, folder: Path, universal: Path, trust: bool) -> None:
    """Once for every folder that is not the same; the others wait for it here, and what one refuses
    all refuse."""
    refusal = None
    if processes.owns_folder:
        try:
            _convert(folder, universal, trust)
        except BadInput as error:
            refusal = error
    for each in filter(None, processes.gathered(refusal)):
        raise each


def _fix_loaded_groups(engine: Any, decays: list[float]) -> None:
    """Stage 3 loads every group with the settings of the first, decay included, and one step
    counter for all of them, which each group then advances."""
    for group, decay in zip(engine.optimizer.param_groups, decays, strict=True):
        group["weight_decay"] = decay
    for state in engine.optimizer.optimizer.state.values():
        if hasattr(state.get("step"), "clone"):
            state["step"] = state["step"].clone()


def _convert(folder: Path, universal: Path, trust: bool) -> None:
    """ZeRO's pieces belong to a number of ranks; the universal form to none."""
    shutil.rmtree(universal, ignore_errors=True)  # of a run that was killed in the middle of this
    command = [
        sys.executable,
        "-m",
        "trainer.checkpoint.universal",
        "--input_folder",
        str(folder / TAG),
        "--output_folder",
        str(universal / TAG),
        "--inject_missing_state",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRAINER_TRUST": str(int(trust))},
    )
    if done.returncode:
        reason = next(reversed(done.stderr.strip().splitlines()), f"exit code {done.returncode}")
        raise BadInput(f"{folder}: cannot be converted for another number of processes: {reason}")
    (universal / "latest").write_text(TAG)


def _adamw(groups: list[dict[str, Any]], train: Train, on_cpu: bool) -> Any:
    """PyTorch's: the same steps as DeepSpeed's own, without a compiler on the node."""
    import torch

    settings = train.optimizer
    return torch.optim.AdamW(
        groups,
        lr=settings.lr,
        betas=settings.betas,
        eps=settings.eps,
        fused=train.fast.fused_optimizer and not on_cpu,
    )


def _initialise_in_pieces(deepspeed: Any, module: Any, seed: int, processes: ProcessGroup) -> None:
    for name, parameter in module.named_parameters():
        with deepspeed.zero.GatheredParameters([parameter], modifier_rank=0):
            if processes.first:
                write(
                    parameter.data,
                    fresh_values(module, name, parameter.shape, parameter.device, seed),
                )
