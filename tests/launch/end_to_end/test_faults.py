"""Faults of a run's processes, nodes and controller: each is named by the launch that follows the
run and by train.why, soon, and nothing is left running. docs/faults.md lists all that are held."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import runner
from tests.support.launch.site import PATIENCE_SECONDS, Site
from tests.support.until import until

SCRIPT = Path(__file__).parents[1] / "scripts" / "faults.py"
NAMED_SECONDS = 20  # from the fault to the launch's last word: 1 to 3 on an idle machine
AT_ONCE = 2
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")


@dataclass(frozen=True)
class Seen:
    launch: runner.Outcome
    why: runner.Outcome
    seconds: float

    @property
    def causes(self) -> list[dict[str, Any]]:
        causes: list[dict[str, Any]] = self.why.data["causes"]
        return causes


# By what happens to the second rank: what the launch prints, and what train.why puts first
OF_PROCESSES = {
    "segfault": ("was ended by SIGSEGV", "a process on node2 crashed in native code"),
    "bus_error": ("was ended by SIGBUS", "a process on node2 lost a part of its memory"),
    "no_memory": ("likely: node2 is out of memory", "node2 is out of memory"),
    "killed_for_memory": (
        "was ended by SIGKILL",
        "node2 ran out of memory and its kernel killed the process",
    ),
    "no_files": ("node2 allows too few open files", "node2 allows too few open files"),
    "no_package": ("No module named 'a_library", "node2 has no Python package a_library"),
    "port_taken": ("Address already in use", "a port is taken on node2"),
    "offline": ("couldn't connect to", "node2 cannot download from Hugging Face"),
    "own_error": ("the batch has no column", "an exception on node2: RuntimeError"),
    "folder_deleted": ("is not there any more", "the run's folder is gone from node1, node2"),
    "supervisor_killed": (
        "likely: the supervisor on node2 was killed",
        "the supervisor on node2 was killed",
    ),
}


class Faults:
    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        shutil.copy(SCRIPT, folder / "faults.py")

    def name(self, kind: str) -> str:
        return f"fault-{kind.replace('_', '-')}"

    def begin(self, kind: str) -> subprocess.Popen[str]:
        own = ("--script", self.folder / "faults.py", "--name", self.name(kind), "--nodes", 2)
        how = ("--launcher", "direct", "--no-gate", "--set", "launch.max_restarts=0")
        known = hasattr(self, kind)
        words = ("wait" if known else kind, self.folder / kind)
        return self.site.start("train.launch", *own, *how, "--", *words)

    def happen(self, kind: str) -> Seen:
        process, moment, name = self.begin(kind), self.folder / kind, self.name(kind)
        until(moment.exists, seconds=PATIENCE_SECONDS, what=f"{kind} begins", process=process)
        if hasattr(self, kind):
            getattr(self, kind)(name)
        begun = moment.stat().st_mtime
        ended = runner.finish(process, PATIENCE_SECONDS)
        record = self.site.state / "training" / "runs" / name / "ended.json"
        seconds = json.loads(record.read_text())["time"] - begun
        return Seen(ended, self.site.invoke("train.why", "--name", name, "--json"), seconds)

    def folder_deleted(self, name: str) -> None:
        shutil.rmtree(self.site.folder(name), ignore_errors=True)

    def supervisor_killed(self, name: str) -> None:
        os.kill(self.site.supervisor(name, "node2")["pid"], signal.SIGKILL)


@pytest.fixture(scope="module")
def faults(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    site.invoke("sandbox.up")
    yield Faults(site, tmp_path_factory.mktemp("faults"))
    for group in MEMORY_GROUPS.glob("playrunner-test-*"):
        group.rmdir()


@pytest.fixture(scope="module")
def happened(faults: Faults) -> Iterator[Mapping[str, Future[Seen]]]:
    """All of them, a few at a time: a launch mostly waits."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {kind: pool.submit(faults.happen, kind) for kind in OF_PROCESSES}


@pytest.mark.parametrize("kind", OF_PROCESSES)
def test_a_fault_of_a_process_is_named_soon_and_nothing_is_left(
    faults: Faults, happened: Mapping[str, Future[Seen]], kind: str
) -> None:
    if kind == "killed_for_memory" and not os.access(MEMORY_GROUPS, os.W_OK):
        pytest.skip("no group of the kernel's memory controller can be made here")
    printed, title = OF_PROCESSES[kind]
    seen = happened[kind].result()
    assert seen.launch.code == 100 and printed in seen.launch.err, seen.launch.text
    assert seen.causes[0]["title"].startswith(title) and seen.causes[0]["next_command"], seen.why
    assert seen.seconds < NAMED_SECONDS
    assert _marked(faults.name(kind)) == []


def test_a_launch_that_is_asked_to_end_stops_its_run_and_says_how_it_goes_on(
    faults: Faults,
) -> None:
    process, moment = faults.begin("wait"), faults.folder / "wait"
    until(moment.exists, seconds=PATIENCE_SECONDS, what="it waits", process=process)
    process.terminate()
    ended = runner.finish(process, PATIENCE_SECONDS)
    assert ended.code == 103, ended.text
    assert "fault-wait is stopped at step 3; it goes on with: invoke train.resume" in ended.err
    why = faults.site.invoke("train.why", "--name", "fault-wait")
    assert "stopped" in why.out.splitlines()[0], why.text
    assert _marked("fault-wait") == []


CLOCK = """#!{python}
import sys, time
now = time.time
time.time = lambda: now() + 3600
sys.argv[1:4], code = [], sys.argv[3]
exec(code, {{"__name__": "__main__"}})
"""


class Refused:
    """What is wrong with the second node, as an inventory beside the usual one says it."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.mounts: list[Path] = []

    def variables(self) -> dict[str, tuple[dict[str, object], str]]:
        key = self.folder / "key"
        shutil.copy(self.site.state / "sandbox" / "client_key", key)
        words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(key)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        clock = self.folder / "late-python"
        clock.write_text(CLOCK.format(python=sys.executable))
        clock.chmod(0o755)
        return {
            "name": ({"ansible_host": "no-such-node.invalid"}, "the address cannot be resolved"),
            "sshd": ({"ansible_port": 1}, "connection refused; check that sshd runs there"),
            "jump-host": (
                {"ansible_ssh_common_args": "-o ProxyJump=root@127.0.0.1:1"},
                "root@127.0.0.1:1): connection refused",
            ),
            "locked-key": (
                {"ansible_ssh_private_key_file": str(key)},
                f"has a passphrase and no ssh agent offered it: run ssh-add {key}",
            ),
            "clock": (
                {"ansible_python_interpreter": str(clock)},
                "its clock is 3600 s away from this machine's",
            ),
            "python": ({"train_python": "/nowhere/python"}, "/nowhere/python cannot be run"),
            "small-disk": (
                {"train_root": self._mounted("small", "size=16m")},
                "only 0.02 GiB are free under",
            ),
            "read-only": (
                {"train_root": self._mounted("fixed", "ro,size=2g")},
                "cannot be written; set train_root",
            ),
        }

    def launch(self, kind: str, own: Mapping[str, object]) -> tuple[runner.Outcome, ...]:
        beside = self.folder / f"{kind}.yaml"
        beside.write_text(json.dumps({"all": {"hosts": {"node2": own}}}))
        name = f"refused-{kind}"
        where = ("--inventory", "local", "--inventory", beside, "--name", name)
        launch = ("train.launch", "--profile", "gpt2-micro-smoke", "--nodes", 2, *where)
        first = self.site.invoke(*launch, SSH_AUTH_SOCK="")
        return first, self.site.invoke("train.why", "--json", *where, SSH_AUTH_SOCK="")

    def _mounted(self, name: str, options: str) -> str:
        folder = self.folder / name
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
        self.mounts.append(folder)
        return str(folder)


@pytest.fixture(scope="module")
def refused(faults: Faults) -> Iterator[Refused]:
    made = Refused(faults.site, faults.folder)
    yield made
    for folder in made.mounts:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts a disk")
def test_what_is_wrong_with_a_node_is_named_before_anything_is_started(refused: Refused) -> None:
    kinds = refused.variables()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = pool.map(lambda kind: refused.launch(kind, kinds[kind][0]), kinds)
    for kind, (launch, why) in zip(kinds, ended, strict=True):
        message = kinds[kind][1]
        assert launch.code == 6 and "node2" in launch.err and message in launch.err, launch.text
        assert message in why.data["causes"][0]["title"], why.text
        assert not refused.site.folder(f"refused-{kind}").exists()


def test_a_key_with_a_passphrase_is_used_through_an_agent(refused: Refused) -> None:
    key, asked = refused.folder / "agents-key", refused.folder / "passphrase"
    shutil.copy(refused.site.state / "sandbox" / "client_key", key)
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(key)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    asked.write_text("#!/bin/sh\necho open sesame\n")
    asked.chmod(0o700)
    address = refused.folder / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(address)], stdout=subprocess.DEVNULL)
    try:
        until(address.exists, what="the agent listens", process=agent)
        use = {"SSH_AUTH_SOCK": str(address)}
        give = {**os.environ, **use, "SSH_ASKPASS": str(asked), "SSH_ASKPASS_REQUIRE": "force"}
        subprocess.run(["ssh-add", "-q", str(key)], check=True, env=give)
        beside = refused.folder / "agents.yaml"
        own = {"ansible_ssh_private_key_file": str(key)}
        beside.write_text(json.dumps({"all": {"hosts": {"node1": own, "node2": own}}}))
        where = ("--inventory", "local", "--inventory", beside)
        status = refused.site.invoke("train.status", *where, **use)
    finally:
        agent.terminate()
        agent.wait()
    assert status.code == 0, status.text


def _marked(name: str) -> list[str]:
    """Processes that carry the mark of a run of this name."""
    mark, found = f"PLAYRUNNER_RUN={name}-".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if any(entry.startswith(mark) for entry in path.read_bytes().split(b"\0")):
                found.append(path.parent.name)
        except OSError:
            continue
    return found
