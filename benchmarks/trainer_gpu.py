"""Training speed on one GPU, side by side in one run: `python benchmarks/trainer_gpu.py [--only
NAME ...] [--json FILE]`.

Each row is a process of its own, so that none inherits another's memory. Rows on GPT-2's 124M shape
(batch 64 x 1024, bf16, random tokens): a plain compiled model with nanoGPT's choices, Hugging
Face's Trainer with and without compile, and `python -m trainer` as a user runs it. On a 1.3B Llama
shape: the compiled Hugging Face model, and ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.trainer_gpu_curves import OURS, correctness, float8_curve, words  # noqa: E402
from benchmarks.trainer_gpu_peers import (  # noqa: E402
    BATCH,
    LENGTH,
    LLAMA,
    VOCAB,
    WARMUP,
    flops_per_token,
    hf_llama,
    hf_trainer,
    matmul,
    plain,
)

# A run of 400,000 steps that saves and evaluates is cut short; nothing else of the profile changes.
BRIEF = words("""
    train.steps=24 train.log.every=3 train.schedule.warmup_steps=10 train.evaluate.every=0
    train.evaluate.batches=1 train.checkpoint.schedule=[] train.checkpoint.every=0
    train.checkpoint.at_start=false
""")
BRIEF_WARMUP = 12
LARGE, LARGE_WARMUP = words("train.steps=12 train.log.every=2"), 6
OURS_LLAMA = OURS + words(
    """
    train.log.every=10 train.batch_size={batch} train.device_batch_size={batch}
    train.model.layers={layers}
    train.model.heads={heads} train.model.width={width} train.model.mlp_width={mlp}
    train.model.context={length}
    train.model.vocab_size={vocab} train.strategy.activation_checkpointing=false
    train.strategy.activation_offload=false
    train.data.stream=false train.evaluate.every=0
""".format(**LLAMA)
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--set", action="append", default=[], help="further settings for our rows")
    options = parser.parse_args()
    if options.row:
        print("ROW " + json.dumps(ROWS[options.row](options.set)))
        return
    rows = {}
    for name in options.only:
        command = [
            sys.executable,
            __file__,
            "--row",
            name,
            *(part for each in options.set for part in ("--set", each)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = [line for line in done.stdout.splitlines() if line.startswith("ROW ")]
        rows[name] = (
            json.loads(found[0][4:]) if found else {"error": (done.stdout + done.stderr)[-1500:]}
        )
        _show(name, rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def _show(name: str, rows: dict[str, Any]) -> None:
    row = rows[name]
    if "tokens_per_second" not in row:
        print(f"{name:24s} {row}", flush=True)
        return
    rate = rows.get("matmul", {}).get("flops")
    mfu = (
        f"{100 * row['tokens_per_second'] * row['flops_per_token'] / rate:5.1f} %"
        if rate
        else "    ?"
    )
    print(
        f"{name:24s} {row['tokens_per_second']:>10,.0f} tokens/s  {mfu} of matmul "
        f" {row['memory_gb']:6.1f} GB  loss {row['loss']:.4f}",
        flush=True,
    )


def ours(settings: list[str]) -> dict[str, Any]:
    return _ours("gpt2-small", [*OURS, *settings], LENGTH, VOCAB, BATCH) | {
        "flops_per_token": flops_per_token(124_439_808, 12, 768, LENGTH)
    }


def ours_without_biases(settings: list[str]) -> dict[str, Any]:
    """The same shape as the plain row, which has no biases either."""
    return _ours(
        "gpt2-small", [*OURS, "train.model.bias=false", *settings], LENGTH, VOCAB, BATCH
    ) | {"flops_per_token": flops_per_token(124_337_664, 12, 768, LENGTH)}


def ours_llama(settings: list[str], warmup: int = WARMUP) -> dict[str, Any]:
    count = 2 * LLAMA["vocab"] * LLAMA["width"] + LLAMA["layers"] * (
        4 * LLAMA["width"] ** 2 + 3 * LLAMA["width"] * LLAMA["mlp"]
    )
    chosen = [*OURS_LLAMA, *settings]
    found = _ours("llama2-7b", chosen, LLAMA["length"], LLAMA["vocab"], LLAMA["batch"], warmup)
    return found | {
        "flops_per_token": flops_per_token(count, LLAMA["layers"], LLAMA["width"], LLAMA["length"])
    }


def large_llama_row(*extra: str) -> Any:
    """Eight times the batch in one piece, which memory does not hold without recomputing."""

    def row(settings: list[str]) -> dict[str, Any]:
        size = 8 * LLAMA["batch"]
        large = [*LARGE, f"train.batch_size={size}", f"train.device_batch_size={size}"]
        return ours_llama([*large, *extra, *settings], LARGE_WARMUP)

    return row


def profile_row(*extra: str) -> Any:
    """`python -m trainer --profile gpt2-small --set train.data.path=...`: what a user gets by
    default, dropout, batch of 512 and ZeRO-1 included."""

    def row(settings: list[str]) -> dict[str, Any]:
        found = _ours("gpt2-small", [*BRIEF, *extra, *settings], LENGTH, VOCAB, BATCH, BRIEF_WARMUP)
        return found | {"flops_per_token": flops_per_token(124_439_808, 12, 768, LENGTH)}

    return row


def documents_row(*extra: str) -> Any:
    """Documents of mostly a few hundred tokens, in rows of their own or packed; tokens are those
    that are predicted, padding is not counted."""

    def row(settings: list[str]) -> dict[str, Any]:
        chosen = [*BRIEF, "train.strategy.name=ddp", "train.data.layout=documents", *extra]
        found = _ours(
            "gpt2-small",
            [*chosen, *settings],
            LENGTH,
            VOCAB,
            BATCH,
            BRIEF_WARMUP,
            store=_random_documents,
        )
        return found | {"flops_per_token": flops_per_token(124_439_808, 12, 768, LENGTH)}

    return row


def _ours(
    profile: str,
    settings: list[str],
    length: int,
    vocab: int,
    batch: int,
    warmup: int = WARMUP,
    store: Any = None,
) -> dict[str, Any]:
    """The trainer as a user starts it; its own metrics tell the rest."""
    with tempfile.TemporaryDirectory() as folder:
        made = (store or _random_store)(Path(folder) / "store", vocab, length, 64 * batch)
        output = Path(folder) / "run"
        command = [sys.executable, "-m", "trainer", "--profile", profile, "--output", str(output)]
        for setting in [*settings, f"train.data.path={made}"]:
            command += ["--set", setting]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            return {"error": (done.stdout + done.stderr)[-3000:]}
        records = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    # The first windows hold compilation and warm-up; the peers' warm-up is as long.
    rates = [
        each["tokens_per_second"] for each in records if each["step"] > warmup and "loss" in each
    ]
    return {
        "tokens_per_second": statistics.median(rates),
        "memory_gb": max(each.get("memory_mib", 0) for each in records) * 2**20 / 1e9,
        "loss": [each["loss"] for each in records if "loss" in each][-1],
    }


def _random_store(folder: Path, vocab: int, length: int, rows: int) -> Path:
    import numpy as np

    from trainer.data.prepare import write_store

    class Numbers:
        size, end = vocab, vocab - 1

    folder.mkdir()
    tokens = np.random.default_rng(0).integers(0, vocab, rows * length + 1).tolist()
    write_store(folder, [tokens], Numbers(), "packed", length, 1 << 30)  # type: ignore[arg-type]
    return folder


def _random_documents(folder: Path, vocab: int, length: int, rows: int) -> Path:
    import numpy as np

    from trainer.data.prepare import write_store

    class Numbers:
        size, end = vocab, vocab - 1

    folder.mkdir()
    draw = np.random.default_rng(0)
    sizes = draw.lognormal(5.5, 0.9, rows).clip(12, length - 2).astype(int)
    texts = (draw.integers(0, vocab, size).tolist() for size in sizes)
    write_store(folder, texts, Numbers(), "documents", length, 1 << 30)  # type: ignore[arg-type]
    return folder


ROWS = {
    "matmul": matmul,
    "plain, compiled": plain,
    "HF Trainer": hf_trainer,
    "HF Trainer, compiled": lambda settings: hf_trainer(settings, compiled=True),
    "ours": ours,
    "ours, no biases": ours_without_biases,
    "gpt2-small": profile_row(),
    "gpt2-small, no dropout": profile_row("train.model.dropout=0.0"),
    "gpt2-small, ddp": profile_row("train.strategy.name=ddp"),
    "gpt2-small, ddp, no dropout": profile_row(
        "train.strategy.name=ddp", "train.model.dropout=0.0"
    ),
    "gpt2-small, fsdp": profile_row("train.strategy.name=fsdp"),
    "gpt2-small, ZeRO-2": profile_row("train.strategy.zero_stage=2"),
    "gpt2-small, ZeRO-3": profile_row("train.strategy.zero_stage=3"),
    "gpt2-small, fast off": profile_row("train.fast=off"),
    "documents, padded": documents_row("train.data.packing=off"),
    "documents, packed": documents_row("train.data.packing=on"),
    "documents, packed, no dropout": documents_row(
        "train.data.packing=on", "train.model.dropout=0.0"
    ),
    "documents, packed, fsdp": documents_row("train.data.packing=on", "train.strategy.name=fsdp"),
    "documents, packed, ZeRO-1": documents_row(
        "train.data.packing=on", "train.strategy.name=deepspeed"
    ),
    "fast path against fp32": correctness,
    "HF Llama, compiled": hf_llama,
    "HF Llama, Liger": lambda settings: hf_llama(settings, liger=True),
    "ours, Llama": ours_llama,
    "ours, Llama, fp8": lambda settings: ours_llama(["train.precision=fp8", *settings]),
    "ours, large Llama": large_llama_row("train.strategy.activation_checkpointing=auto"),
    "ours, large Llama, all recomputed": large_llama_row(
        "train.strategy.activation_checkpointing=true"
    ),
    "ours, large Llama, offloaded": large_llama_row(
        "train.strategy.activation_checkpointing=true", "train.strategy.activation_offload=true"
    ),
    "fp8 against bf16": float8_curve,
}

if __name__ == "__main__":
    main()
