"""Every way to spread a model loses the same, step by step, and takes up its own checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trainer.launching import launch_several, losses, worst_difference
from trainer.profile import BUNDLED

pytestmark = pytest.mark.processes
SMOKES = sorted(path.stem for path in BUNDLED.glob("*-smoke.yaml"))
PROFILE = "llama2-7b-smoke"  # it has a table beside its weights, which must travel with them
COMMON = (
    "train.schedule.warmup_steps=1",
    "train.schedule.decay_steps=4",
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.evaluate.every=0",
    "train.data.validation_fraction=0",
    "train.optimizer.lr=1e-2",
    "train.batch_size=8",
)
TWO = {
    "ddp": ("train.strategy.name=ddp",),
    "fsdp-offload": ("train.strategy.name=fsdp", "train.strategy.cpu_offload=true"),
    "zero2": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=2"),
    "zero2-offload": (
        "train.strategy.name=deepspeed",
        "train.strategy.zero_stage=2",
        "train.strategy.zero_offload=optimizer",
    ),
    "zero3-offload": (
        "train.strategy.name=deepspeed",
        "train.strategy.zero_stage=3",
        "train.strategy.zero_offload=optimizer",
    ),
    "zero3-parameters": (
        "train.strategy.name=deepspeed",
        "train.strategy.zero_stage=3",
        "train.strategy.zero_offload=parameters",
    ),
    "lamb-ddp": ("train.strategy.name=ddp", "train.optimizer.name=lamb"),
    "lamb-fsdp": ("train.strategy.name=fsdp", "train.optimizer.name=lamb"),
}
FOUR = {
    "full": ("train.strategy.name=fsdp", "train.strategy.sharding=full"),
    "hybrid": ("train.strategy.name=fsdp", "train.strategy.sharding=hybrid"),
    "lamb-hybrid": (
        "train.strategy.name=fsdp",
        "train.strategy.sharding=hybrid",
        "train.optimizer.name=lamb",
    ),
}


def trained(
    output: Path,
    strategies: dict[str, tuple[str, ...]],
    processes: int,
    environment: dict[str, str] | None = None,
) -> Path:
    """Four steps with each, the last two after a checkpoint was written and taken up again."""
    runs = [
        (name, PROFILE, (*COMMON, *settings, f"train.steps={steps}"))
        for name, settings in strategies.items()
        for steps in (2, 4)
    ]
    ended = launch_several(output, runs, processes, environment)
    assert ended.code == 0, ended.text
    assert ended.text.count("Loading checkpoint from") == len(strategies), ended.text
    return output


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("deepspeed")
    return trained(tmp_path_factory.mktemp("two"), TWO, 2)


@pytest.fixture(scope="module")
def two_nodes_of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("four"), FOUR, 4, {"LOCAL_WORLD_SIZE": "2"})


def test_both_optimizers_learn(two: Path) -> None:
    for name in ("ddp", "lamb-ddp"):
        curve = losses(two / name)
        assert sorted(curve) == [1, 2, 3, 4] and curve[4] < curve[1]
    assert losses(two / "ddp")[4] != pytest.approx(losses(two / "lamb-ddp")[4], abs=1e-3)


@pytest.mark.parametrize("name", [name for name in TWO if not name.endswith("ddp")])
def test_two_processes_lose_what_ddp_loses(name: str, two: Path) -> None:
    assert worst_difference(losses(two / name), losses(two / _reference(name))) < 1e-5


@pytest.mark.parametrize("name", FOUR)
def test_two_nodes_of_two_lose_what_ddp_loses(name: str, two: Path, two_nodes_of_two: Path) -> None:
    assert worst_difference(losses(two_nodes_of_two / name), losses(two / _reference(name))) < 1e-5


def test_hybrid_sharding_cuts_the_model_inside_a_node_only(two_nodes_of_two: Path) -> None:
    from torch.distributed.checkpoint import FileSystemReader

    def pieces(name: str) -> int:
        saved = FileSystemReader(
            two_nodes_of_two / name / "checkpoints" / "step-00000004"
        ).read_metadata()
        return len(saved.state_dict_metadata["model.model.embed_tokens.weight"].chunks)

    assert (pieces("full"), pieces("hybrid")) == (4, 2)


@pytest.fixture(scope="module")
def every_smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of every smoke profile with every strategy it can have, on two processes."""
    pytest.importorskip("deepspeed")
    output = tmp_path_factory.mktemp("smokes")
    settings = (*COMMON[:5], "train.steps=3")
    runs = [
        (f"{profile}-{strategy}", profile, (*settings, f"train.strategy.name={strategy}"))
        for profile in SMOKES
        for strategy in ("ddp", "fsdp", "deepspeed")
        if strategy == "ddp" or profile != "mnist-mlp-smoke"
    ]
    ended = launch_several(output, runs, 2)
    assert ended.code == 0, ended.text
    return output


@pytest.mark.parametrize("profile", SMOKES)
def test_every_smoke_profile_loses_the_same_with_every_strategy_on_two_processes(
    profile: str, every_smoke: Path
) -> None:
    found = [
        losses(every_smoke / f"{profile}-{name}")
        for name in ("ddp", "fsdp", "deepspeed")
        if (every_smoke / f"{profile}-{name}").exists()
    ]
    assert len(found) == (1 if profile == "mnist-mlp-smoke" else 3) and sorted(found[0]) == [
        1,
        2,
        3,
    ]
    assert all(worst_difference(each, found[0]) < 1e-4 for each in found)


def _reference(name: str) -> str:
    return "lamb-ddp" if name.startswith("lamb") else "ddp"
