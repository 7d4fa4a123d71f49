"""`python -m trainer.export RUN-or-CHECKPOINT DIR`: a checkpoint as a folder that `from_pretrained`
loads."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoint import read_state
from trainer.checkpoint.manifest import damage
from trainer.config import Model, Profile
from trainer.errors import BadInput, TrainerError
from trainer.profile import from_plain


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
        export(checkpoint, Path(options.target), options.trust)
    except TrainerError as error:
        print(f"trainer.export: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{checkpoint} -> {options.target}")
    return 0


def export(checkpoint: Path, target: Path, trust: bool = False) -> None:
    """Write the checkpoint's model; the vocabulary without its padding."""
    profile = from_plain(read_state(checkpoint).get("profile") or {})
    tensors = _unpadded(read_tensors(checkpoint, profile, trust), profile.train.model.vocab_size)
    if profile.train.model.kind == "mlp":
        import torch

        target.mkdir(parents=True, exist_ok=True)
        torch.save(tensors, target / "model.pth")
        return
    model = _transformers_model(profile.train.model)
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    tied = {"lm_head.weight", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    absent = [name for name in missing if name not in tied and not name.endswith("bias")]
    if absent or unexpected:
        raise BadInput(f"{checkpoint}: does not fit the model: lacks {absent}, adds {unexpected}")
    model.tie_weights()
    model.save_pretrained(target)


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


def _transformers_model(model: Model) -> Any:
    from transformers import (
        BertConfig,
        BertForPreTraining,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
    )

    if model.kind == "gpt2":
        config = GPT2Config(
            vocab_size=model.vocab_size,
            n_positions=model.context,
            n_embd=model.width,
            n_layer=model.layers,
            bos_token_id=model.vocab_size - 1,
            eos_token_id=model.vocab_size - 1,
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
        return LlamaForCausalLM(
            LlamaConfig(  # type: ignore[call-arg]  # its class has rope_theta, its stub has not
                vocab_size=model.vocab_size,
                hidden_size=model.width,
                intermediate_size=model.mlp_width or 4 * model.width,
                num_hidden_layers=model.layers,
                num_attention_heads=model.heads,
                num_key_value_heads=model.kv_heads or model.heads,
                max_position_embeddings=model.context,
                rms_norm_eps=model.norm_eps,
                initializer_range=model.initializer_range,
                tie_word_embeddings=model.tied_embeddings,
                rope_theta=model.rope_base,
            )
        )
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
    """A run's newest complete checkpoint, or the one that is named."""
    of_run = sorted((source / "checkpoints").glob("step-*"), reverse=True)
    for path in of_run or [source]:
        if not (complaint := damage(path)):
            return path
        print(f"{path}: passed over: {complaint}", file=sys.stderr)
    raise BadInput(f"{source}: no complete checkpoint there")


if __name__ == "__main__":
    sys.exit(main())
