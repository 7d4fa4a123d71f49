"""Resuming from a store: a real S3 API on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.trainer.launching import launch, losses, steps_saved, worst_difference
from tests.trainer.conftest import SECRET
from tests.trainer.test_checkpoint import ALONE, saved
from trainer.checkpoint.checkpoint import Checkpoints
from trainer.checkpoint.manifest import MARKER, damage
from trainer.config import Checkpoint
from trainer.errors import BadInput

STORE = "s3://bucket/run"


def copied(folder: Path, *steps: int) -> None:
    saved(folder, *steps, upload=STORE, keep=0).close()


def found(folder: Path, **settings: Any) -> Path | None:
    checkpoints = Checkpoints(folder, Checkpoint(**settings), ALONE)
    path = checkpoints.find()
    checkpoints.close()
    return path


def test_a_machine_without_checkpoints_takes_the_newest_of_the_store(
    store: Any, tmp_path: Path
) -> None:
    copied(tmp_path / "lost", 5, 10)
    path = found(tmp_path / "new", upload=STORE)
    assert path == tmp_path / "new" / "step-00000010" and damage(path) == ""
    assert (path / "two.bin").read_bytes() == b"2" * 2000
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["step-00000010"]


def test_what_is_here_comes_before_what_is_in_the_store(store: Any, tmp_path: Path) -> None:
    copied(tmp_path / "lost", 10)
    saved(tmp_path / "here", 5)
    assert found(tmp_path / "here", upload=STORE) == tmp_path / "here" / "step-00000005"


def test_an_empty_store_and_one_not_to_be_looked_at_mean_a_beginning(
    store: Any, tmp_path: Path
) -> None:
    assert found(tmp_path, upload=STORE) is None
    copied(tmp_path / "lost", 5)
    assert found(tmp_path / "new", upload=STORE, resume="never") is None


@pytest.mark.parametrize("name", ["one.bin", "two.bin", "state.json", MARKER])
@pytest.mark.parametrize("how", ["missing", "shorter", "other"])
def test_a_copy_cut_short_or_changed_is_passed_over(
    name: str, how: str, store: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path / "lost", 5, 10)
    victim = f"bucket/run/step-00000010/{name}"
    content = store.cat_file(victim)
    store.rm_file(victim)
    if how != "missing":
        store.pipe_file(victim, content[:-1] if how == "shorter" else b"x" * len(content))
    assert found(tmp_path / "new", upload=STORE) == tmp_path / "new" / "step-00000005"
    assert "bucket/run/step-00000010: passed over: " in capsys.readouterr().err
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["step-00000005"]
    with pytest.raises(BadInput, match=r"^checkpoint.resume s3://bucket/run/step-00000010: "):
        found(tmp_path / "new", resume=f"{STORE}/step-00000010")


@pytest.mark.parametrize(
    ("address", "step"), [(STORE, 10), (STORE + "/", 10), (f"{STORE}/step-00000005", 5)]
)
def test_an_address_names_a_run_or_one_checkpoint(
    address: str, step: int, store: Any, tmp_path: Path
) -> None:
    copied(tmp_path / "lost", 5, 10)
    for _ in range(2):  # the second time it is there already
        assert found(tmp_path / "new", resume=address) == tmp_path / "new" / f"step-{step:08d}"
    with pytest.raises(BadInput, match="no complete checkpoint there"):
        found(tmp_path / "new", resume="s3://bucket/elsewhere")


def test_another_checkpoint_of_the_same_step_is_not_replaced(store: Any, tmp_path: Path) -> None:
    copied(tmp_path / "lost", 5)
    saved(tmp_path / "here", 5)
    own = tmp_path / "here" / "step-00000005"
    (own / MARKER).write_text((own / MARKER).read_text() + "\n")
    with pytest.raises(
        BadInput, match="is another checkpoint of the same step; use another --output, or remove it"
    ):
        found(tmp_path / "here", resume=STORE)
    assert damage(own) == ""


def test_a_marker_cannot_name_files_outside(
    store: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.pipe_file(
        "bucket/run/step-00000005/" + MARKER,
        json.dumps({"step": 5, "files": {"../../x": [1, 1]}}).encode(),
    )
    assert found(tmp_path, upload=STORE) is None
    assert "names files outside the checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"upload": STORE}, "; to start from scratch, set checkpoint.resume=never"),
        ({"resume": STORE}, ""),
    ],
)
def test_a_store_that_does_not_answer_is_no_beginning(
    settings: dict[str, str], remedy: str, endpoint: Any, tmp_path: Path
) -> None:
    endpoint("http://127.0.0.1:9")
    with pytest.raises(BadInput) as refused:
        found(tmp_path, **settings)
    said = str(refused.value)
    assert said.startswith(
        f"checkpoint.{next(iter(settings))} {STORE}: cannot be downloaded: "
    ) and said.endswith(remedy)
    assert len(said.splitlines()) == 1 and SECRET not in said


@pytest.mark.processes
def test_a_run_goes_on_from_the_store_on_another_machine_and_number_of_processes(
    store: Any, tmp_path: Path
) -> None:
    settings = (
        "train.schedule.decay_steps=6",
        "train.log.every=1",
        "train.checkpoint.schedule=[]",
        "train.checkpoint.every=2",
        f"train.checkpoint.upload={STORE}",
    )
    whole = launch(
        "gpt2-small-smoke",
        tmp_path / "whole",
        *settings,
        "train.steps=6",
        "train.checkpoint.upload=",
    )
    assert whole.code == 0, whole.text
    first = launch("gpt2-small-smoke", tmp_path / "first", *settings, "train.steps=4")
    assert first.code == 0, first.text
    second = launch(
        "gpt2-small-smoke", tmp_path / "second", *settings, "train.steps=6", processes=2
    )
    assert second.code == 0 and "fetching bucket/run/step-00000004" in second.text, second.text
    assert sorted(losses(tmp_path / "second")) == [5, 6] and SECRET not in second.text
    assert (
        worst_difference(
            losses(tmp_path / "first") | losses(tmp_path / "second"), losses(tmp_path / "whole")
        )
        < 1e-3
    )
    assert steps_saved(tmp_path / "second") == [4, 6]
    assert store.exists(f"bucket/run/step-00000006/{MARKER}")
