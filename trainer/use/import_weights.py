"""`python -m trainer.use.import_weights SOURCE DIR`: Hugging Face weights as a folder to train on
from: safetensors, tokenizer, and a profile that names them.

SOURCE is a folder, as `save_pretrained` writes it. Pickled weights are read without running what
may be in them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from trainer.errors import BadInput, TrainerError
from trainer.llama_config import llama_settings

RESULT = "result "
PROFILE = "profile.yaml"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.use.import_weights", description=__doc__)
    parser.add_argument("source", help="a folder in Hugging Face's format")
    parser.add_argument("target", help="the folder to write")
    options = parser.parse_args(arguments)
    try:
        result = import_weights(Path(options.source), Path(options.target))
    except TrainerError as error:
        print(f"import: {error}", file=sys.stderr)
        return error.exit_code
    print(RESULT + json.dumps(result))
    return 0


def import_weights(source: Path, target: Path) -> dict[str, Any]:
    settings = model_settings(_config(source))
    if (target / PROFILE).exists():
        raise BadInput(f"{target}: holds an import already; choose another folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(f"{target}: exists and is not empty; choose another folder")
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            str(source), dtype="auto", local_files_only=True
        )
    except (OSError, ValueError, RuntimeError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise BadInput(f"{source}: its weights cannot be read: {first}") from None
    draft = target.with_name(f".{target.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    model.save_pretrained(draft, safe_serialization=True)
    tokenizer = _tokenizer(source, draft)
    (draft / PROFILE).write_text(_profile(settings, target.resolve(), tokenizer))
    if target.exists():
        target.rmdir()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft.rename(target)
    return {
        "to": str(target),
        "profile": str(target / PROFILE),
        "model": settings,
        "tokenizer": tokenizer,
        "changed": True,
    }


def model_settings(config: dict[str, Any]) -> dict[str, Any]:
    """Hugging Face's configuration in the words of a profile; what our models cannot do is
    refused."""
    kind = config.get("model_type")
    try:
        if kind == "gpt2":
            return _gpt2(config)
        if kind == "llama":
            return llama_settings(config)
    except KeyError as error:
        raise BadInput(f"config.json lacks {error}") from None
    raise BadInput(f"config.json: a {kind} model; gpt2 and llama ones can be imported")


def _gpt2(config: dict[str, Any]) -> dict[str, Any]:
    if config.get("activation_function", "gelu_new") != "gelu_new":
        raise BadInput(
            f"config.json: activation_function {config['activation_function']}, only gelu_new"
            " can be trained"
        )
    return {
        "kind": "gpt2",
        "layers": config["n_layer"],
        "heads": config["n_head"],
        "width": config["n_embd"],
        "mlp_width": config.get("n_inner") or 0,
        "context": config["n_positions"],
        "vocab_size": config["vocab_size"],
        "dropout": config.get("resid_pdrop", 0.1),
        "norm_eps": config.get("layer_norm_epsilon", 1e-5),
        "upcast_attention": bool(config.get("reorder_and_upcast_attn")),
    }


def _config(source: Path) -> dict[str, Any]:
    try:
        config = json.loads((source / "config.json").read_text())
    except OSError as error:
        raise BadInput(f"{source}/config.json: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"{source}/config.json: not JSON") from None
    if not isinstance(config, dict):
        raise BadInput(f"{source}/config.json: not a mapping")
    return config


def _tokenizer(source: Path, draft: Path) -> bool:
    """Copied as it is; a slow one (vocab.json and merges.txt) is converted."""
    if not any((source / name).is_file() for name in ("tokenizer.json", "vocab.json")):
        return False
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(str(source), local_files_only=True).save_pretrained(draft)
    return (draft / "tokenizer.json").is_file()


def _profile(settings: dict[str, Any], target: Path, tokenizer: bool) -> str:
    import yaml

    train: dict[str, Any] = {"model": {**settings, "initial_weights": str(target)}}
    if tokenizer:
        train["data"] = {"tokenizer": str(target)}
    text: str = yaml.safe_dump({"train": train}, sort_keys=False)
    return "# Goes on from imported weights; add data, steps and batch_size.\n" + text


if __name__ == "__main__":
    sys.exit(main())
