"""Which files of a script's folder travel, and where a run's inventory is remembered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.training.ignore_file import Ignored
from playrunner.training.modules.train.tree import Tree
from playrunner.training.request import Request, default_name, profile_of
from playrunner.training.runs.record import Record
from playrunner.training.runs.remembered import with_inventory
from playrunner.training.script_code import script_code
from playrunner.training.verbs.scripts import script_settings
from tests.support.host.performing import done

ROOT = Path(__file__).resolve().parents[3]


def _written(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


@pytest.mark.parametrize(
    ("pattern", "path", "left_out"),
    [
        ("*.bin", "deep/down/w.bin", True),
        ("data/", "data/x.txt", True),
        ("data/", "data", False),
        ("/data", "sub/data", False),
        ("a/**/b", "a/x/y/b", True),
        ("*.log\n!keep.log", "keep.log", False),
        ("# note\n\n[ab].py", "a.py", True),
        ("[!ab].py", "a.py", False),
    ],
)
def test_patterns_mean_what_they_mean_to_git(pattern: str, path: str, left_out: bool) -> None:
    assert Ignored(pattern.splitlines()).names(path) is left_out


def test_in_a_repository_git_decides_and_the_ignore_file_adds_to_it(tmp_path: Path) -> None:
    _written(tmp_path, "train.py", "out/ckpt.pt", "big/data.bin", "lib/a.py")
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / ".playrunnerignore").write_text("big/\n")
    plain = script_code(str(tmp_path), "train.py")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    code = script_code(str(tmp_path), "train.py")
    expected = [".gitignore", ".playrunnerignore", "lib/a.py", "train.py"]
    assert [path for path, _, _ in code.files] == [path for path, _, _ in plain.files] == expected
    (tmp_path / "link.py").symlink_to("/etc/hostname")
    assert script_code(str(tmp_path), "train.py").tree == code.tree, "links that lead out stay"
    with pytest.raises(BadInput, match=r"left out by \.gitignore"):
        script_code(str(tmp_path), "out/ckpt.pt")


def test_setup_is_due_again_when_a_file_that_it_names_changes(tmp_path: Path) -> None:
    _written(tmp_path, "train.py", "requirements.txt")
    setup = "pip install -r requirements.txt"
    first = script_code(str(tmp_path), "train.py").setup_key(setup)
    (tmp_path / "train.py").write_text("changed")
    assert script_code(str(tmp_path), "train.py").setup_key(setup) == first
    (tmp_path / "requirements.txt").write_text("changed")
    assert script_code(str(tmp_path), "train.py").setup_key(setup) != first


def test_the_working_folder_follows_the_files_and_keeps_what_the_script_wrote(
    tmp_path: Path,
) -> None:
    source, dest, store = tmp_path / "mine", tmp_path / "work", tmp_path / "store"
    _written(source, "train.py", "old.py")

    def tree() -> Tree:
        code = script_code(str(source), "train.py")
        lacking = {digest for _, digest, _ in code.files}
        text = code.pack(lacking).read_bytes().decode("latin-1")
        files = [list(file) for file in code.files]
        return Tree(src={"text": text}, store=str(store), dest=str(dest), files=files)

    assert done(tree())["changed"]
    assert not done(tree())["changed"]
    (dest / "out.pt").write_text("the script's own")
    (source / "old.py").unlink()
    (source / "train.py").write_text("new")
    assert done(tree())["changed"]
    assert (dest / "train.py").read_text() == "new"
    assert not (dest / "old.py").exists() and (dest / "out.pt").exists()


def test_a_script_on_the_command_line_becomes_settings_that_a_run_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _written(tmp_path, "sub/My_Train.py")
    monkeypatch.chdir(tmp_path)
    settings = tuple(script_settings("sub/My_Train.py", ["--lr", "1e-3", "--text", "a b: {c}"]))
    assert default_name(Request("", overrides=settings)) == "my-train"
    monkeypatch.chdir("/")
    from_root = script_settings(f"{tmp_path}/sub/My_Train.py", [])
    assert from_root[1] == f'code="{tmp_path}/sub"', "not all files of the machine"
    profile = profile_of("", settings)
    assert profile.args == ("--lr", "1e-3", "--text", "a b: {c}")
    assert (profile.script, profile.code) == ("sub/My_Train.py", str(tmp_path))
    assert profile.train.steps == 0


@pytest.mark.parametrize("variable", ["TMPDIR", "HOME"])
def test_a_folder_that_holds_everything_does_not_travel(tmp_path: Path, variable: str) -> None:
    """Nothing is started or written for it: the sandbox would have been."""
    folder, state = tmp_path / "all", tmp_path / "state"
    _written(folder, "x.py", "mail/private.txt", "one/x.py")
    environment = {**os.environ, variable: str(folder), "PLAYRUNNER_STATE_HOME": str(state)}

    def refused(script: str, here: Path) -> str:
        command = [sys.executable, "-m", "invoke", "--search-root", str(ROOT), "train.launch"]
        done = subprocess.run(
            [*command, "--script", script, "--nodes", "-1"],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 5, done.stderr
        return done.stderr

    text = refused(f"{folder}/x.py", ROOT)
    assert text.count("\n") == 1 and f"put the script in one of its own, as {folder}/x/" in text
    assert not state.exists()
    # Typed in that folder, only the script's own below it travels
    assert "no project's folder" not in refused("one/x.py", folder)
    (folder / ".git").mkdir()
    assert "no project's folder" not in refused(f"{folder}/x.py", ROOT)


def test_a_verb_that_names_a_run_uses_the_inventory_it_was_launched_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    _written(tmp_path, "hosts.yaml")
    Record("mine").begin({"name": "mine", "inventory": [str(tmp_path / "hosts.yaml")]})
    assert with_inventory(Options(), "mine").inventory == (str(tmp_path / "hosts.yaml"),)
    named = Options(inventory=("other",))
    assert with_inventory(named, "mine") is named
    (tmp_path / "hosts.yaml").unlink()
    assert with_inventory(Options(), "mine").inventory == ()


def test_metrics_of_a_script_are_written_by_rank_0_alone(tmp_path: Path) -> None:
    path = tmp_path / "output" / "metrics.jsonl"
    call = "from playrunner import metrics; metrics.log(3, loss=2.5); metrics.log(4, loss=2)"
    for rank in ("0", "1", "0"):
        environment = {"RANK": rank, "PLAYRUNNER_METRICS": str(path)}
        subprocess.run([sys.executable, "-c", call], check=True, env=environment)
    steps = [json.loads(line)["step"] for line in path.read_text().splitlines()]
    assert steps == [3, 4], "a second attempt takes the place of the first"
