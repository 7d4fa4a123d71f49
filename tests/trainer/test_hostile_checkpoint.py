"""Checkpoints that somebody else has written into a run's folder: what would run code when it is
loaded is refused."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.trainer.launching import Ended, launch, launch_module
from trainer.checkpoint.manifest import MARKER, settled, write_json
from trainer.checkpoint.pickles import Refused, read_pickle
from trainer.checkpoint.safe_load import check_metadata
from trainer.errors import BadInput
from trainer.torchrun import RendezvousState

pytestmark = pytest.mark.processes
COMMON = (
    "train.schedule.warmup_steps=1",
    "train.schedule.decay_steps=4",
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.evaluate.every=0",
    "train.data.validation_fraction=0",
)
DDP, ZERO = (
    ("train.strategy.name=ddp",),
    ("train.strategy.name=deepspeed", "train.strategy.zero_stage=2"),
)
STEP = "step-00000002"


class Payload:
    """What leaves a trace when it is unpickled as pickle would."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.trace}",)


@pytest.fixture(scope="module")
def ddp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("ddp") / "run", DDP)


@pytest.fixture(scope="module")
def zero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("deepspeed")
    return trained(tmp_path_factory.mktemp("zero") / "run", ZERO)


def trained(output: Path, settings: tuple[str, ...]) -> Path:
    ended = resumed(output, settings, 2)
    assert ended.code == 0, ended.text
    return output


def resumed(output: Path, settings: tuple[str, ...], steps: int = 3) -> Ended:
    return launch("gpt2-micro-smoke", output, *COMMON, *settings, f"train.steps={steps}")


def poisoned(run: Path, folder: Path, poison: Callable[[Path], None]) -> Path:
    """A copy of the run whose newest checkpoint was changed, together with its marker."""
    copy = folder / "run"
    shutil.copytree(run, copy)
    step = copy / "checkpoints" / STEP
    poison(step)
    names = [
        str(path.relative_to(step))
        for path in step.rglob("*")
        if path.is_file() and path.name != MARKER
    ]
    write_json(step / MARKER, {"step": 2, "files": {name: settled(step / name) for name in names}})
    return copy


def metadata_runs_code(trace: Path) -> Callable[[Path], None]:
    return lambda step: (step / ".metadata").write_bytes(pickle.dumps(Payload(trace)))  # type: ignore[return-value]


def tensor_declared_as_bytes(trace: Path) -> Callable[[Path], None]:
    """torch unpickles what its metadata calls bytes, whatever that is."""

    def poison(step: Path) -> None:
        from torch.distributed.checkpoint.metadata import BytesStorageMetadata

        metadata = pickle.loads((step / ".metadata").read_bytes())
        name = next(iter(metadata.state_dict_metadata))
        metadata.state_dict_metadata[name] = BytesStorageMetadata()
        index = next(index for index in metadata.storage_data if index.fqn == name)
        _put_payload(step, metadata.storage_data[index], trace)
        metadata.storage_data = {
            type(index)(each.fqn) if each.fqn == name else each: where
            for each, where in metadata.storage_data.items()
        }
        (step / ".metadata").write_bytes(pickle.dumps(metadata))

    return poison


def shard_runs_code(trace: Path) -> Callable[[Path], None]:
    def poison(step: Path) -> None:
        metadata = pickle.loads((step / ".metadata").read_bytes())
        _put_payload(step, next(iter(metadata.storage_data.values())), trace)
        (step / ".metadata").write_bytes(pickle.dumps(metadata))

    return poison


def _put_payload(step: Path, where: Any, trace: Path) -> None:
    out = io.BytesIO()
    torch.save(Payload(trace), out)
    file = step / where.relative_path
    where.offset, where.length = file.stat().st_size, len(out.getvalue())
    file.write_bytes(file.read_bytes() + out.getvalue())


@pytest.mark.parametrize("poison", [metadata_runs_code, tensor_declared_as_bytes, shard_runs_code])
def test_a_checkpoint_that_would_run_code_is_refused_and_runs_none(
    ddp: Path, tmp_path: Path, poison: Any
) -> None:
    trace = tmp_path / "trace"
    ended = resumed(poisoned(ddp, tmp_path, poison(trace)), DDP)
    assert not trace.exists()
    assert ended.code == 5, ended.text
    assert_one_line(ended)


def test_on_the_users_word_it_is_loaded_as_the_library_would(ddp: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    run = poisoned(ddp, tmp_path, metadata_runs_code(trace))
    resumed(run, (*DDP, "train.checkpoint.trust=true"))
    assert trace.exists()


@pytest.mark.parametrize(
    "name", ["mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt"]
)
@pytest.mark.parametrize("ranks", [1, 2], ids=["as it was", "converted"])
def test_a_deepspeed_checkpoint_that_would_run_code_is_refused_and_runs_none(
    zero: Path, tmp_path: Path, name: str, ranks: int
) -> None:
    trace = tmp_path / "trace"

    def poison(step: Path) -> None:
        torch.save(Payload(trace), step / "deepspeed" / name)
        state = json.loads((step / "state.json").read_text())
        write_json(step / "state.json", {**state, "world_size": ranks})

    ended = resumed(poisoned(zero, tmp_path, poison), ZERO)
    assert not trace.exists()
    assert ended.code == 5, ended.text
    assert_one_line(ended)


def test_the_conversion_itself_runs_nothing_of_a_checkpoint(zero: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    name = "deepspeed/zero_pp_rank_0_mp_rank_00_optim_states.pt"
    run = poisoned(zero, tmp_path, lambda step: torch.save(Payload(trace), step / name))
    ended = launch_module(
        "trainer.checkpoint.universal",
        "--input_folder",
        str(run / "checkpoints" / STEP / "deepspeed"),
        "--output_folder",
        str(tmp_path / "universal"),
        "--inject_missing_state",
    )
    assert not trace.exists()
    assert ended.code == 5 and "could run code" in ended.text.splitlines()[-1], ended.text


def test_an_untouched_deepspeed_checkpoint_is_resumed(zero: Path, tmp_path: Path) -> None:
    ended = resumed(poisoned(zero, tmp_path, lambda step: None), ZERO)
    assert ended.code == 0, ended.text


@pytest.mark.parametrize("strategy", ["ddp", "zero"])
def test_export_runs_nothing_of_a_checkpoint(
    strategy: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    trace = tmp_path / "trace"
    name = ".metadata" if strategy == "ddp" else "deepspeed/mp_rank_00_model_states.pt"

    def poison(step: Path) -> None:
        if strategy == "ddp":
            (step / name).write_bytes(pickle.dumps(Payload(trace)))
        else:
            torch.save(Payload(trace), step / name)

    run = poisoned(request.getfixturevalue(strategy), tmp_path, poison)
    ended = launch_module("trainer.export", str(run), str(tmp_path / "model"))
    assert not trace.exists()
    assert ended.code == 5, ended.text
    assert "could run code" in ended.text and "Traceback" not in ended.text


@pytest.mark.parametrize(
    "text",
    [
        "7",
        "[]",
        "{}",
        '{"step": "two"}',
        '{"step": -1}',
        "[" * 100_000,
        '{"step": 2, "recent": 7}',
        "{",
    ],
)
def test_a_state_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    from trainer.checkpoint.checkpoint import read_state

    (tmp_path / "state.json").write_text(text)
    with pytest.raises(BadInput, match=r"state\.json"):
        read_state(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda metadata: 7,
        lambda metadata: None,
        lambda metadata: _with(metadata, storage_data=7),
        lambda metadata: _with(metadata, state_dict_metadata={"a": 7}),
        lambda metadata: _with(
            metadata,
            storage_data={
                key: _with(where, relative_path="../../etc/passwd")
                for key, where in metadata.storage_data.items()
            },
        ),
        lambda metadata: _with(
            metadata,
            storage_data={
                key: _with(where, offset="far") for key, where in metadata.storage_data.items()
            },
        ),
    ],
)
def test_metadata_that_describes_something_else_is_refused(
    ddp: Path, tmp_path: Path, change: Any
) -> None:
    metadata = pickle.loads((ddp / "checkpoints" / STEP / ".metadata").read_bytes())
    (tmp_path / ".metadata").write_bytes(pickle.dumps(change(metadata)))
    with pytest.raises(BadInput, match="could run code"):
        check_metadata(tmp_path, trust=False)


def test_half_a_pickle_is_refused_like_a_bad_one(ddp: Path, tmp_path: Path) -> None:
    whole = (ddp / "checkpoints" / STEP / ".metadata").read_bytes()
    for length in range(0, len(whole), len(whole) // 50):
        with pytest.raises(Refused):
            read_pickle(io.BytesIO(whole[:length]), ())


def test_what_nodes_put_into_their_meeting_is_read_without_running_it(tmp_path: Path) -> None:
    from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc, _RendezvousState

    state = _RendezvousState()
    state.participants[_NodeDesc("127.0.0.1", 1, 0)] = 0
    state.wait_list.add(_NodeDesc("127.0.0.2", 2, 0))
    read = RendezvousState.loads(RendezvousState.dumps(state))
    assert (read.participants, read.wait_list) == (state.participants, state.wait_list)
    with pytest.raises(RendezvousState.PickleError, match=r"system"):
        RendezvousState.loads(pickle.dumps(Payload(tmp_path / "trace")))
    assert not (tmp_path / "trace").exists()


def assert_one_line(ended: Ended) -> None:
    lines = [line for line in ended.text.splitlines() if line.startswith("trainer:")]
    assert (
        len(lines) == 1 and "could run code" in lines[0] and "checkpoint.trust=true" in lines[0]
    ), ended.text
    assert "Traceback" not in ended.text


def _with(value: Any, **changes: Any) -> Any:
    for name, each in changes.items():
        object.__setattr__(value, name, each)
    return value
