"""deepspeed: ZeRO stages 1 to 3, its JSON rendered from the profile so that nothing is said twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoint import read_state
from trainer.checkpoint.safe_load import check_files, tensors_only
from trainer.config import Train
from trainer.data.loader import Batch
from trainer.distributed.process_group import Place
from trainer.errors import BadInput
from trainer.models import build, fresh_values, initialise, write
from trainer.optim.deepspeed_config import rendered
from trainer.optim.optimizer import Weights, decay_groups
from trainer.optim.schedule import learning_rate
from trainer.strategies.session import Accept, Outcome, Session, normalised, seed_micro_batch

TAG = "deepspeed"


def wrap(train: Train, place: Place) -> Session:
    on_cpu = place.device.type == "cpu"
    deepspeed = _import(on_cpu)
    settings = rendered(
        train, place.world_size, on_cpu, own_kernel=not on_cpu and _can_compile(train, place)
    )
    os.environ.setdefault(
        "LOCAL_RANK", str(place.local_rank)
    )  # it reads the environment, which one process need not have
    deepspeed.init_distributed(dist_init_required=False)
    if train.strategy.zero_stage == 3:
        with deepspeed.zero.Init(config_dict_or_path=settings):
            module = build(train)
        _initialise_in_pieces(deepspeed, module, train.seed, place)
    else:
        with place.device:
            module = build(train)
        initialise(module, train.seed)
    if train.model.initial_weights:
        raise BadInput("model.initial_weights is for ddp and fsdp; use one of them")
    if train.strategy.activation_checkpointing:
        from trainer.strategies.activations import recompute_blocks

        recompute_blocks(module, train.strategy.activation_offload)
    weights = Weights(module, train)
    groups = decay_groups(weights.parameters, train.optimizer.weight_decay)
    engine, optimizer, _, _ = deepspeed.initialize(
        model=module, model_parameters=groups, config=settings, dist_init_required=False
    )
    return Session(
        train,
        place,
        module,
        engine,
        weights,
        optimizer,
        extra={"engine": engine, "own_precision": True},
    )


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
        session.place.pulse.at("forward")
        loss = normalised(session, engine(batch).float(), counts)
        # The engine divides by ranks and micro-batches; the loss is a share of the whole already.
        session.place.pulse.at("backward")
        engine.backward(loss * session.place.world_size * len(batches))
        session.place.pulse.at("optimizer")
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
    if not (folder / TAG).is_dir():
        raise BadInput(
            f"{folder}: not written by deepspeed; resume it with the strategy it was written with,"
            " or export it"
        )
    engine, place, trust = session.extra["engine"], session.place, session.train.checkpoint.trust
    place.together(lambda: check_files(_share(place, folder), trust))
    with tensors_only(trust):
        _load(engine, place, folder, trust)


def _share(place: Place, folder: Path) -> list[Path]:
    """The files that this rank looks at before any is loaded: together, all of every folder."""
    files = sorted((folder / TAG).rglob("*.pt"))
    if place.apart:
        return files if place.keeps else []
    return files[place.rank :: place.world_size]


def _load(engine: Any, place: Place, folder: Path, trust: bool) -> None:
    if read_state(folder).get("world_size") == place.world_size:
        engine.load_checkpoint(str(folder), tag=TAG)
        return
    universal = folder.parent / f".universal-{folder.name}"
    _convert_for_all(place, folder, universal, trust)
    engine._config.load_universal_checkpoint = True
    decays = [group["weight_decay"] for group in engine.optimizer.param_groups]
    engine.load_checkpoint(str(universal), tag=TAG)
    engine._config.load_universal_checkpoint = False
    place.agreed(None)  # all have read it
    if place.keeps:
        shutil.rmtree(universal, ignore_errors=True)
    _mend(engine, decays)


def _convert_for_all(place: Place, folder: Path, universal: Path, trust: bool) -> None:
    """Once for every folder that is not the same; the others wait for it here, and what one refuses
    all refuse."""
    refusal = None
    if place.keeps:
        try:
            _convert(folder, universal, trust)
        except BadInput as error:
            refusal = error
    for each in filter(None, place.gathered(refusal)):
        raise each


def _mend(engine: Any, decays: list[float]) -> None:
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


def _import(on_cpu: bool) -> Any:
    # It would go by the machine it was installed on, which may have been another.
    os.environ.setdefault("DS_ACCELERATOR", "cpu" if on_cpu else "cuda")
    try:
        import deepspeed
        import deepspeed.ops
    except ImportError:
        raise BadInput(
            'strategy deepspeed needs the deepspeed library: pip install "deepspeed>=0.19"'
        ) from None
    if on_cpu:
        # Kernels would be compiled at first use, which takes minutes and a compiler; none is needed
        # here.
        deepspeed.ops.__compatible_ops__ = {}
    deepspeed.utils.logger.setLevel("ERROR")
    return deepspeed


def _can_compile(train: Train, place: Place) -> bool:
    """Whether DeepSpeed can make its Adam at first use; PyTorch's takes the same steps, only slower
    where it is offloaded."""
    if train.strategy.zero_offload != "none":
        compilers = [os.environ.get("CXX", "c++")]
    else:
        compilers = ["nvcc", str(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/nvcc"))]
    if any(map(shutil.which, compilers)):
        return True
    place.say(f"deepspeed: no compiler {compilers[0]} for its own Adam: PyTorch's is used")
    return False


def _initialise_in_pieces(deepspeed: Any, module: Any, seed: int, place: Place) -> None:
    for name, parameter in module.named_parameters():
        with deepspeed.zero.GatheredParameters([parameter], modifier_rank=0):
            if place.first:
                write(
                    parameter.data,
                    fresh_values(module, name, parameter.shape, parameter.device, seed),
                )
