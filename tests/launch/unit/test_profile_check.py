"""train.check: every profile for its own inventory, and what is wrong with others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playrunner.options import Options
from playrunner.training.profile_check.judgement import check_profile
from playrunner.training.profile_check.own_inventory import own_inventory
from playrunner.training.request import Request
from trainer.config import Train
from trainer.memory import estimate, parameter_count
from trainer.profile import BUNDLED, read_profile
from trainer.validate import padded_vocab

ROOT = Path(__file__).parents[3]
PROFILES = sorted(path.stem for path in BUNDLED.glob("*.yaml"))


def inventory_of(profile: str) -> str:
    """Small stand-ins are for the sandbox."""
    if profile.endswith("-smoke"):
        return "local"
    named = Path(own_inventory(profile)).stem
    assert named, f"{profile}: no inventory has it in its train_profiles"
    return named


def checked(
    profile: str, inventory: str = "", nodes: int = 0, extra: tuple[str, ...] = (), *overrides: str
) -> tuple[int, dict[str, Any]]:
    where = str(ROOT / "inventories" / f"{inventory or inventory_of(profile)}.yaml")
    code, described, _ = check_profile(
        Request(profile, nodes=nodes, overrides=overrides),
        Options((where,), extra_vars=extra),
    )
    return code, described


def problems(described: dict[str, Any]) -> dict[str, str]:
    return {
        each["topic"]: f"{each['text']}; {each['remedy']}"
        for each in described["findings"]
        if each["verdict"] == "problem"
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_passes_for_its_own_inventory(profile: str) -> None:
    code, described = checked(profile)
    assert problems(described) == {}
    assert (code, described["ok"]) == (0, True)
    topics = {each["topic"] for each in described["findings"]}
    assert topics == {"sizes", "machines", "batch", "schedule", "precision", "memory", "data"}
    if not profile.endswith("-smoke"):
        (kind,) = {each["verdict"] for each in described["findings"] if each["topic"] == "memory"}
        assert kind == "ok", "the memory of the guides' machines is known"


# In a process of its own: torch cannot load all of itself where ansible-core is loaded.
COUNT = """
import json, sys, torch
from trainer.models import build
from trainer.profile import read_profile
counts = {}
for profile in sys.argv[1:]:
    with torch.device("meta"):
        model = build(read_profile(profile, ["train.distill.teacher="]).train)
    counts[profile] = sum(each.numel() for each in model.parameters())
print(json.dumps(counts))
"""


def test_parameters_are_counted_as_the_models_have_them() -> None:
    pytest.importorskip("torch")
    printed = subprocess.check_output([sys.executable, "-c", COUNT, *PROFILES], text=True, cwd=ROOT)
    assert json.loads(printed) == {
        profile: parameter_count(read_profile(profile, ["train.distill.teacher="]).train)
        for profile in PROFILES
    }


def test_a_batch_that_is_uneven_at_some_number_of_nodes_is_told_with_one_that_is_not() -> None:
    sizes = ("launch.min_nodes=1", "launch.max_nodes=2")
    code, described = checked("gpt2-small", "gke", 0, (), *sizes, "train.batch_size=192")
    assert code == 5
    told = problems(described)
    assert set(told) == {"batch"}
    assert "at 2 nodes" in told["batch"] and "train.batch_size=128" in told["batch"]
    assert checked("gpt2-small", "gke", 0, (), *sizes, "train.batch_size=128")[0] == 0


def test_a_model_that_does_not_fit_is_told_with_a_setting_that_makes_it_fit() -> None:
    plain = ("train.strategy.name=ddp", "train.strategy.activation_checkpointing=false")
    code, described = checked("llama2-7b", "eks-llama", 0, (), *plain)
    told = problems(described)["memory"]
    assert code == 5 and "does not fit A100 with 40 GiB" in told
    assert "set train.strategy.name=fsdp and train.strategy.activation_checkpointing=true" in told
    mended = ("train.strategy.name=fsdp", "train.strategy.activation_checkpointing=true")
    assert checked("llama2-7b", "eks-llama", 0, (), *mended)[0] == 0


def test_seventy_billion_need_more_than_two_nodes() -> None:
    settings = ("train.batch_size=16",)
    code, described = checked("llama2-70b", "eks-llama", 2, ("llama_size=70b",), *settings)
    assert code == 5 and "train.strategy.cpu_offload=true" in problems(described)["memory"]


def test_a_chip_without_bf16_is_told() -> None:
    code, described = checked("gpt2-elastic", "eks-gpu", 8, (), "train.precision=bf16")
    assert code == 5
    assert "train.precision=fp16" in problems(described)["precision"]


def test_more_nodes_than_the_inventory_has_are_told() -> None:
    code, described = checked("llama2-7b", "eks-llama", 32, (), "train.batch_size=256")
    assert code == 5 and "at most 16" in problems(described)["machines"]


def test_sizes_that_contradict_one_another_are_one_problem_and_nothing_is_counted_from_them() -> (
    None
):
    code, described = checked("llama2-7b", "eks-llama", 0, (), "train.model.heads=7")
    assert code == 5 and described["memory"] is None
    assert list(problems(described)) == ["sizes"]


def test_what_cannot_be_known_is_called_unknown_and_is_no_failure(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("nodes: {hosts: {a: , b: }}\n")
    code, described, lines = check_profile(
        Request("gpt2-micro-smoke", overrides=("train.data.source=text", "train.data.path=/no")),
        Options((str(own),)),
    )
    assert code == 0
    unknown = {each["topic"] for each in described["findings"] if each["verdict"] == "unknown"}
    assert {"memory", "data"} <= unknown
    assert "the machine's memory is not known; set instance_type" in lines


def test_the_estimate_halves_with_the_shards_and_grows_with_what_is_kept() -> None:
    train = read_profile("llama2-7b").train
    few, many = estimate(train, 32, 8), estimate(train, 64, 8)
    assert few.optimizer == 2 * many.optimizer and few.activations == many.activations
    kept = read_profile("llama2-7b", ["train.strategy.activation_checkpointing=false"]).train
    assert estimate(kept, 64, 8).activations > 10 * many.activations
    stages = [
        estimate(read_profile("gpt2-medium", [f"train.strategy.zero_stage={stage}"]).train, 16, 8)
        for stage in (1, 2, 3)
    ]
    assert [stage.gradients for stage in stages][1] == stages[0].gradients / 16
    assert stages[2].weights == stages[0].weights / 16


@pytest.mark.parametrize(
    ("profile", "settings"),
    [
        ("gpt2-small", ("train.precision=fp32",)),
        ("llama2-7b", ("train.precision=fp32", "train.model.mlp_width=344")),
        ("bert-large", ("train.precision=fp32",)),
    ],
)
def test_activations_are_about_what_autograd_keeps(profile: str, settings: tuple[str, ...]) -> None:
    torch = pytest.importorskip("torch")
    model = "layers: 4, heads: 4, width: 128, vocab_size: 512, context: 128"
    small = [
        f"train.model={{{model}}}",
        "train.data.sequence=128",
        "train.device_batch_size=2",
        "train.fast.padded_vocab=1",
        "train.strategy={activation_checkpointing: false, activation_offload: false}",
    ]
    train = read_profile(profile, [*small, *settings]).train
    kept = _kept_bytes(torch, train)
    counted = estimate(train, 1, 1).activations
    assert kept <= counted <= 2.5 * kept


def _kept_bytes(torch: Any, train: Train) -> int:
    """What autograd holds on to after a forward pass, each tensor counted once."""
    from trainer.models import build, initialise

    model = build(train)
    initialise(model, 1)
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage
        return tensor

    tokens = torch.randint(0, padded_vocab(train), (train.device_batch_size, 128))
    labels = torch.full_like(tokens, -100)
    labels[:, ::7] = tokens[:, ::7]
    batch = {
        "input": tokens,
        "label": labels if train.model.kind == "bert" else tokens,
        "segment": torch.zeros_like(tokens),
        "mask": torch.ones_like(tokens),
        "next": torch.zeros(train.device_batch_size, dtype=torch.long),
    }
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(batch)
    return sum(storage.nbytes() for storage in kept.values())
