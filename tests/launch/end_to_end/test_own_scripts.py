"""train.launch with scripts that were not written for this program."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import runner
from tests.support.launch.site import PATIENCE_SECONDS, Site

SCRIPTS = Path(__file__).parents[1] / "scripts"

SMALL = """
import os, sys
from playrunner import metrics
rows = open(sys.argv[1].removeprefix("--data=")).read()
assert rows == "one\\ntwo\\n", rows
# Backwards: their values are looked for in all files afterwards
assert os.environ["HUB_PASS"][::-1] + os.environ["OTHER"][::-1] == "llehs-eht-foelif-a-fo"
metrics.log(1, loss=2.5)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "mine"
    shutil.copytree(SCRIPTS, folder)
    (folder / ".playrunnerignore").write_text("*.bin\n/secret/\n")
    (folder / "weights.bin").write_bytes(b"large")
    return folder


def _launch(site: Site, script: Path, name: str, *words: object) -> runner.Outcome:
    begun = site.start("train.launch", "--script", script, "--name", name, "--nodes", 2, *words)
    return runner.finish(begun, PATIENCE_SECONDS)


def test_a_script_like_nanogpt_trains_stops_and_resumes_where_it_was(
    site: Site, project: Path
) -> None:
    script = project / "nanogpt_style.py"
    begun = _launch(
        site,
        script,
        "nano",
        "--launcher",
        "torchrun",
        "--detach",
        "--set",
        "setup=echo prepared >> prepared.txt",
        "--",
        "--max_iters=100000",
        "--pause=0.02",
    )
    assert begun.code == 0, begun.text
    site.await_step("nano", 3)
    work = site.folder("nano") / "work"
    assert (work / "model.py").read_bytes() == (project / "model.py").read_bytes()
    assert not (work / "weights.bin").exists()
    assert (work / "prepared.txt").read_text() == "prepared\n" * 2, "once on each node"
    script.rename(project / "aside.py")
    refused = site.invoke("train.scale", "--name", "nano", "--nodes", 1)
    (project / "aside.py").rename(script)
    assert refused.code == 5 and "there is no such file" in refused.err, refused.text
    state = site.invoke("train.status", "--name", "nano", "--json")
    assert state.data["state"] == "running", "it was refused before anything was stopped"
    stopped = site.invoke("train.stop", "--name", "nano")
    assert stopped.code == 0, stopped.text
    assert site.processes("nano") == []
    reached, logins = max(site.losses("nano")), site.logins("node2")
    resumed = site.invoke(
        "train.resume", "--name", "nano", "--", "--init_from=resume", f"--max_iters={reached + 4}"
    )
    assert resumed.code == 0, resumed.text
    assert site.logins("node2") == logins + 1
    losses = site.losses("nano")
    assert set(losses) == set(range(reached + 4))
    assert losses[reached + 3] < losses[0]
    assert (work / "prepared.txt").read_text() == "prepared\n" * 2, "nothing of it has changed"


def test_a_script_for_the_hugging_face_trainer_runs_as_it_is(site: Site, project: Path) -> None:
    ended = _launch(
        site,
        project / "hf_trainer.py",
        "hugging",
        "--launcher",
        "direct",
        "--",
        "--output_dir",
        "$CHECKPOINT_DIR",
    )
    assert ended.code == 0, ended.text
    losses = site.losses("hugging")
    assert len(losses) == 3 and max(losses) == 6, losses
    kept = site.invoke("sandbox.down")
    assert kept.code == 5 and "hugging (" in kept.err and "--yes deletes them" in kept.err
    state = site.invoke("train.status", "--name", "hugging", "--json").data
    assert {"checkpoint-3", "checkpoint-6"} <= set(state["checkpoints"])
    assert state["checkpoint_bytes"]["checkpoint-6"] > 1000


@pytest.mark.parametrize("launcher", ["torchrun", "direct"])
def test_a_script_for_accelerate_runs_as_it_is(site: Site, project: Path, launcher: str) -> None:
    name = f"accelerate-{launcher}"
    script, output = project / "accelerate_style.py", "$CHECKPOINT_DIR"
    ended = _launch(site, script, name, "--launcher", launcher, "--", "--output_dir", output)
    assert ended.code == 0, ended.text
    losses = site.losses(name)
    assert set(losses) == set(range(6)) and losses[5] < losses[0]
    assert "step 5 of 2 processes" in site.invoke("train.logs", "--name", name).out
    assert site.invoke("train.status", "--name", name, "--json").data["checkpoints"] == ["state"]


@pytest.mark.parametrize("launcher", ["torchrun", "direct"])
def test_a_script_for_lightning_runs_as_it_is(site: Site, project: Path, launcher: str) -> None:
    name = f"lightning-{launcher}"
    script, output = project / "lightning_style.py", "$CHECKPOINT_DIR"
    ended = _launch(site, script, name, "--launcher", launcher, "--", "--default_root_dir", output)
    assert ended.code == 0, ended.text
    logs = site.invoke("train.logs", "--name", name, "--all", "--tail", 400).out
    assert "MEMBER: 2/2" in logs and "`max_steps=6` reached" in logs, logs
    losses = site.losses(name)
    assert set(losses) == set(range(6)) and losses[5] < losses[0]


def test_ranks_of_a_script_need_not_meet_and_may_end_at_once(site: Site, tmp_path: Path) -> None:
    script = tmp_path / "apart.py"
    script.write_text("import os; print('rank', os.environ['RANK'], 'alone', flush=True)\n")
    ended = _launch(site, script, "apart", "--launcher", "direct")
    assert ended.code == 0, ended.text
    logs = site.invoke("train.logs", "--name", "apart", "--all").out
    assert "rank 0 alone" in logs and "rank 1 alone" in logs


def test_a_script_for_deepspeed_gets_its_own_flags_from_a_profile(
    site: Site, project: Path
) -> None:
    profile = project / "zero.yaml"
    profile.write_text(
        "script: deepspeed_zero.py\n"
        "args: --steps 4 --deepspeed --deepspeed_config ds_config.json\n"
        "environment: {DS_ACCELERATOR: cpu}\n"
        "launch: {nodes: 2, launcher: deepspeed, max_restarts: 0}\n"
        "train: {steps: 4}\n"
    )
    ended = runner.finish(
        site.start("train.launch", "--profile", profile, "--json"), PATIENCE_SECONDS
    )
    assert ended.code == 0, ended.text
    assert ended.data["state"] == "finished"
    assert set(site.losses("zero")) == {1, 2, 3, 4}


def test_one_changed_file_is_all_that_travels_and_a_wrong_argument_is_not_tried_again(
    site: Site, project: Path
) -> None:
    (project / "small.py").write_text("import argparse; argparse.ArgumentParser().parse_args()\n")
    words = ("--launcher", "direct", "--no-gate", "--", "--wrong")
    failed = _launch(site, project / "small.py", "small", *words)
    assert failed.code == 100, failed.text
    assert "unrecognized arguments: --wrong" in failed.err
    assert "it would fail again in the same way" in json.dumps(site.supervisor("small", "node1"))
    store = site.shared / "code" / "files"
    before = {path.name for path in store.iterdir()}
    # Done before its node has joined
    (project / "small.py").write_text(SMALL)
    rows, token = project.parent / "rows.txt", project.parent / "token"
    rows.write_text("one\ntwo\n")
    token.write_text("of-a-file\n")
    ended = runner.finish(
        site.start(
            *("train.launch", "--script", project / "small.py", "--name", "small", "--nodes", 2),
            *("--launcher", "direct", "--no-gate", "--data", rows, "--secret", "HUB_PASS"),
            *("--secret", f"OTHER={token}", "--", "--data=$DATA_DIR"),
            HUB_PASS="of-the-shell",
        ),
        PATIENCE_SECONDS,
    )
    assert ended.code == 0, ended.text
    assert site.losses("small") == {1: 2.5}
    assert "data copied: 0.0 MB on 2 nodes" in ended.err
    kept = subprocess.run(
        ["grep", "-rlE", "of-the-shell|of-a-file", site.state],
        capture_output=True,
        text=True,
        check=False,
    )
    assert kept.stdout == "", "no file of a node or of this machine has a secret's value"
    resume = ("train.resume", "--name", "small")
    unset = site.invoke(*resume)
    assert unset.code == 5 and "HUB_PASS: it is not set in this shell" in unset.err
    resumed = site.invoke(*resume, HUB_PASS="of-the-shell")
    assert resumed.code == 0, "it gets the values where it had them from: " + resumed.text
    missing = site.invoke("train.launch", "--script", project / "small.py", "--secret", "HUB_PASS")
    assert missing.code == 5 and "HUB_PASS: it is not set in this shell" in missing.err
    absent = site.invoke("train.launch", "--script", project / "small.py", "--data", "nowhere")
    assert absent.code == 5 and "--data nowhere: no such file or folder" in absent.err
    assert len({path.name for path in store.iterdir()} - before) == 1
    asked = site.invoke("train.delete", "--name", "small")
    assert asked.code == 5 and "needs --yes" in asked.err
    other = site.invoke("train.delete", "--name", "../code", "--yes")
    assert other.code == 5 and "is a path" in other.err and store.exists()
    pruned = site.invoke("train.prune", "--keep", 0, "--check", "--json").data
    assert not pruned["changed"] and pruned["runs"]["small"] > 100
    deleted = site.invoke("train.delete", "--name", "small", "--yes", "--json")
    assert deleted.data["changed"] and deleted.data["bytes"] > 100, deleted.text
    assert not site.folder("small").exists()
    assert site.invoke("train.status", "--name", "small").code == 102


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--script", "nowhere.py"], "--script nowhere.py: there is no such file"),
        (["--profile", "gpt2-micro-smoke", "--set", "args=x"], 'is for profiles with a "script"'),
    ],
)
def test_bad_input_about_scripts_is_one_line(site: Site, words: list[str], message: str) -> None:
    refused = site.invoke("train.launch", *words)
    assert (refused.code, message in refused.err) == (5, True), refused.text
