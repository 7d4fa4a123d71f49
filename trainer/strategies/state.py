"""A session's tensors as sharded files: each rank writes its part, any number of ranks can read
them back.

Names are the model's own, so a state saved by ddp can be loaded by fsdp and the other way round.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

import torch
from torch import Tensor

from trainer.errors import BadInput
from trainer.optim.lamb import Lamb
from trainer.strategies.host_snapshot import TensorShard, copied_aside
from trainer.strategies.session import Session


def save_tensors(session: Session, folder: Path) -> Callable[[], None]:
    """Copy the state aside now; write the copy when the answer is called."""
    held = copied_aside(_named(session))

    def write() -> None:
        import torch.distributed.checkpoint as sharded

        writer = sharded.FileSystemWriter(folder, single_file_per_rank=True, sync_files=True)
        group = session.processes.quiet_group
        with quietly():
            tensors = {
                name: each.as_dtensor() if isinstance(each, TensorShard) else each
                for name, each in held.items()
            }
            sharded.save(tensors, storage_writer=writer, process_group=group, no_dist=group is None)

    return write


def load_tensors(session: Session, folder: Path) -> None:
    # torch's library of checkpoints is a quarter of what a rank imports: not before the first step
    # of a run that begins
    import torch.distributed.checkpoint as sharded

    from trainer.checkpoint.safe_load import check_metadata, reader, refusal

    trust, processes = session.train.checkpoint.trust, session.processes
    (processes.together if processes.separate_folders else processes.decided)(
        lambda: check_metadata(folder, trust)
    )
    # One saved before the first step has no optimizer state, and needs none
    stored = reader(folder, trust).read_metadata().state_dict_metadata
    if any(name.startswith("optimizer.") for name in stored):
        _make_room(session)
    state = _named(session)
    group = processes.quiet_group
    try:
        with quietly():
            sharded.load(
                state,
                storage_reader=reader(folder, trust),
                process_group=group,
                no_dist=group is None,
            )
    except (RuntimeError, ValueError, UnpicklingError, sharded.CheckpointException) as error:
        if "ize mismatch" in str(error) or "Missing key" in str(error):
            raise BadInput(
                f"{folder}: holds another model than the profile describes:"
                f" {str(error).splitlines()[0]}"
            ) from None
        if refused := _refused(error):
            raise refusal(folder, refused) from None
        raise
    session.weights.publish()


def _refused(error: BaseException) -> BaseException | None:
    """The pickle that was not read, on whichever rank."""
    from torch.distributed.checkpoint import CheckpointException

    if isinstance(error, CheckpointException):
        return next(
            (each for each, _ in error.failures.values() if isinstance(each, UnpicklingError)), None
        )
    return error if isinstance(error, UnpicklingError) else None


@contextmanager
def quietly() -> Iterator[None]:
    """The library warns of running without a process group, which is what one process does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _named(session: Session) -> dict[str, Tensor]:
    tensors = {f"model.{name}": master.detach() for name, master in session.weights.masters.items()}
    for name, parameter in session.module.named_parameters():
        if name not in session.weights.masters:  # frozen
            tensors[f"model.{name}"] = parameter.detach()
    for name, parameter in session.weights.masters.items():
        for key, value in session.optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{name}.{key}"] = value
    return tensors


def _make_room(session: Session) -> None:
    """The optimizer's state as it will be after its first step: zeros, to be overwritten."""
    adam = isinstance(session.optimizer, torch.optim.AdamW)
    for parameter in session.weights.masters.values():
        state = session.optimizer.state[parameter]
        if isinstance(session.optimizer, Lamb):
            state.update(session.optimizer.room(parameter))
        elif adam:
            fused = session.optimizer.param_groups[0]["fused"]
            state["step"] = torch.zeros(
                (), dtype=torch.float32, device=parameter.device if fused else "cpu"
            )
            state["exp_avg"], state["exp_avg_sq"] = (
                torch.zeros_like(parameter),
                torch.zeros_like(parameter),
            )
        elif session.train.optimizer.momentum:
            state["momentum_buffer"] = torch.zeros_like(parameter)
