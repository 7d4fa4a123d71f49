"""A checkpoint begun, training gone on, the checkpoint written, and training taken up from it
again.

`python -m tests.support.trainer.background_saving FOLDER '{"name": ["train.strategy.name=fsdp"],
...}'` prints as JSON, for each: the files with tensors there were before and after writing, and the
losses of the two steps after the checkpoint, both times.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

TINY = (
    "train.model.layers=2",
    "train.model.heads=2",
    "train.model.width=16",
    "train.model.context=8",
    "train.model.vocab_size=64",
    "train.batch_size=4",
    "train.device_batch_size=2",
    "train.schedule.warmup_steps=0",
    "train.optimizer.lr=1e-2",
)


def main(folder: str, runs: str) -> None:
    from trainer.distributed.process_group import join
    from trainer.profile import read_profile

    processes, found = None, {}
    for name, settings in json.loads(runs).items():
        train = read_profile("gpt2-small-smoke", [*TINY, *settings]).train
        processes = processes or join(train)
        target = Path(folder) / name
        target.mkdir(parents=True)
        found[name] = one(train, processes, target)
    print(json.dumps(found))


def one(train: Any, processes: Any, folder: Path) -> dict[str, Any]:
    from trainer.strategies import strategy_of

    strategy = strategy_of(train)
    first = strategy.wrap(train, processes)
    for number in (1, 2):
        step(strategy, first, number)
    write = strategy.save(first, folder)
    before = files(folder)
    after_save = [step(strategy, first, number) for number in (3, 4)]
    write()
    (folder / "state.json").write_text(json.dumps({"step": 2, "world_size": 1}))
    second = strategy.wrap(train, processes)
    strategy.load(second, folder)
    second.taken = 2
    after_load = [step(strategy, second, number) for number in (3, 4)]
    return {
        "before": before,
        "after": files(folder),
        "after_save": after_save,
        "after_load": after_load,
    }


def step(strategy: Any, session: Any, number: int) -> float:
    import torch

    tokens = torch.randint(0, 64, (2, 2, 9), generator=torch.Generator().manual_seed(number))
    batches = [{"input": rows[:, :-1], "label": rows[:, 1:]} for rows in tokens]
    return float(strategy.step(session, batches, {"tokens": 32.0, "samples": 4.0}, number).loss)


def files(folder: Path) -> list[str]:
    return sorted(
        path.name
        for path in folder.rglob("*")
        if path.suffix in (".pt", ".distcp") and path.stat().st_size
    )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)
