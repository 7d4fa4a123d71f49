"""`python -m trainer.export RUN-or-CHECKPOINT DIR`: a checkpoint as a folder that
`AutoModelForCausalLM` and `AutoTokenizer` load: safetensors, configuration, tokenizer."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoint import read_state
from trainer.checkpoint.manifest import MARKER, damage
from trainer.checkpoint.run_folder import Entry, in_order
from trainer.config import Model, Profile
from trainer.errors import BadInput, TrainerError
from trainer.profile import from_plain

DESCRIPTION = "exported.json"  # written last; names the checkpoint it was made from
RESULT = "result "  # how the line with the outcome begins


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.export", description=__doc__)
    parser.add_argument(
        "source", help="a run's --output folder (its newest checkpoint), or one checkpoint"
    )
    parser.add_argument("target", help="the folder to write")
    parser.add_argument(
        "--trust",
        action="store_true",
        help="also load pickles that could run code: only if you trust their author",
    )
    options = parser.parse_args(arguments)
    try:
        checkpoint = find_checkpoint(Path(options.source))
        result = export_to(checkpoint, Path(options.target), options.trust)
    except TrainerError as error:
        print(f"trainer.export: {error}", file=sys.stderr)
        return error.exit_code
    word = "->" if result["changed"] else "is already in"
    print(f"{checkpoint} {word} {options.target}")
    print(RESULT + json.dumps(result))
    return 0


def export_to(checkpoint: Path, target: Path, trust: bool = False) -> dict[str, Any]:
    """Export into a folder that is replaced as a whole; the same checkpoint again changes
    nothing."""
    origin = hashlib.sha256((checkpoint / MARKER).read_bytes()).hexdigest()
    summary = {"to": str(target), "checkpoint": checkpoint.name, "origin": origin}
    earlier = _description(target)
    if earlier and earlier.get("origin") == origin and _is_whole(target, earlier):
        return {**summary, "changed": False, "files": earlier["files"]}
    if target.exists() and not earlier and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(f"{target}: exists and is no earlier export; choose another folder")
    draft = target.with_name(f".{target.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        export(checkpoint, draft, trust)
        sizes = {
            str(path.relative_to(draft)): path.stat().st_size
            for path in sorted(draft.rglob("*"))
            if path.is_file()
        }
        (draft / DESCRIPTION).write_text(json.dumps({**summary, "files": sizes}, indent=1) + "\n")
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(target)
    except OSError as error:
        raise BadInput(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return {**summary, "changed": True, "files": sizes}


def export(checkpoint: Path, target: Path, trust: bool = False) -> None:
    """Write the checkpoint's model; the vocabulary without its padding."""
    profile = from_plain(read_state(checkpoint).get("profile") or {})
    if profile.train.model.kind == "mlp":
        from safetensors.torch import save_file

        tensors = read_tensors(checkpoint, profile, trust)
        target.mkdir(parents=True, exist_ok=True)
        save_file({name: each.contiguous() for name, each in tensors.items()}, target / _WEIGHTS)
        return
    model, tokenizer = usable(checkpoint, profile, trust)
    model.save_pretrained(target, safe_serialization=True)
    if tokenizer is None:
        print(f"{checkpoint}: no tokenizer fits its vocabulary: none is exported", file=sys.stderr)
    else:
        tokenizer.save_pretrained(target)


_WEIGHTS = "model.safetensors"


def usable(checkpoint: Path, profile: Profile, trust: bool = False) -> tuple[Any, Any]:
    """The model and the tokenizer as transformers has them."""
    try:
        import transformers
    except ImportError:
        raise BadInput(
            'this needs the transformers library: pip install "playrunner[train]"'
        ) from None
    from trainer.data.exported_tokenizer import end_of, tokenizer_of

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    tensors = _unpadded(read_tensors(checkpoint, profile, trust), profile.train.model.vocab_size)
    tokenizer = tokenizer_of(profile, checkpoint)
    model = _transformers_model(profile.train.model, end_of(profile, tokenizer))
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    tied = {"lm_head.weight", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    absent = [name for name in missing if name not in tied and not name.endswith("bias")]
    if absent or unexpected:
        raise BadInput(f"{checkpoint}: does not fit the model: lacks {absent}, adds {unexpected}")
    model.tie_weights()
    if tokenizer is not None and hasattr(model, "generation_config") and model.can_generate():
        model.generation_config = transformers.GenerationConfig(
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            max_length=profile.train.model.context,
        )
    return model.eval(), tokenizer


def read_tensors(checkpoint: Path, profile: Profile, trust: bool = False) -> dict[str, Any]:
    """The model's tensors in fp32 under Hugging Face's names, whatever strategy wrote them."""
    import torch

    from trainer.checkpoint.safe_load import check_files, check_metadata, reader, tensors_only

    if (checkpoint / "deepspeed").is_dir():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
        from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

        check_files(sorted((checkpoint / "deepspeed").rglob("*.pt")), trust)
        with tensors_only(trust):
            found = dict(get_fp32_state_dict_from_zero_checkpoint(str(checkpoint), tag="deepspeed"))
        return {
            name.removeprefix("module.").removeprefix("student."): value
            for name, value in found.items()
        }
    import torch.distributed.checkpoint as sharded

    from trainer.models import build
    from trainer.strategies.state import quietly

    with torch.device("meta"):
        shapes = {name: value.shape for name, value in build(profile.train).named_parameters()}
    held = {f"model.{name}": torch.empty(shape) for name, shape in shapes.items()}
    check_metadata(checkpoint, trust)
    with quietly():
        sharded.load(held, storage_reader=reader(checkpoint, trust), no_dist=True)
    return {
        name.removeprefix("model.").removeprefix("student."): value for name, value in held.items()
    }


def _unpadded(tensors: dict[str, Any], vocab_size: int) -> dict[str, Any]:
    rows = ("wte.weight", "embed_tokens.weight", "lm_head.weight")
    return {
        name: value[:vocab_size].clone() if name.endswith(rows) else value
        for name, value in tensors.items()
    }


def _transformers_model(model: Model, end: int | None = None) -> Any:
    end = model.vocab_size - 1 if end is None else end
    from transformers import (
        BertConfig,
        BertForPreTraining,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaForCausalLM,
    )

    if model.kind == "gpt2":
        config = GPT2Config(
            vocab_size=model.vocab_size,
            n_positions=model.context,
            n_embd=model.width,
            n_layer=model.layers,
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
            n_head=model.heads,
            n_inner=model.mlp_width or None,
            resid_pdrop=model.dropout,
            embd_pdrop=model.dropout,
            attn_pdrop=model.dropout,
            layer_norm_epsilon=model.norm_eps,
            initializer_range=model.initializer_range,
            reorder_and_upcast_attn=model.upcast_attention,
            scale_attn_by_inverse_layer_idx=model.upcast_attention,
        )
        found = GPT2LMHeadModel(config)
        _zero_biases(found)
        return found
    if model.kind == "llama":
        from trainer.llama_config import llama_config

        return LlamaForCausalLM(llama_config(model, end))
    return BertForPreTraining(
        BertConfig(
            vocab_size=model.vocab_size,
            hidden_size=model.width,
            num_hidden_layers=model.layers,
            num_attention_heads=model.heads,
            intermediate_size=model.mlp_width or 4 * model.width,
            max_position_embeddings=model.context,
            layer_norm_eps=model.norm_eps,
            hidden_dropout_prob=model.dropout,
            attention_probs_dropout_prob=model.dropout,
            initializer_range=model.initializer_range,
        )
    )


def _zero_biases(model: Any) -> None:
    """What a model trained without biases has in their place."""
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.data.zero_()


def find_checkpoint(source: Path) -> Path:
    """The checkpoint that a run would resume from, or the one that is named."""
    from trainer.checkpoint.manifest import read_origin

    of_run = list((source / "checkpoints").glob("step-*"))
    origins = {path: read_origin(path) for path in of_run}
    ordered = in_order(Entry(path.name, origin) for path, origin in origins.items() if origin)
    for path in [source / "checkpoints" / entry.name for entry in ordered] or [source]:
        if not (complaint := damage(path)):
            return path
        print(f"checkpoint: {path}: passed over: {complaint}", file=sys.stderr)
    raise BadInput(f"{source}: no complete checkpoint there")


def _description(target: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((target / DESCRIPTION).read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("files"), dict) else None


def _is_whole(target: Path, description: dict[str, Any]) -> bool:
    return all(
        (target / name).is_file() and (target / name).stat().st_size == size
        for name, size in description["files"].items()
    )


if __name__ == "__main__":
    sys.exit(main())
