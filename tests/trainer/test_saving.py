"""Saving while training goes on, whatever the strategy."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.trainer.launching import (
    launch,
    launch_module,
    losses,
    start,
    steps_saved,
    wait_for_step,
    worst_difference,
)
from tests.support.until import until
from trainer.checkpoint.manifest import MARKER, damage

pytestmark = pytest.mark.processes
STRATEGIES = {
    "ddp": ("train.strategy.name=ddp",),
    "fsdp": ("train.strategy.name=fsdp",),
    "fsdp-offload": ("train.strategy.name=fsdp", "train.strategy.cpu_offload=true"),
    "zero1": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=1"),
    "zero2-offload": (
        "train.strategy.name=deepspeed",
        "train.strategy.zero_stage=2",
        "train.strategy.zero_offload=optimizer",
    ),
    "zero3": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=3"),
    "zero3-offload": (
        "train.strategy.name=deepspeed",
        "train.strategy.zero_stage=3",
        "train.strategy.zero_offload=parameters",
    ),
}
# Sharding strategies need a group, which the first of them makes.
ORDER = ("fsdp", *(name for name in STRATEGIES if name != "fsdp"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("deepspeed")
    runs = json.dumps({name: STRATEGIES[name] for name in ORDER})
    ended = launch_module(
        "tests.support.trainer.background_saving", str(tmp_path_factory.mktemp("aside")), runs
    )
    assert ended.code == 0, ended.text
    answer: dict[str, Any] = json.loads(ended.text.splitlines()[-1])
    return answer


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_checkpoint_holds_the_step_it_was_begun_at_though_it_is_written_later(
    name: str, found: dict[str, Any]
) -> None:
    one = found[name]
    assert one["before"] == [] and one["after"]
    assert one["after_load"] == pytest.approx(one["after_save"], abs=1e-6)
    assert one["after_save"][0] != one["after_save"][1]


def test_deepspeed_trains_on_while_a_file_is_written_and_killed_then_it_resumes_from_the_one_before(
    tmp_path: Path,
) -> None:
    pytest.importorskip("deepspeed")
    common = (
        *STRATEGIES["zero1"],
        "train.steps=12",
        "train.schedule.warmup_steps=2",
        "train.log.every=1",
        "train.checkpoint.every=5",
        "train.checkpoint.at_start=true",
        "train.checkpoint.keep=0",
        "train.data.validation_fraction=0",
    )
    assert launch("gpt2-micro-smoke", tmp_path / "whole", *common).code == 0

    # Training waits at every evaluation until it is given a text, so that all this happens in one
    # order only.
    run, text = tmp_path / "run", tmp_path / "text"
    os.mkfifo(text)
    (process,) = start(
        "gpt2-micro-smoke",
        run,
        *common,
        "train.evaluate.every=5",
        f"train.evaluate.wikitext={text}",
    )
    try:
        evaluation = _reader_of(text, process)
        # A file of the checkpoint that no byte can be written to, as on a disk that hangs.
        stuck = (
            run
            / "checkpoints"
            / ".step-00000005.partial"
            / "deepspeed"
            / "zero_pp_rank_0_mp_rank_00_optim_states.pt"
        )
        stuck.parent.mkdir(parents=True)
        os.mkfifo(stuck)
        os.write(evaluation, b"some text to look at")
        os.close(evaluation)
        wait_for_step(run, 10, process)
        assert steps_saved(run) == [0]
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()

    resumed = launch("gpt2-micro-smoke", run, *common)
    assert resumed.code == 0 and "step-00000000" in resumed.text, resumed.text
    assert worst_difference(losses(run), losses(tmp_path / "whole")) < 1e-5
    assert steps_saved(run) == [0, 5, 10, 12] and not any(
        damage(path) for path in (run / "checkpoints").iterdir()
    )
    files = json.loads((run / "checkpoints" / "step-00000005" / MARKER).read_text())["files"]
    assert f"deepspeed/{stuck.name}" in files and "deepspeed/mp_rank_00_model_states.pt" in files


def _reader_of(pipe: Path, process: subprocess.Popen[str], seconds: float = 120) -> int:
    """The pipe's end to write to, as soon as a process reads it."""

    def opened() -> int | None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO
            return None

    end = until(
        opened,
        lambda end: end is not None,
        seconds,
        what="a reader of the pipe",
        process=process,
    )
    assert end is not None
    return end
