"""host.git, with real repositories on this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.git import Git
from tests.support.host.performing import done, failure, undone

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed here")


def git(folder: Path, *words: str) -> str:
    said = ["-c", "user.name=t", "-c", "user.email=t@example", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *said, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "file").write_text(text)
    git(folder, "add", "file")
    git(folder, "commit", "-qm", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, "one")
    git(folder, "tag", "-am", "first", "v1")
    commit(folder, "two")
    git(folder, "branch", "dev")
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "copy"


def step(repo: Path, copy: Path, **more: Any) -> Git:
    return Git(repo=f"file://{repo}", dest=str(copy), **more)


def test_a_copy_is_made_and_then_left_alone(repo: Path, copy: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    foreseen = done(step(repo, copy), check=True)
    assert foreseen["changed"] and foreseen["after"] == head and not copy.exists()
    result = done(step(repo, copy))
    assert (result["changed"], result["before"], result["after"]) == (True, None, head)
    assert (copy / "file").read_text() == "two"
    again = done(step(repo, copy))
    assert (again["changed"], again["before"], again["after"]) == (False, head, head)


def test_newer_commits_are_fetched(repo: Path, copy: Path) -> None:
    done(step(repo, copy, version="main"))
    newer = commit(repo, "three")
    assert done(step(repo, copy, version="main"), check=True)["after"] == newer
    assert (copy / "file").read_text() == "two"
    assert done(step(repo, copy, version="main"))["after"] == newer
    assert (copy / "file").read_text() == "three" and git(
        copy, "branch", "--show-current"
    ) == "main"


def test_tags_branches_and_commits_can_be_asked_for(repo: Path, copy: Path) -> None:
    first = git(repo, "rev-parse", "v1^{commit}")
    assert done(step(repo, copy, version="v1"))["after"] == first
    assert not done(step(repo, copy, version="v1"))["changed"]
    assert not done(step(repo, copy, version=first[:8]))["changed"]
    assert done(step(repo, copy, version="dev"))["changed"]
    assert git(copy, "branch", "--show-current") == "dev"
    assert done(step(repo, copy, version=first))["after"] == first


def test_local_changes_are_kept_unless_forced(repo: Path, copy: Path) -> None:
    done(step(repo, copy))
    (copy / "file").write_text("mine")
    assert "Local modifications exist" in str(failure(step(repo, copy)))
    assert (copy / "file").read_text() == "mine"
    assert done(step(repo, copy, force=True))["changed"]
    assert (copy / "file").read_text() == "two"


def test_without_update_the_copy_stays(repo: Path, copy: Path) -> None:
    done(step(repo, copy))
    commit(repo, "three")
    assert not done(step(repo, copy, update=False))["changed"]


def test_without_clone_nothing_is_made(repo: Path, copy: Path) -> None:
    assert done(step(repo, copy, clone=False))["after"] == git(repo, "rev-parse", "HEAD")
    assert not copy.exists()


def test_a_shallow_copy_of_one_branch(repo: Path, copy: Path) -> None:
    done(step(repo, copy, version="dev", depth=1, single_branch=True))
    assert git(copy, "rev-list", "--count", "HEAD") == "1"
    commit(repo, "three")
    git(repo, "branch", "-f", "dev")
    assert done(step(repo, copy, version="dev", depth=1, single_branch=True))["changed"]
    assert (copy / "file").read_text() == "three"


def test_a_bare_copy(repo: Path, copy: Path) -> None:
    assert (
        done(step(repo, copy, bare=True))["changed"]
        and (copy / "HEAD").exists()
        and not (copy / "file").exists()
    )
    newer = commit(repo, "three")
    assert done(step(repo, copy, bare=True))["after"] == newer
    assert not done(step(repo, copy, bare=True))["changed"]


def test_another_address_is_taken_over(repo: Path, copy: Path, tmp_path: Path) -> None:
    done(step(repo, copy))
    moved = shutil.copytree(repo, tmp_path / "moved")
    result = done(step(moved, copy))
    assert (
        result["remote_url_changed"]
        and git(copy, "config", "remote.origin.url") == f"file://{moved}"
    )


def test_submodules_come_along(
    repo: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    inner = shutil.copytree(repo, tmp_path / "inner")
    git(repo, "submodule", "--quiet", "add", f"file://{inner}", "part")
    git(repo, "commit", "-qm", "with part")
    done(step(repo, copy))
    assert (copy / "part" / "file").read_text() == "two"


def test_mistakes_are_told_in_gits_words(repo: Path, copy: Path, tmp_path: Path) -> None:
    assert "Failed to checkout nosuch" in str(failure(step(repo, copy, version="nosuch")))
    assert "repository" in str(failure(step(tmp_path / "nowhere", tmp_path / "x")))


def test_a_clone_and_an_update_can_be_taken_back(repo: Path, copy: Path) -> None:
    made = done(step(repo, copy))
    commit(repo, "three")
    updated = done(step(repo, copy))
    undone(step(repo, copy), updated["diff"]["before"])
    assert (copy / "file").read_text() == "two"
    undone(step(repo, copy), made["diff"]["before"])
    assert not copy.exists()
