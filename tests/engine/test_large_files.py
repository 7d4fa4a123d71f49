"""Large files: read piece by piece for each host, never held whole on the controller."""

from __future__ import annotations

import hashlib
import os
import re
import select
from pathlib import Path

from tests.support.runner import Stage
from tests.support.sshd import NodeSet

MIB = 1 << 20
FILE_MIB = 96
# A run without files peaks at about 60 MiB; with the file held once and packed once it is 300
MOST_MIB = 60 + FILE_MIB

PLAY = """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: large, copy: {src: large.bin, dest: "{{ home }}/large.bin"}}
    - {name: twice, copy: {src: large.bin, dest: "{{ home }}/again.bin"}}
"""


def test_a_large_file_reaches_two_hosts_without_being_held_in_memory(
    stage: Stage, nodes: NodeSet
) -> None:
    data = os.urandom(MIB) * FILE_MIB
    source = stage.folder / "large.bin"
    source.write_bytes(data)
    process = stage.start(PLAY, as_json=False)
    peak = peak_mib(process.pid)
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert 20 < peak < MOST_MIB
    copies = [
        node.scratch / stage.folder.name / name
        for node in nodes
        for name in ("large.bin", "again.bin")
    ]
    expected = hashlib.sha1(data).hexdigest()
    for copy in copies:
        with copy.open("rb") as file:
            assert hashlib.file_digest(file, "sha1").hexdigest() == expected
        copy.unlink()


def peak_mib(pid: int) -> float:
    """The most memory that a process has held, looked at until it ends; what the system counts for
    a child includes its time as a copy of this process."""
    ended = select.poll()
    handle = os.pidfd_open(pid)
    ended.register(handle, select.POLLIN)
    peak = 0
    while not ended.poll(20):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        peak = max(peak, int(found[1]) if found else 0)
    os.close(handle)
    return peak / 1024
