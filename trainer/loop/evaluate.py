"""Loss and perplexity on samples that are not trained on."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer.config import Train
from trainer.data.loader import Batch, counts
from trainer.errors import BadInput
from trainer.strategies.session import Session, autocast

Encode = Callable[[str], list[int]]


def evaluate(session: Session, samples: Any) -> dict[str, float]:
    """Everything the profile asks for, under `eval_*` names; equal on every rank."""
    began = time.perf_counter()
    figures: dict[str, float] = {}
    session.module.eval()
    for name, batches in _parts(session, samples):
        loss, rows, accuracy = _mean_loss(session, batches)
        figures |= _named(name, loss, session.train)
        if name == "eval":
            figures |= {} if accuracy is None else {"eval_accuracy": accuracy}
            figures["eval_runtime"] = time.perf_counter() - began
            figures["eval_samples_per_second"] = rows / max(1e-9, figures["eval_runtime"])
    session.module.train()
    return figures


def evaluation_seconds(session: Session, samples: Any) -> float:
    """How long evaluate() takes, by two rounds of each part, the first of which warms up; called
    by all ranks."""
    seconds, world_size = 0.0, session.processes.world_size
    session.module.eval()
    began = time.perf_counter()
    for _, batches in _parts(session, samples):
        _mean_loss(session, batches[:world_size])
        seconds += time.perf_counter() - began  # reading included
        began = time.perf_counter()
        _mean_loss(session, batches[:world_size])
        seconds += (time.perf_counter() - began) * (math.ceil(len(batches) / world_size) - 1)
        began = time.perf_counter()
    session.module.train()
    return seconds


def _parts(session: Session, samples: Any) -> Iterator[tuple[str, list[dict[str, np.ndarray]]]]:
    """What is evaluated, by name, in batches."""
    if samples is not None:
        yield "eval", list(_numbered(session.train, samples))
    settings = session.train.evaluate
    for name, path, read in (
        ("wikitext", settings.wikitext, _windows),
        ("lambada", settings.lambada, _last_words),
    ):
        if path:
            yield f"eval_{name}", list(read(Path(path), session.train, _encoder(session)))


def _named(name: str, loss: float, train: Train) -> dict[str, float]:
    figures = {f"{name}_loss": loss}
    if train.model.kind in ("gpt2", "llama"):
        figures[f"{name}_ppl"] = math.exp(min(loss, 700.0))
    return figures


def _numbered(train: Train, samples: Any) -> Iterator[dict[str, np.ndarray]]:
    size = train.evaluate.device_batch_size or train.device_batch_size
    for turn, start in enumerate(range(0, len(samples), size)):
        if train.evaluate.batches and turn >= train.evaluate.batches:
            return
        yield samples.take(np.arange(start, min(start + size, len(samples))))


@torch.no_grad()
def _mean_loss(
    session: Session, batches: list[dict[str, np.ndarray]]
) -> tuple[float, float, float | None]:
    """The mean over all batches, each rank doing its share; sharded models need every rank in every
    round."""
    processes = session.processes
    sums = [0.0] * len(session.module.normalisers)
    tokens = rows = correct = 0.0
    for round_start in range(0, len(batches), processes.world_size):
        mine = round_start + processes.rank
        chosen = batches[mine] if mine < len(batches) else batches[0]
        batch = {
            name: torch.from_numpy(np.ascontiguousarray(values)).to(processes.device)
            for name, values in chosen.items()
        }
        with autocast(session):
            losses = session.extra.get("evaluate", session.module)(batch).float().tolist()
        if mine < len(batches):
            sums = [total + value for total, value in zip(sums, losses, strict=True)]
            batch_tokens, batch_rows = counts([batch], equal=False)
            tokens, rows = tokens + batch_tokens, rows + batch_rows
            correct += _correct(session, batch)
    *sums, tokens, rows, correct = processes.total([*sums, tokens, rows, correct])
    divisors = {"tokens": max(1.0, tokens), "samples": max(1.0, rows)}
    loss = sum(
        total / divisors[name] for total, name in zip(sums, session.module.normalisers, strict=True)
    )
    return loss, rows, correct / max(1.0, rows) if session.train.model.kind == "mlp" else None


def _correct(session: Session, batch: Batch) -> float:
    if session.train.model.kind != "mlp":
        return 0.0
    return float((session.module.logits(batch["input"]).argmax(-1) == batch["label"]).sum())


def _windows(path: Path, train: Train, encode: Encode) -> Iterator[dict[str, np.ndarray]]:
    """Overlapping windows; only the part no earlier window has scored carries loss."""
    tokens = np.array(encode(detokenised(_text(path))), dtype=np.int64)
    width, stride = train.model.context, min(train.evaluate.stride, train.model.context)
    scored = 1
    for start in range(0, max(1, len(tokens) - 1), stride):
        window = tokens[start : start + width + 1]
        labels = window[1:].copy()
        labels[: max(0, scored - start - 1)] = -100
        if len(labels) and (labels != -100).any():
            yield {"input": window[None, :-1], "label": labels[None]}
        scored = start + len(window)
        if scored >= len(tokens):
            return


def _last_words(path: Path, train: Train, encode: Encode) -> Iterator[dict[str, np.ndarray]]:
    """LAMBADA: only the last word of each passage carries loss."""
    for text in _text(path).splitlines():
        if not text.strip():
            continue
        passage = json.loads(text)["text"].strip()
        before, _, last = passage.rpartition(" ")
        start, word = encode(before), encode(" " + last)
        row = np.array((start + word)[-train.model.context - 1 :], dtype=np.int64)
        labels = row[1:].copy()
        labels[: len(labels) - len(word)] = -100
        yield {"input": row[None, :-1], "label": labels[None]}


def _encoder(session: Session) -> Encode:
    """The training data's own tokenizer; one trained on the spot lies beside the tokens it made."""
    from trainer.data.prepare import store_folder
    from trainer.data.tokenizer import open_tokenizer

    train = session.train
    folder = store_folder(train, train.data, session.extra["output"], "train")
    tokenizer = open_tokenizer(train.data, folder, iter(()), train.model.vocab_size)
    return lambda text: tokenizer.encode([text])[0]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"evaluate: {path}: {error.strerror}") from None


def detokenised(text: str) -> str:
    """Wikitext as it was before it was cut into words."""
    for mark in "-,.":
        text = text.replace(f" @{mark}@ ", mark)
    text = re.sub(r" ([.,:;?!%)\]}])", r"\1", text)
    text = re.sub(r"([(\[{]) ", r"\1", text)
    text = re.sub(r'" ([^"]*) "', r'"\1"', text)
    return re.sub(r" (n't|'s|'re|'ve|'m|'ll|'d)\b", r"\1", text.replace(" ' ", "'"))
