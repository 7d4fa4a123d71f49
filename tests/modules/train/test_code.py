"""train.code: a program's files on the nodes, unpacked once and whole."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

from tests.support.runner import Stage


def archive(path: Path, **files: str) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(text)
            made.addfile(member, io.BytesIO(text.encode()))
    return path


def play(source: Path, dest: str) -> str:
    return f"""
- hosts: all
  gather_facts: false
  tasks:
    - train.code: {{src: "{source}", dest: "{dest}"}}
"""


def test_nodes_that_share_a_folder_unpack_once_and_a_second_run_changes_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    source = archive(tmp_path / "code.tar.gz", tool__main="print('hello')")
    shared = tmp_path / "shared" / "abc"
    first = stage.play(play(source, str(shared)))
    assert first.code == 0, first.text
    assert (shared / "tool" / "main").read_text() == "print('hello')"
    assert os.listdir(shared.parent) == ["abc"]  # neither drafts nor claims are left
    second = stage.play(play(source, str(shared)))
    assert second.counts("node1")["changed"] == second.counts("node2")["changed"] == 0


def test_the_claim_of_a_node_that_died_is_not_waited_for_forever(
    stage: Stage, tmp_path: Path
) -> None:
    source = archive(tmp_path / "code.tar.gz", main="x")
    dest = tmp_path / "shared" / "abc"
    (tmp_path / "shared" / "abc.claim").mkdir(parents=True)
    done = stage.play(play(source, str(dest)), "--limit", "node1")
    assert done.code == 0, done.text
    assert os.listdir(dest.parent) == ["abc"]


def test_an_archive_that_reaches_outside_is_refused(stage: Stage, tmp_path: Path) -> None:
    source = archive(tmp_path / "code.tar.gz", **{"..__escape": "x"})
    done = stage.play(play(source, str(tmp_path / "shared" / "abc")))
    assert done.code == 2
    assert "does not belong into an archive of code" in done.text
    assert not (tmp_path / "shared" / "escape").exists()


def test_check_unpacks_nothing(stage: Stage, tmp_path: Path) -> None:
    source = archive(tmp_path / "code.tar.gz", main="x")
    done = stage.play(play(source, str(tmp_path / "shared" / "abc")), "--check")
    assert done.counts("node1")["changed"] == 1
    assert not (tmp_path / "shared").exists()
