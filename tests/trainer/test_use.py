"""A trained model as its user has it: exported, generating, evaluated, imported."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.trainer.launching import launch
from trainer.errors import BadInput

pytestmark = pytest.mark.processes
TEXT = "the run on a node keeps its step and saves what every rank has learned so far"
WORDS = list(TEXT.split(" "))


def write_text(path: Path, seed: int, lines: int) -> Path:
    chance = random.Random(seed)
    path.write_text("".join(" ".join(chance.choices(WORDS, k=12)) + ".\n" for _ in range(lines)))
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    write_text(folder / "train.txt", 1, 600)
    write_text(folder / "validation.txt", 2, 60)
    return folder


def trained(output: Path, text: Path, *settings: str) -> Path:
    ended = launch(
        "gpt2-micro-smoke",
        output,
        "train.data.source=text",
        f"train.data.path={text / 'train.txt'}",
        f"train.data.validation_path={text / 'validation.txt'}",
        "train.evaluate.batches=0",
        "train.steps=30",
        "train.schedule.warmup_steps=2",
        "train.optimizer.lr=0.003",
        *settings,
    )
    assert ended.code == 0, ended.text
    return output


@pytest.fixture(scope="module")
def with_bytes(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("runs") / "bytes", text)


@pytest.fixture(scope="module")
def with_words(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(
        tmp_path_factory.mktemp("runs") / "words",
        text,
        "train.data.tokenizer=trained",
        "train.data.tokenizer_size=300",
        "train.model.vocab_size=320",
        "train.fast.padded_vocab=128",
    )


@pytest.fixture(scope="module", params=["with_bytes", "with_words"])
def run(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture(scope="module")
def model(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from trainer.export import main

    target = tmp_path_factory.mktemp("models") / "model"
    assert main([str(run), str(target)]) == 0
    return target


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def test_an_export_has_weights_configuration_and_tokenizer_and_no_pickle(model: Path) -> None:
    names = {path.name for path in model.iterdir()}
    assert {
        "model.safetensors",
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    } <= names
    assert not any(name.endswith((".bin", ".pt", ".pth", ".pkl")) for name in names)


def test_the_tokenizer_gives_back_any_text_and_the_special_tokens_agree(model: Path) -> None:
    hf, tokenizer = loaded(model)
    text = "the run keeps\n  its step: naïve €5 — 日本"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    assert end == tokenizer.eos_token_id == hf.config.eos_token_id
    assert end == hf.generation_config.eos_token_id
    assert max(tokenizer.get_vocab().values()) < hf.config.vocab_size
    assert tokenizer.model_max_length == hf.config.n_positions


def test_it_generates_words_of_its_text_in_transformers(model: Path) -> None:
    hf, tokenizer = loaded(model)
    start = tokenizer("the run ", return_tensors="pt")
    written = hf.generate(**start, max_new_tokens=20, do_sample=False)
    assert written.shape[1] > start["input_ids"].shape[1]
    assert set(tokenizer.decode(written[0])) <= set(" ".join(WORDS) + ".\n<|endoftext|>")


def test_evaluate_agrees_with_transformers(run: Path, model: Path, text: Path) -> None:
    from trainer.export import find_checkpoint
    from trainer.use.evaluate import evaluate

    figures = evaluate(find_checkpoint(run))
    hf, tokenizer = loaded(model)
    stream: list[int] = []
    for document in _documents(text / "validation.txt"):
        stream += [
            *tokenizer(document, add_special_tokens=False)["input_ids"],
            hf.config.eos_token_id,
        ]
    width = hf.config.n_positions
    losses = []
    for start in range(0, (len(stream) - 1) // width * width, width):
        row = torch.tensor([stream[start : start + width + 1]])
        with torch.no_grad():
            logits = hf(row[:, :-1]).logits
        losses.append(torch.nn.functional.cross_entropy(logits[0], row[0, 1:]).item())
    expected = sum(losses) / len(losses)
    assert figures["eval_loss"] == pytest.approx(expected, abs=1e-3)
    assert figures["eval_ppl"] == pytest.approx(math.exp(expected), rel=1e-3)


def _documents(path: Path) -> list[str]:
    from trainer.config import Data
    from trainer.data.documents import documents

    return list(documents(Data(source="text", path=str(path)), "train"))


def test_the_same_checkpoint_exported_again_changes_nothing(run: Path, model: Path) -> None:
    from trainer.export import export_to, find_checkpoint

    before = (model / "model.safetensors").stat().st_mtime_ns
    assert export_to(find_checkpoint(run), model)["changed"] is False
    assert (model / "model.safetensors").stat().st_mtime_ns == before


def test_a_folder_with_other_things_in_it_is_not_replaced(run: Path, tmp_path: Path) -> None:
    from trainer.export import export_to, find_checkpoint

    (tmp_path / "notes").write_text("mine")
    with pytest.raises(BadInput, match="no earlier export"):
        export_to(find_checkpoint(run), tmp_path)
    assert (tmp_path / "notes").read_text() == "mine"


def test_generate_goes_on_from_a_prompt_and_repeats_itself_with_a_seed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from trainer.use.generate import main

    arguments = [str(run), "--prompt", "the run ", "--tokens", "12", "--seed", "3"]
    results = []
    for _ in range(2):
        assert main(arguments) == 0
        results.append(json.loads(capsys.readouterr().out.removeprefix("result ")))
    assert results[0] == results[1] and results[0]["text"] and results[0]["tokens"] <= 12


def test_a_prompt_that_leaves_no_room_is_refused_in_one_line(
    with_bytes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from trainer.use.generate import main

    assert main([str(with_bytes), "--prompt", "x" * 5000]) == 5
    assert "--prompt has 5000 tokens" in capsys.readouterr().err


def test_an_exported_model_is_imported_and_trained_on_from(
    model: Path, text: Path, tmp_path: Path
) -> None:
    from trainer.use.import_weights import import_weights

    result = import_weights(model, tmp_path / "imported")
    ended = launch(
        result["profile"],
        tmp_path / "run",
        "train.data.source=text",
        f"train.data.path={text / 'train.txt'}",
        "train.steps=1",
        "train.batch_size=8",
        "train.device_batch_size=8",
        "train.optimizer.lr=0.0",
        "train.device=cpu",
    )
    assert ended.code == 0, ended.text
    from trainer.export import export_to, find_checkpoint

    export_to(find_checkpoint(tmp_path / "run"), tmp_path / "again")
    before, after = loaded(model)[0].state_dict(), loaded(tmp_path / "again")[0].state_dict()
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, msg=name)


def test_what_cannot_be_trained_is_not_imported(tmp_path: Path) -> None:
    from trainer.use.import_weights import import_weights

    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "config.json").write_text('{"model_type": "mamba"}')
    with pytest.raises(BadInput, match="a mamba model; gpt2 and llama"):
        import_weights(tmp_path / "hf", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_llama_weights_of_transformers_are_imported_and_exported_unchanged(
    tmp_path: Path, text: Path
) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    from trainer.export import export_to, find_checkpoint
    from trainer.use.import_weights import import_weights

    torch.manual_seed(3)
    original = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=260,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            rope_theta=5000.0,
        )
    ).eval()
    original.save_pretrained(tmp_path / "hf")
    result = import_weights(tmp_path / "hf", tmp_path / "imported")
    assert result["model"]["rope_base"] == 5000.0 and result["tokenizer"] is False
    ended = launch(
        result["profile"],
        tmp_path / "run",
        "train.data.source=text",
        f"train.data.path={text / 'train.txt'}",
        "train.steps=1",
        "train.batch_size=4",
        "train.device_batch_size=4",
        "train.optimizer.lr=0.0",
        "train.device=cpu",
    )
    assert ended.code == 0, ended.text
    export_to(find_checkpoint(tmp_path / "run"), tmp_path / "out")
    tokens = torch.randint(0, 256, (1, 20))
    with torch.no_grad():
        again = loaded(tmp_path / "out")[0](tokens).logits
        torch.testing.assert_close(again, original(tokens).logits, atol=1e-5, rtol=1e-5)
