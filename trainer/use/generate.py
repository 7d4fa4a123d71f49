"""`python -m trainer.use.generate RUN-or-CHECKPOINT --prompt TEXT`: text that a trained model
writes, going on from a prompt."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoint import read_state
from trainer.errors import BadInput, TrainerError
from trainer.export import RESULT, find_checkpoint, usable
from trainer.profile import from_plain


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.use.generate", description=__doc__)
    parser.add_argument("source", help="a run's output folder, or one checkpoint")
    parser.add_argument("--prompt", default="", help="the text to go on from")
    parser.add_argument("--tokens", type=int, default=64, help="how many to write at most")
    parser.add_argument(
        "--temperature", type=float, default=0.8, help="0 always takes the likeliest token"
    )
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--trust", action="store_true", help="also load pickles")
    options = parser.parse_args(arguments)
    try:
        result = generate(
            find_checkpoint(Path(options.source)),
            options.prompt,
            options.tokens,
            options.temperature,
            options.seed,
            options.trust,
        )
    except TrainerError as error:
        print(f"generate: {error}", file=sys.stderr)
        return error.exit_code
    print(RESULT + json.dumps(result), flush=True)
    return 0


def generate(
    checkpoint: Path,
    prompt: str,
    tokens: int = 64,
    temperature: float = 0.8,
    seed: int = 21,
    trust: bool = False,
) -> dict[str, Any]:
    if tokens < 1 or temperature < 0:
        raise BadInput("--tokens must be at least 1, and --temperature at least 0")
    profile = from_plain(read_state(checkpoint).get("profile") or {})
    if profile.train.model.kind not in ("gpt2", "llama"):
        raise BadInput(f"{checkpoint}: a {profile.train.model.kind} model does not write text")
    import torch

    model, tokenizer = usable(checkpoint, profile, trust)
    if tokenizer is None:
        raise BadInput(f"{checkpoint}: no tokenizer fits its vocabulary")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    start = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"].long()
    if not start.shape[1]:
        start = torch.tensor([[tokenizer.bos_token_id]])
    room = profile.train.model.context - start.shape[1]
    if room < 1:
        raise BadInput(
            f"--prompt has {start.shape[1]} tokens, the model's context is"
            f" {profile.train.model.context}: shorten it"
        )
    torch.manual_seed(seed)
    sampling = {"do_sample": True, "temperature": temperature} if temperature else {}
    model.generation_config.max_length = None  # max_new_tokens says it
    written = model.to(device).generate(
        start.to(device),
        attention_mask=torch.ones_like(start).to(device),
        max_new_tokens=min(tokens, room),
        **(sampling or {"do_sample": False}),
    )[0, start.shape[1] :]
    return {
        "checkpoint": checkpoint.name,
        "prompt": prompt,
        "text": tokenizer.decode(written, skip_special_tokens=True),
        "tokens": len(written),
    }


if __name__ == "__main__":
    sys.exit(main())
