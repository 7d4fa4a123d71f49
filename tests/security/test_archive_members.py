"""No member of an archive decides where files are written outside its folder."""

from __future__ import annotations

import io
import os
import tarfile
from typing import Any

import pytest

from playrunner.modules.host.get_url import _name_in
from tests.support.runner import Stage
from tests.support.sshd import NodeSet

# Archives that are unpacked on a host.

Member = tuple[str, bytes, str]  # name, kind, what it links to


class Archive:
    """An archive on node1 and a folder there to unpack it in, beside files that must stay as they
    are."""

    def __init__(self, stage: Stage, nodes: NodeSet) -> None:
        self.stage, self.folder = stage, nodes["node1"].scratch / stage.folder.name
        (self.folder / "dest").mkdir()
        for name in ("outside", "dest-beside"):
            (self.folder / name).mkdir(mode=0o700)
            (self.folder / name / "victim").write_text("mine\n")
        self.before = self.outside()

    def outside(self) -> dict[str, tuple[int, int, float]]:
        found = [
            path
            for name in ("outside", "dest-beside")
            for path in [self.folder / name, *(self.folder / name).rglob("*")]
        ]
        return {
            str(path): (path.stat().st_mode, path.stat().st_nlink, path.stat().st_mtime)
            for path in found
        }

    def unpack(self, *members: Member, extra: str = "") -> Any:
        with tarfile.open(self.folder / "x.tar", "w") as archive:
            for name, kind, target in members:
                info = tarfile.TarInfo(name)
                info.type, info.linkname, info.mode = kind, target.format(folder=self.folder), 0o777
                info.size = 5 if kind == tarfile.REGTYPE else 0
                archive.addfile(info, io.BytesIO(b"evil\n"))
        return self.stage.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - name: unpack
      unarchive:
        {{src: {self.folder}/x.tar, dest: {self.folder}/dest, remote_src: true{extra}}}
""")


@pytest.fixture
def archive(stage: Stage, nodes: NodeSet) -> Archive:
    return Archive(stage, nodes)


FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


WAYS_OUT: dict[str, list[Member]] = {
    "hard link by an absolute path": [("h", HARD, "{folder}/outside/victim")],
    "hard link by dots": [("h", HARD, "../outside/victim")],
    "hard link by dots inside": [("d", FOLDER, ""), ("d/h", HARD, "d/../../outside/victim")],
    "hard link through a link": [("l", LINK, "../outside"), ("h", HARD, "l/victim")],
    "file through a link": [("l", LINK, "{folder}/outside"), ("l/victim", FILE, "")],
    "file through a link to a folder of a similar name": [
        ("l", LINK, "../dest-beside"),
        ("l/victim", FILE, ""),
    ],
    "folder through a link": [("l", LINK, "../outside"), ("l/new", FOLDER, "")],
    "folder that is a link": [("l", LINK, "../outside"), ("l", FOLDER, "")],
    "folders made on the way through a link": [("l", LINK, "../outside"), ("l/a/b/c", FILE, "")],
    "link through a link": [("l", LINK, "../outside"), ("l/m", LINK, "/")],
    "file by dots": [("../outside/victim", FILE, "")],
}


@pytest.mark.parametrize("members", WAYS_OUT.values(), ids=WAYS_OUT)
def test_no_member_of_an_archive_gets_out_of_dest(archive: Archive, members: list[Member]) -> None:
    done = archive.unpack(*members)
    assert done.code == 2 and "it is not unpacked" in done.text, done.text
    assert archive.outside() == archive.before
    assert "Traceback" not in done.text


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_and_pipes_are_refused_unless_they_are_left_out(
    archive: Archive, kind: bytes
) -> None:
    done = archive.unpack(("dev", kind, ""), ("a", FILE, ""))
    assert (
        done.code == 2
        and "a device or a pipe" in done.text
        and not list((archive.folder / "dest").iterdir())
    )
    done = archive.unpack(("dev", kind, ""), ("a", FILE, ""), extra=", exclude: [dev]")
    assert done.code == 0 and os.listdir(archive.folder / "dest") == ["a"], done.text


@pytest.mark.parametrize(
    "members",
    [
        [("a", FILE, ""), ("d", FOLDER, ""), ("d/h", HARD, "a")],
        [("a", FILE, ""), ("l", LINK, "a"), ("h", HARD, "./a")],
        [("d", FOLDER, ""), ("d/a", FILE, ""), ("l", LINK, "d"), ("h", HARD, "l/a")],
    ],
)
def test_hard_links_inside_dest_are_made_once(archive: Archive, members: list[Member]) -> None:
    done = archive.unpack(*members)
    assert done.code == 0 and done.counts("node1")["changed"] == 1, done.text
    again = archive.unpack(*members)
    assert again.code == 0 and again.counts("node1")["changed"] == 0, again.text
    shared = [
        path
        for path in (archive.folder / "dest").rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    assert len({path.stat().st_ino for path in shared}) == 1 and len(shared) >= 2


def test_the_name_of_a_download_is_never_a_folder_above() -> None:
    for url in ("http://x/a/%2e%2e", "http://x/..", "http://x/a/.", "http://x/%2F..", "http://x/"):
        assert _name_in(url) == "index.html"
    assert _name_in("http://x/a/b%20c.tar") == "b c.tar"
