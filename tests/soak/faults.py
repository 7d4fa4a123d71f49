"""What disturbs a play of a soak, at a moment of its own, and how it is put right again."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from playrunner.sandbox import nodes as sandbox_nodes
from tests.soak.world import World

SMALL_DISK = "1m"  # less than the payload
RECORDS_DISK = "1g"  # more than hours of runs leave on it
FILLER = "filler"
JUMP_SECONDS = (3600, -7200, 400 * 86400)
CLOCK = Path(__file__).parent / "clock"  # what Python loads at its start


def end(process: subprocess.Popen[str], number: int) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)


def _nothing(world: World, process: subprocess.Popen[str]) -> None:
    pass


def _killed_agent(world: World, process: subprocess.Popen[str]) -> None:
    victims = [each for each in world.node_processes() if "python" in _name(each)]
    if victims:
        with suppress(psutil.Error):
            world.rng.choice(victims).kill()


def _lost_node(world: World, process: subprocess.Popen[str]) -> None:
    sandbox_nodes.stop(world.sandbox, [world.rng.choice(world.nodes())])


def _cut_links(world: World, process: subprocess.Popen[str]) -> None:
    """The connections to a node break, and its server goes on."""
    with suppress(psutil.Error):
        for session in psutil.Process(world.rng.choice(world.nodes()).pid).children():
            with suppress(psutil.Error):
                session.kill()


def _ended_holder(world: World, process: subprocess.Popen[str]) -> None:
    """The process that keeps connections open dies under the play."""
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            words = each.cmdline()
            if "playrunner.ssh.kept.holder" in words and str(world.folder) in words[-1]:
                os.kill(each.pid, signal.SIGKILL)


def _full_disk(world: World, process: subprocess.Popen[str]) -> None:
    """What the play writes to on a node has no room for it."""
    folder = world.rng.choice(world.nodes()).scratch / "soak"
    folder.mkdir(exist_ok=True)
    _mount(folder, SMALL_DISK)


def _full_records(world: World, process: subprocess.Popen[str]) -> None:
    """The disk with the controller's own records has no room for another byte."""
    with suppress(OSError), open(world.records / FILLER, "wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
            pass


def _clock_jump(world: World, process: subprocess.Popen[str]) -> None:
    clock_file(world).write_text(str(world.rng.choice(JUMP_SECONDS)))


PLAY_FAULTS: dict[str, Callable[[World, subprocess.Popen[str]], None]] = {
    "nothing": _nothing,
    "a killed agent": _killed_agent,
    "a lost node": _lost_node,
    "cut links": _cut_links,
    "a killed holder of connections": _ended_holder,
    "a clock that jumps": _clock_jump,
    "SIGTERM": lambda world, process: end(process, signal.SIGTERM),
    "SIGKILL": lambda world, process: end(process, signal.SIGKILL),
}
if not os.geteuid():  # only root can mount
    PLAY_FAULTS["a full disk"] = _full_disk
    PLAY_FAULTS["a full disk of records"] = _full_records


@contextmanager
def disk_of_records(world: World) -> Iterator[None]:
    """The controller's records are on a disk of their own, which a fault can fill."""
    if os.geteuid():
        yield
        return
    world.records.mkdir(mode=0o700, parents=True)
    _mount(world.records, RECORDS_DISK)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(world.records)], check=True)


def disturbed_environment(world: World) -> dict[str, str]:
    """The command's clock is the one in a file, for a jump while it runs."""
    clock_file(world).write_text("0")
    path = os.pathsep.join(filter(None, (str(CLOCK), os.environ.get("PYTHONPATH", ""))))
    return {"PYTHONPATH": path, "SOAK_CLOCK": str(clock_file(world))}


def put_right(world: World) -> None:
    """Nodes are up, and all disks have room again."""
    (world.records / FILLER).unlink(missing_ok=True)
    for node in sandbox_nodes.up(world.sandbox, 2):
        folder = node.scratch / "soak"
        while folder.is_mount():
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(folder: Path, size: str) -> None:
    options = f"size={size},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)


def clock_file(world: World) -> Path:
    return world.folder / "clock"


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return str(process.name())
    return ""
