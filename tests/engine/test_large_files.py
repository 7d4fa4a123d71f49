"""Large files: sent piece by piece, held whole nowhere, continued where a connection was cut."""

from __future__ import annotations

import hashlib
import os
import re
import select
import shutil
import signal
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from playrunner.modules.host._large_files import PREFIX, part_of
from playrunner.sandbox import nodes as sandbox_nodes
from playrunner.vault.cipher import encrypt
from playrunner.vault.envelope import closed
from tests.support.faults import cut_sessions, own  # noqa: F401
from tests.support.runner import Stage
from tests.support.sshd import NodeSet
from tests.support.until import until

MIB = 1 << 20
FILE_MIB = 96
# A run without files peaks at about 60 MiB, an agent at 15; held once, the file would be in both
MOST_MIB, AGENT_MIB = 60 + FILE_MIB // 2, 15 + FILE_MIB // 3

PLAY = """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: large, copy: {src: large.bin, dest: "{{ home }}/large.bin"}}
    - {name: twice, copy: {src: large.bin, dest: "{{ home }}/again.bin"}}
"""
ONE = """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: large, copy: {src: large.bin, dest: "{{ scratch }}/large.bin"}}
"""


class Watched:
    """What the processes of a run used at most, looked at until it has ended."""

    def __init__(self, process: subprocess.Popen[str], nodes: NodeSet) -> None:
        ended = select.poll()
        handle = os.pidfd_open(process.pid)
        ended.register(handle, select.POLLIN)
        self.controller_mib = self.read_mib = self.agent_mib = 0.0
        while not ended.poll(20):
            self.controller_mib = max(self.controller_mib, _peak_mib(process.pid))
            self.read_mib = max(self.read_mib, _read_mib(process.pid))
            for agent in _agents(nodes):
                self.agent_mib = max(self.agent_mib, _peak_mib(agent))
        os.close(handle)


def test_a_large_file_reaches_two_hosts_without_being_held_in_memory(
    stage: Stage, nodes: NodeSet
) -> None:
    expected = _large_file(stage.folder / "large.bin")
    process = stage.start(PLAY, as_json=False)
    watched = Watched(process, nodes)
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert 20 < watched.controller_mib < MOST_MIB
    assert 5 < watched.agent_mib < AGENT_MIB
    # Hashed once, and read once for each host: the second copy is made on the host
    assert watched.read_mib < 3.5 * FILE_MIB
    copies = [
        node.scratch / stage.folder.name / name
        for node in nodes
        for name in ("large.bin", "again.bin")
    ]
    for copy in copies:
        assert _sha1(copy) == expected
        assert not list(copy.parent.glob(f"{PREFIX}*"))
        copy.unlink()


def test_a_large_file_goes_on_where_its_connection_was_cut_even_twice(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    expected = _large_file(stage.folder / "large.bin")
    place = nodes["node1"].scratch / "large.bin"
    part = Path(part_of(str(place), expected))
    running = stage.start(ONE)
    for mib in (20, 50):
        _until_there(part, mib)
        inode = part.stat().st_ino
        cut_sessions(nodes, "node1")
    watched = Watched(running, nodes)
    out, err = running.communicate()
    assert running.returncode == 0, out + err
    assert _sha1(place) == expected
    assert place.stat().st_ino == inode
    # Hashed once and sent once; two beginnings more would be 70 MiB
    assert watched.read_mib < 2 * FILE_MIB + 40
    assert watched.agent_mib < AGENT_MIB
    assert not list(place.parent.glob(f"{PREFIX}*"))


def test_an_interrupted_run_is_continued_by_the_next_and_a_wrong_beginning_is_sent_again(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    source = stage.folder / "large.bin"
    expected = _large_file(source)
    place = nodes["node1"].scratch / "large.bin"
    part = Path(part_of(str(place), expected))
    running = stage.start(ONE)
    _until_there(part, 20)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    until(lambda: not _agents(nodes), what="the end of the agent")
    kept = part.stat()
    assert not place.exists() and kept.st_mode & 0o777 == 0o600

    with part.open("r+b") as file:
        file.write(b"damaged")
    done = stage.play(ONE)
    assert done.code == 0, done.text
    assert _sha1(place) == expected
    assert place.stat().st_ino == kept.st_ino

    # The part of a content that the file no longer has is not left for ever
    shutil.copy(place, part)
    part.chmod(0o600)
    with source.open("r+b") as file:
        file.write(b"another")
    done = stage.play(ONE)
    assert done.code == 0, done.text
    assert _sha1(place) == _sha1(source)
    assert not list(place.parent.glob(f"{PREFIX}*"))


def test_a_part_that_may_be_somebody_elses_is_neither_used_nor_written_through(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    expected = _large_file(stage.folder / "large.bin", 20)
    place = nodes["node1"].scratch / "large.bin"
    precious = place.with_name("precious")
    precious.write_text("precious")
    part = Path(part_of(str(place), expected))
    for link in (part.symlink_to, part.hardlink_to):
        link(precious)
        done = stage.play(ONE)
        assert done.code == 0, done.text
        assert _sha1(place) == expected
        assert precious.read_text() == "precious"
        part.unlink()
        place.unlink()


def test_a_full_disk_fails_the_step_and_leaves_nothing(
    own: tuple[NodeSet, Stage],
) -> None:
    if os.geteuid():
        pytest.skip("only root can mount a small file system")
    nodes, stage = own
    _large_file(stage.folder / "large.bin", 40)
    small = nodes["node1"].scratch / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(small)])
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        done = stage.play(ONE.replace("scratch }}/", "scratch }}/small/") + AFTER)
        assert done.code == 2, done.text
        assert "No space left on device" in done.result("node1", "large")["values"]["msg"]
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)


AFTER = """
- {hosts: node1, gather_facts: false, tasks: [{name: after, ping: }]}
"""


def test_a_large_archive_is_unpacked_without_being_held_in_memory(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    expected = _large_file(stage.folder / "large.bin")
    with tarfile.open(stage.folder / "large.tar", "w") as archive:
        archive.add(stage.folder / "large.bin", "large.bin")
    play = ONE.replace("copy: {src: large.bin", "unarchive: {src: large.tar")
    process = stage.start(play.replace("scratch }}/large.bin", "scratch }}"), as_json=False)
    watched = Watched(process, nodes)
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert watched.agent_mib < AGENT_MIB
    assert _sha1(nodes["node1"].scratch / "large.bin") == expected
    home = Path("~/.playrunner").expanduser()
    assert not list(home.glob(f"{PREFIX}*"))


def test_a_large_file_that_is_encrypted_arrives_decrypted(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    source, password = stage.folder / "large.bin", stage.folder / "password"
    expected = _large_file(source, 17)
    source.write_text(closed(encrypt(source.read_bytes(), b"open sesame")))
    password.write_text("open sesame\n")
    done = stage.play(ONE, ANSIBLE_VAULT_PASSWORD_FILE=str(password))
    assert done.code == 0, done.text
    assert _sha1(nodes["node1"].scratch / "large.bin") == expected


def _large_file(path: Path, mib: int = FILE_MIB) -> str:
    block = os.urandom(MIB)
    with path.open("wb") as file:
        for number in range(mib):
            file.write(number.to_bytes(8, "big") + block[8:])
    return _sha1(path)


def _sha1(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest()


def _until_there(part: Path, mib: int) -> None:
    until(lambda: _size(part) > mib * MIB, what=f"{mib} MiB on the host")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _agents(nodes: NodeSet) -> list[int]:
    """The agents that run on these nodes: what their servers have started, by its command."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    below = {node.pid for node in sandbox_nodes.status(nodes.root)}
    found = []
    for line in sorted(listed.splitlines(), key=lambda line: int(line.split()[0])):
        pid, parent, command = line.split(maxsplit=2)
        if int(parent) in below:
            below.add(int(pid))
            if re.match(r"\S+ -IS -c ", command):
                found.append(int(pid))
    return found


def _peak_mib(pid: int) -> float:
    """The most memory that a process has held; what the system counts for a child includes its
    time as a copy of this process."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0
    return 0


def _read_mib(pid: int) -> float:
    with suppress(OSError):
        found = re.search(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text())
        return int(found[1]) / MIB if found else 0
    return 0
