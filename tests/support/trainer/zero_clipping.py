"""A rank of ZeRO-1 in bf16 that clips the gradients of one backward pass twice: as the trainer has
it done, and by DeepSpeed's own methods. Prints both.

`python -m tests.support.trainer.zero_clipping`
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    import torch

    from trainer.distributed.process_group import join
    from trainer.profile import read_profile
    from trainer.strategies import deepspeed

    settings = ("train.strategy.name=deepspeed", "train.strategy.zero_stage=1")
    train = read_profile("gpt2-micro-smoke", (*settings, "train.precision=bf16")).train
    processes = join(train)
    session = deepspeed.wrap(train, processes)
    engine, usual = session.extra["engine"], type(session.optimizer)
    torch.manual_seed(processes.rank)
    tokens = torch.randint(train.model.vocab_size, (2, 9))
    engine.set_gradient_accumulation_boundary(True)
    engine.backward(engine({"input": tokens[:, :-1], "label": tokens[:, 1:]}).float().sum())

    optimizer: Any = session.optimizer
    found: dict[str, list[float]] = {}
    for name, change in (("finite", 1.0), ("not a number", float("nan"))):
        for group in optimizer.averaged_gradients.values():
            group[0].mul_(change if processes.first else 1.0)
        norms = optimizer.scaled_global_norm(), usual.scaled_global_norm(optimizer)
        found[name] = [each.item() for each in norms]
    held, optimizer.averaged_gradients = optimizer.averaged_gradients, {0: [torch.ones(4)], 1: []}
    if not processes.first:
        optimizer.averaged_gradients = {0: [], 1: []}
    found["of the first rank alone"] = [optimizer.scaled_global_norm().item()]
    optimizer.averaged_gradients = held
    for norm in (0.25, 4.0, float("inf")):
        gradients = [torch.linspace(-1, 1, 7) for _ in range(2)]
        optimizer.unscale_and_clip_grads([gradients[0]], torch.tensor(norm))
        usual.unscale_and_clip_grads(optimizer, [gradients[1]], torch.tensor(norm))
        found[f"first at {norm}"] = [each[0].item() for each in gradients]
    print("FOUND " + json.dumps(found | {"own": ["scaled_global_norm" in vars(optimizer)]}))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch's threads need not end first
