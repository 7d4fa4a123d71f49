"""`python -m trainer.use.evaluate RUN-or-CHECKPOINT`: a checkpoint's loss and perplexity on the
validation data of its run, and on wikitext and LAMBADA where they are given."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoint import read_state
from trainer.config import Train
from trainer.errors import BadInput, TrainerError
from trainer.export import RESULT, find_checkpoint, read_tensors
from trainer.profile import from_plain


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.use.evaluate", description=__doc__)
    parser.add_argument("source", help="a run's output folder, or one checkpoint")
    parser.add_argument("--data", default="", help="validation data instead of the run's own")
    parser.add_argument("--wikitext", default="", help="a text file in wikitext form")
    parser.add_argument("--lambada", default="", help='a jsonl file of {"text": ...}')
    parser.add_argument("--batches", type=int, default=0, help="at most this many; 0 is all")
    parser.add_argument("--trust", action="store_true", help="also load pickles")
    options = parser.parse_args(arguments)
    try:
        checkpoint = find_checkpoint(Path(options.source))
        result = evaluate(
            checkpoint,
            data=options.data,
            wikitext=options.wikitext,
            lambada=options.lambada,
            batches=options.batches,
            trust=options.trust,
        )
    except TrainerError as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return error.exit_code
    print(RESULT + json.dumps(result), flush=True)
    return 0


def evaluate(
    checkpoint: Path,
    *,
    data: str = "",
    wikitext: str = "",
    lambada: str = "",
    batches: int = 0,
    trust: bool = False,
) -> dict[str, Any]:
    """The figures of one process; in the precision and with the samples of the run."""
    from trainer.data import open_samples
    from trainer.distributed.process_group import join
    from trainer.loop.evaluate import evaluate as figures_of
    from trainer.models import build, initialise, write
    from trainer.strategies.session import open_session

    profile = from_plain(read_state(checkpoint).get("profile") or {})
    train = _alone(profile.train, data, wikitext, lambada, batches)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TRAINER_NODE"):
        os.environ.pop(name, None)  # of the shell it is called from
    processes = join(train)
    output = checkpoint.parent.parent
    validation = open_samples(train, output, 1)[1]
    if validation is None and not wikitext and not lambada and not train.evaluate.wikitext:
        raise BadInput(
            f"{checkpoint}: its profile holds back no validation data; name some with --data,"
            " --wikitext or --lambada"
        )
    with processes.device:
        module = build(train)
    initialise(module, train.seed)
    tensors = read_tensors(checkpoint, profile, trust)
    for name, parameter in module.named_parameters():
        write(parameter, tensors[name.removeprefix("student.")].to(parameter.device))
    session = open_session(train, processes, module, module)
    session.extra["output"] = output
    figures = figures_of(session, validation)
    return {"checkpoint": checkpoint.name, **figures}


def _alone(train: Train, data: str, wikitext: str, lambada: str, batches: int) -> Train:
    """The same run on one process, which reads and changes nothing but the model's weights."""
    settings = replace(
        train.evaluate,
        batches=batches,
        wikitext=wikitext or train.evaluate.wikitext,
        lambada=lambada or train.evaluate.lambada,
    )
    source = replace(train.data, validation_path=data) if data else train.data
    return replace(
        train,
        data=source,
        evaluate=settings,
        strategy=replace(train.strategy, name="ddp"),
        fast=replace(train.fast, compile="off", cuda_graphs="off"),
    )


if __name__ == "__main__":
    sys.exit(main())
