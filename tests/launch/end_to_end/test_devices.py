"""Memory of devices: who holds it is asked of the node's own program, here one that says what it is
told to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launch.site import PACE, QUICK, Site
from tests.support.runner import REPOSITORY, Outcome

ON_CPU = (
    "train.steps=2000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=10",
    "train.evaluate.batches=1",
    "train.device=cpu",
)
# A node's nvidia-smi: one device, and whoever is written down as being on it.
_SMI = """#!/bin/sh
case "$1" in
  --query-gpu=*) echo "Pretend GPU, 0" ;;
  --query-compute-apps=pid,used_memory,gpu_bus_id)
    cat "{folder}/on-$(basename "$HOME")" 2>/dev/null; true ;;
  *) echo "unknown question $1" >&2; exit 2 ;;
esac
"""


class Devices:
    """What the nodes' programs say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _program(folder / "bin" / "nvidia-smi", _SMI.format(folder=folder))
        self.python = _program(
            folder / "python", f'#!/bin/sh\nPATH="{folder}/bin:$PATH" exec {sys.executable} "$@"\n'
        )

    def hold(self, host: str, *rows: str) -> None:
        (self.folder / f"on-{host}").write_text("".join(f"{row}\n" for row in rows))


@pytest.fixture
def devices(tmp_path: Path) -> Devices:
    return Devices(tmp_path)


@pytest.fixture
def equipped(site: Site, devices: Devices) -> Iterator[Site]:
    """The same nodes, whose programs are looked for where the pretend one is."""
    inventory = devices.folder / "equipped.yaml"
    text = (REPOSITORY / "inventories" / "local.yaml").read_text()
    inventory.write_text(f"{text}    ansible_python_interpreter: {devices.python}\n")
    yield Site(site.state, inventory)


def test_stop_waits_for_memory_to_be_given_back_and_names_whoever_else_holds_some(
    equipped: Site, devices: Devices
) -> None:
    begun = equipped.launch("gives-back", "--nodes", 2, "--detach", settings=ON_CPU)
    assert begun.code == 0, begun.text
    equipped.await_step("gives-back", 2)
    devices.hold("node2", f"{os.getpid()}, 300, 00000000:01:00.0")
    ended = _stop(equipped, "gives-back")
    assert ended.code == 0, ended.text
    assert "no process left, no memory of a device held" in ended.out
    assert f"node2: pid {os.getpid()} (" in ended.out
    assert "holds 300 MiB of 00000000:01:00.0; it is no part of gives-back" in ended.out


def test_stop_fails_when_a_device_still_holds_what_the_run_had(
    equipped: Site, devices: Devices
) -> None:
    begun = equipped.launch("keeps", "--nodes", 2, "--detach", settings=ON_CPU)
    assert begun.code == 0, begun.text
    equipped.await_step("keeps", 2)
    rank = equipped.rank("keeps", 1)
    devices.hold("node2", f"{rank}, 512, 00000000:01:00.0", "[Not Found], [N/A], 00000000:01:00.0")
    ended = _stop(equipped, "keeps")
    assert ended.code == 2, ended.text
    assert f"node2: pid {rank}, which has ended, holds 512 MiB of 00000000:01:00.0" in ended.err
    assert equipped.processes("keeps") == []
    again = _stop(equipped, "keeps")  # it is still true, and still said
    assert again.code == 2, again.text
    devices.hold("node2")
    assert _stop(equipped, "keeps").code == 0


def test_devices_that_somebody_else_holds_are_not_trained_on(
    equipped: Site, devices: Devices
) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        devices.hold("node1", f"{stranger.pid}, 4096, 00000000:01:00.0")
        refused = equipped.launch("crowded", "--nodes", 1, settings=(*QUICK, "train.device=auto"))
        assert refused.code == 6, refused.text
        assert f"node1: its devices are held by pid {stranger.pid} (sleep, 4096 MiB)" in refused.err
        on_cores = equipped.launch("crowded", "--nodes", 1, settings=(*QUICK, "train.device=cpu"))
        assert on_cores.code == 0, on_cores.text
    finally:
        stranger.kill()
        stranger.wait()


def _stop(site: Site, name: str) -> Outcome:
    return site.invoke("train.stop", "--name", name, "--inventory", site.inventory)


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
