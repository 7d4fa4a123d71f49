"""What a run's processes listen on: the nodes' own addresses and nothing else; what strangers send
there harms no run."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.launch.site import PACE, Site

STEPS = (
    "train.steps=12",
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.evaluate.batches=1",
)
LONG = ("train.steps=3000", PACE, *STEPS[1:])
ELASTIC = ("launch.min_nodes=1", "launch.max_nodes=2")
LAUNCHERS = {
    "direct": ("direct", ()),
    "torchrun": ("torchrun", ()),
    "elastic": ("torchrun", ELASTIC),
    "deepspeed": ("deepspeed", ()),
}
HOSTILE = (
    b'{"node":"x","proof":"\\u00e9"}\n',
    b"[" * 60_000 + b"\n",
    b"\xff" * 5000,
    b"GET / HTTP/1.1\r\n\r\n",
    b"\0" * 64,
    b"",
)


@pytest.mark.parametrize("how", LAUNCHERS)
def test_a_run_on_loopback_nodes_listens_on_their_addresses_alone_and_outlives_strangers(
    site: Site, how: str
) -> None:
    launcher, settings = LAUNCHERS[how]
    name = f"ports-{how}"
    running = site.begin(name, "--nodes", 2, "--launcher", launcher, settings=(*LONG, *settings))
    site.await_step(name, 2, running)
    found = listeners(site.processes(name))
    assert len(found) >= 4, found  # the store, the link, and gloo's of each rank
    assert {address for address, _ in found if not address.startswith("127.")} == set(), found
    first = json.loads((site.folder(name) / "run.json").read_text())["nodes"][0]["address"]
    ports = {port for address, port in found if address == first}
    assert len(ports) >= 2, found  # the ranks' and the supervisors'
    assert_nothing_secret_in_argv(site, name)
    for address, port in found:
        if address == first:
            for said in HOSTILE:
                _pester(address, port, said)
    site.await_step(name, max(site.losses(name)) + 3, running)
    log = (site.folder(name) / "nodes" / "node1" / "log").read_text()
    assert log.count("to the link port was refused") == 1
    assert site.invoke("train.stop", "--name", name).code == 0
    running.communicate(timeout=60)


def listeners(pids: list[int]) -> list[tuple[str, int]]:
    """Address and port of every socket that these processes listen on, as ss tells."""
    told = subprocess.run(["ss", "-Hltnp"], check=True, capture_output=True, text=True).stdout
    found = []
    for line in told.splitlines():
        if {int(pid) for pid in re.findall(r"pid=(\d+)", line)} & set(pids):
            address, _, port = line.split()[3].rpartition(":")
            found.append((address.strip("[]").removeprefix("::ffff:"), int(port)))
    return found


def assert_nothing_secret_in_argv(site: Site, name: str) -> None:
    token = (site.folder(name) / "nodes" / "node1" / "token").read_text().strip()
    for pid in site.processes(name):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        assert token not in words
        assert "rdzv-id" not in words
    assert os.stat(site.folder(name) / "nodes" / "node1" / "token").st_mode & 0o077 == 0


def _pester(address: str, port: int, said: bytes) -> None:
    try:
        with socket.create_connection((address, port), 5) as line:
            line.settimeout(1)
            line.sendall(said)
            line.recv(64)
    except OSError:
        pass  # hung up on, or left unanswered
