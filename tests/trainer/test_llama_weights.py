"""Llama's weights of Hugging Face as input and output: the same logits on both sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.trainer.launching import launch
from trainer.errors import BadInput
from trainer.models import build
from trainer.models.pretrained import load_folder
from trainer.profile import read_profile
from trainer.use.import_weights import import_weights

pytestmark = pytest.mark.processes
PLAIN: dict[str, Any] = {
    "vocab_size": 260,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as many key heads as heads": {},
    "grouped-query heads": {"num_key_value_heads": 2},
    "one key head": {"num_key_value_heads": 1},
    "tied embeddings": {"tie_word_embeddings": True},
    "another rotary base": {"rope_theta": 5000.0},
    "linear positions": {
        "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
    },
    "Llama 3.1's positions": {"rope_parameters": LLAMA_3, "num_key_value_heads": 2},
    "another norm": {"rms_norm_eps": 1e-3},
}


def of_transformers(**changed: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    return LlamaForCausalLM(LlamaConfig(**{**PLAIN, **changed})).eval()


def tokens() -> Any:
    return torch.randint(0, 256, (2, 40), generator=torch.Generator().manual_seed(1))


def logits_of_theirs(model: Any) -> Any:
    with torch.no_grad():
        return model(tokens()).logits


def logits_of_ours(profile: str | Path) -> Any:
    train = read_profile(str(profile), ["train.fast.padded_vocab=64"]).train
    model = build(train)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    load_folder(model, train.model.initial_weights)
    with torch.no_grad():
        return model.logits(tokens())


@pytest.mark.parametrize("changed", VARIANTS.values(), ids=VARIANTS)
def test_weights_of_transformers_give_the_same_logits_here(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    theirs = of_transformers(**changed)
    theirs.save_pretrained(tmp_path / "hf")
    result = import_weights(tmp_path / "hf", tmp_path / "imported")
    ours = logits_of_ours(result["profile"])
    torch.testing.assert_close(ours, logits_of_theirs(theirs), atol=1e-5, rtol=1e-5)


def test_weights_in_bf16_and_in_several_files_stay_as_they_are(tmp_path: Path) -> None:
    theirs = of_transformers().to(torch.bfloat16)
    theirs.save_pretrained(tmp_path / "hf", max_shard_size="20KB")
    assert len(list((tmp_path / "hf").glob("*.safetensors"))) > 1
    result = import_weights(tmp_path / "hf", tmp_path / "imported")
    ours = logits_of_ours(result["profile"])
    torch.testing.assert_close(ours, logits_of_theirs(theirs.float()), atol=1e-5, rtol=1e-5)


def test_imported_weights_are_trained_on_exported_and_loaded_by_transformers(
    tmp_path: Path,
) -> None:
    from transformers import LlamaForCausalLM

    from trainer.export import export_to, find_checkpoint

    theirs = of_transformers(rope_parameters=LLAMA_3, num_key_value_heads=2)
    theirs.save_pretrained(tmp_path / "hf")
    result = import_weights(tmp_path / "hf", tmp_path / "imported")
    text = tmp_path / "train.txt"
    text.write_text("the quick brown fox jumps over the lazy dog\n" * 200)
    ended = launch(
        result["profile"],
        tmp_path / "run",
        "train.data.source=text",
        f"train.data.path={text}",
        "train.steps=2",
        "train.batch_size=4",
        "train.device_batch_size=4",
        "train.optimizer.lr=0.01",
        "train.device=cpu",
        "train.strategy.name=fsdp",
    )
    assert ended.code == 0, ended.text
    export_to(find_checkpoint(tmp_path / "run"), tmp_path / "out")
    exported = LlamaForCausalLM.from_pretrained(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "config.json").read_text())
    assert written["num_key_value_heads"] == 2
    assert written["rope_parameters"] == LLAMA_3
    moved = (logits_of_theirs(exported) - logits_of_theirs(theirs)).abs().max()
    assert moved > 1e-3, "two steps move the weights"
    # And in again: what transformers computes from the export, the trainer computes too
    again = import_weights(tmp_path / "out", tmp_path / "again")
    ours = logits_of_ours(again["profile"])
    torch.testing.assert_close(ours, logits_of_theirs(exported), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"attention_bias": True}, "attention_bias is set"),
        ({"hidden_act": "gelu"}, "hidden_act gelu, only silu"),
        ({"head_dim": 16}, "head_dim is not hidden_size"),
        (
            {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0}},
            "rope_type yarn; default, linear and llama3",
        ),
    ],
)
def test_what_the_model_here_cannot_do_is_refused_before_weights_are_read(
    changed: dict[str, Any], told: str, tmp_path: Path
) -> None:
    from transformers import LlamaConfig

    LlamaConfig(**{**PLAIN, **changed}).save_pretrained(tmp_path / "hf")
    with pytest.raises(BadInput, match=told):
        import_weights(tmp_path / "hf", tmp_path / "imported")
    assert not (tmp_path / "imported").exists()
