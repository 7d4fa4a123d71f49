"""The guard: what it sees, where it says so, and how soon."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.trainer.launching import ROOT, launch, launch_several
from tests.support.trainer.launching import records as written_by
from tests.support.until import until
from trainer.config import Guard as Settings
from trainer.data.loader import Loader
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import Unhealthy
from trainer.loop import guard as guard_module
from trainer.loop.guard import Guard
from trainer.profile import read_profile


class Rows:
    """Samples that come until they are told to wait."""

    equal, shards = True, (64,)

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.goes_on.set()

    def __len__(self) -> int:
        return 64

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        self.goes_on.wait(60)
        rows = np.zeros((len(numbers), 9), dtype=np.int64)
        return {"input": rows[:, :-1], "label": rows[:, 1:]}

    def where(self, number: int) -> str:
        return f"row {number}"


@pytest.fixture
def records() -> list[dict[str, Any]]:
    return []


@contextmanager
def guarded(
    records: list[dict[str, Any]], rows: Rows | None = None, clip: float = 1.0, **settings: Any
) -> Iterator[tuple[Guard, Loader, ProcessGroup]]:
    train = read_profile("gpt2-micro-smoke").train
    optimizer = replace(train.optimizer, grad_clip=clip)
    train = replace(train, optimizer=optimizer, guard=replace(Settings(), **settings))
    processes = ProcessGroup(0, 0, 1, 1, torch.device("cpu"), grouped=False)
    loader = Loader(rows or Rows(), train, processes, 0)
    guard = Guard(train, processes, SimpleNamespace(write=records.append), loader)
    try:
        yield guard, loader, processes
    finally:
        guard.close()
        loader.close()


def kinds(records: list[dict[str, Any]]) -> list[str]:
    return [record["guard"] for record in records]


def test_a_loss_spike_is_in_the_log_and_in_the_metrics(
    records: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with guarded(records) as (guard, _, _):
        for step in range(1, 31):
            guard.look(step, 2.0 + 0.1 * (step % 3), 1.0)
        assert records == []
        guard.look(31, 6.0, 1.0)
    assert kinds(records) == ["loss-spike"] and records[0]["step"] == 31
    assert "guard: step 31: loss spike: 6.0000, 2.9 x the recent mean" in capsys.readouterr().err


@pytest.mark.parametrize(("clip", "reported_at"), [(0.0, [21]), (1.0, [24])])
def test_one_large_norm_is_an_explosion_only_where_nothing_clips_it(
    clip: float, reported_at: list[int], records: list[dict[str, Any]]
) -> None:
    with guarded(records, clip=clip) as (guard, _, _):
        for step in range(1, 21):
            guard.look(step, 2.0, 0.5)
        for step, norm in enumerate((50.0, 0.5, 60.0, 70.0, 0.5), 21):
            guard.look(step, 2.0, norm)
    assert kinds(records) == ["gradient-explosion"] and [r["step"] for r in records] == reported_at
    if clip:
        assert "norm 70, 140 x the recent median, as at 3 of the last 5 steps" in records[0]["text"]


def test_a_norm_and_a_loss_that_are_no_number_are_reported(records: list[dict[str, Any]]) -> None:
    with guarded(records) as (guard, _, _):
        guard.look(1, 2.0, float("inf"))
        guard.look(2, float("nan"), 1.0)
    assert kinds(records) == ["gradient-explosion", "nan"]


@pytest.mark.processes
@pytest.mark.parametrize("clip", [0.0, 100.0])
def test_a_run_whose_weights_run_away_is_reported_with_clipping_too(
    clip: float, tmp_path: Path
) -> None:
    settings = ("optimizer.lr=2", f"optimizer.grad_clip={clip}", "schedule.name=linear")
    more = ("schedule.warmup_steps=25", "guard.stop_on_nan=false")
    ended = launch("mnist-mlp-smoke", tmp_path, *(f"train.{each}" for each in (*settings, *more)))
    assert ended.code == 0, ended.text
    assert "gradient explosion: norm" in ended.text, ended.text


@pytest.mark.processes
def test_a_newcomers_first_run_has_the_norms_of_ddp_under_deepspeed_and_no_alarm(
    tmp_path: Path,
) -> None:
    settings = ("train.steps=20", "train.log.every=1")
    strategies = ("ddp", "deepspeed")
    runs = [
        (name, "gpt2-micro-smoke", (*settings, f"train.strategy.name={name}"))
        for name in strategies
    ]
    ended = launch_several(tmp_path, runs, processes=2)
    assert ended.code == 0, ended.text
    plain, zero = (
        [step["grad_norm"] for step in written_by(tmp_path / name) if "grad_norm" in step]
        for name in strategies
    )
    assert len(plain) == 20 and zero == pytest.approx(plain, rel=0.05)
    assert max(plain) > 10 * sorted(plain)[10], "one step overshoots, and is clipped"
    assert "guard:" not in ended.text, ended.text


def test_the_same_thing_is_reported_once_a_minute(records: list[dict[str, Any]]) -> None:
    with guarded(records) as (guard, _, _):
        for step in range(1, 21):
            guard.look(step, 2.0, 0.5)
        for step in range(21, 25):
            guard.look(step, 60.0, 0.5)
    assert kinds(records) == ["loss-spike"]


def test_a_data_stall_is_seen_while_it_lasts_and_its_end_too(
    records: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard_module, "POLL_SECONDS", 0.05)
    rows = Rows()
    with guarded(records, rows, stall_seconds=0.5) as (_, loader, processes):
        batches = iter(loader)
        rows.goes_on.clear()
        waiting = threading.Thread(target=lambda: [next(batches) for _ in range(12)], daemon=True)
        processes.progress.at("data", 7)
        waiting.start()
        until(lambda: kinds(records) == ["data-stall"], seconds=20, what="the alert")
        rows.goes_on.set()
        waiting.join(20)
        processes.progress.at("count", 7)
        err = []
        until(
            lambda: err.append(capsys.readouterr().err) or "data-stall over after" in "".join(err),
            seconds=20,
            what="the end of the stall",
        )
    assert "guard: step 7: data-stall: rank 0: it has waited" in "".join(err)


def test_a_rank_that_makes_no_progress_says_in_which_collective(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_module, "POLL_SECONDS", 0.05)
    with guarded(records, stall_seconds=0.3) as (_, _, processes):
        processes.progress.at("count", 9)
        processes.progress.enter("all_reduce")
        until(lambda: kinds(records) == ["no-progress"], seconds=20, what="the alert")
    assert "(in count, in all_reduce)" in records[0]["text"]


def test_a_loader_that_ended_without_an_error_ends_the_wait_for_it(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_module, "POLL_SECONDS", 0.05)
    with guarded(records) as (_, loader, processes):
        loader._stopping.set()  # its thread ends, as one that is lost
        loader._thread.join(20)
        processes.progress.at("data", 5)
        with pytest.raises(Unhealthy, match="has ended without an error"):
            for _ in iter(loader):
                pass
        until(lambda: kinds(records) == ["dead-loader"], seconds=20, what="the alert")


def test_nothing_is_said_of_the_first_steps_which_compile(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_module, "POLL_SECONDS", 0.02)
    with guarded(records, stall_seconds=0.1) as (_, _, processes):
        processes.progress.at("forward", 1)
        time.sleep(0.5)
    assert records == []


def test_alerts_are_in_a_file_of_the_node_that_the_status_reads(
    records: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINER_NODE", str(tmp_path))
    with guarded(records) as (guard, _, _):
        guard.look(3, float("inf"), None)
    from playrunner.training.modules.train.status import last_alerts

    (alert,) = last_alerts(str(tmp_path / "guard.jsonl"))
    assert (alert["kind"], alert["step"], alert["rank"]) == ("nan", 3, 0)


SLOW = """
import time
from types import SimpleNamespace
from trainer.distributed.process_group import join
from trainer.loop.guard import Guard
from trainer.profile import read_profile
train = read_profile("gpt2-micro-smoke", ["train.guard.stall_seconds=0"]).train
processes = join(train)
found = []
metrics = SimpleNamespace(write=found.append) if processes.first else None
guard = Guard(train, processes, metrics, None)
processes.progress.at("data", 5)
time.sleep(2.0 if processes.rank == 1 else 0.05)
processes.progress.at("count")
if processes.rank == 2:
    guard.alerts.report("nan", 5, "of rank 2")
guard.compare(5)
if processes.first:
    seen = [record for record in found if "guard" in record]
    print([(record["guard"], record["rank"], record["text"]) for record in seen], flush=True)
    (ranks,) = [record["ranks"] for record in found if "ranks" in record]
    slow = [each * 5 > 1.9 for each in ranks["seconds"]]  # five steps since the beginning
    print("compared:", ranks["each"], slow, flush=True)
"""


@pytest.mark.processes
def test_ranks_are_compared_the_slow_one_named_and_alerts_of_others_reach_the_metrics() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": "3",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SLOW],
            cwd=ROOT,
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(3)
    ]
    try:
        texts = [rank.communicate(timeout=300)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert "rank 1 is slow" in texts[0] and "('nan', 2, 'of rank 2')" in texts[0], texts
    assert "compared: 1 [False, True, False]" in texts[0], texts


def test_runs_show_the_newest_alert_beside_their_state_until_it_is_over() -> None:
    from playrunner.training.runs.run import Run
    from playrunner.training.screen.runs_table import table

    now = time.time()
    alert = {"kind": "data-stall", "text": "rank 3 waits", "time": now - 20}
    run = Run("x", {"nodes": [{"host": "a"}]}, {"a": {"state": "running"}}, guard=[alert])
    assert "running (data-stall)" in table([run], now)
    over = replace(run, guard=[alert, {**alert, "kind": "data-stall-over", "time": now - 5}])
    assert "(data-stall" not in table([over], now)
