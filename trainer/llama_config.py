"""Llama's settings in Hugging Face's words, and back; what our model cannot do is refused."""

from __future__ import annotations

from typing import Any

from trainer.config import Model, RopeScaling
from trainer.errors import BadInput


def llama_config(model: Model, end: int) -> Any:
    """As transformers has it; `end` is the mark between texts."""
    from transformers import LlamaConfig

    settings: Any = LlamaConfig  # its types do not know all that it takes
    return settings(
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
        rope_parameters=_rope_parameters(model),
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
    )


def _rope_parameters(model: Model) -> dict[str, Any]:
    scaling = model.rope_scaling
    if scaling.kind == "none":
        return {"rope_type": "default", "rope_theta": model.rope_base}
    stretched = {
        "rope_type": scaling.kind,
        "rope_theta": model.rope_base,
        "factor": scaling.factor,
    }
    if scaling.kind == "linear":
        return stretched
    return {
        **stretched,
        "low_freq_factor": scaling.low_frequency,
        "high_freq_factor": scaling.high_frequency,
        "original_max_position_embeddings": scaling.original_context,
    }


def llama_settings(config: dict[str, Any]) -> dict[str, Any]:
    """A config.json in the words of a profile's model."""
    for name in ("attention_bias", "mlp_bias"):
        if config.get(name):
            raise BadInput(f"config.json: {name} is set, which cannot be trained here")
    if config.get("hidden_act", "silu") != "silu":
        raise BadInput(f"config.json: hidden_act {config['hidden_act']}, only silu can be trained")
    heads = config["num_attention_heads"]
    if config.get("head_dim") not in (None, config["hidden_size"] // heads):
        raise BadInput("config.json: head_dim is not hidden_size / num_attention_heads")
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return {
        "kind": "llama",
        "layers": config["num_hidden_layers"],
        "heads": heads,
        "kv_heads": config.get("num_key_value_heads") or heads,
        "width": config["hidden_size"],
        "mlp_width": config["intermediate_size"],
        "context": config["max_position_embeddings"],
        "vocab_size": config["vocab_size"],
        "dropout": 0.0,
        "norm_eps": config.get("rms_norm_eps", 1e-6),
        "initializer_range": config.get("initializer_range", 0.02),
        "tied_embeddings": bool(config.get("tie_word_embeddings")),
        "rope_base": float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0),
        **_scaling(rope, int(config["max_position_embeddings"])),
    }


def _scaling(rope: dict[str, Any], context: int) -> dict[str, Any]:
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return {}
    if kind not in ("linear", "llama3"):
        raise BadInput(f"config.json: rope_type {kind}; default, linear and llama3 can be trained")
    plain = RopeScaling()
    settings: dict[str, Any] = {"kind": kind, "factor": float(rope["factor"])}
    if kind == "llama3":
        original = rope.get("original_max_position_embeddings") or context
        settings |= {
            "low_frequency": float(rope.get("low_freq_factor", plain.low_frequency)),
            "high_frequency": float(rope.get("high_freq_factor", plain.high_frequency)),
            "original_context": int(original),
        }
    return {"rope_scaling": settings}
