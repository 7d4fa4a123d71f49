"""The sandbox's SSH nodes: up, kept, repaired and taken away, always and only our own."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playrunner.sandbox import nodes as sandbox_nodes
from playrunner.sandbox import state
from tests.support.sshd import NodeSet

REPOSITORY = Path(__file__).parents[2]


class Commands:
    """`python -m playrunner.sandbox ...` with a state folder of its own."""

    def __init__(self, home: Path) -> None:
        self.root = home / "sandbox"
        self.environment = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "playrunner.sandbox", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.environment, stdout=pipe, stderr=pipe, text=True)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        said, complained = process.communicate(timeout=60)
        return process.returncode, said, complained

    def nodes(self, verb: str = "status", *arguments: str) -> dict[str, dict[str, object]]:
        code, said, complained = self(verb, *arguments, "--json")
        assert code == 0, complained
        return {node["name"]: node for node in json.loads(said)["nodes"]}


@pytest.fixture
def sandbox(sshd_program: str, tmp_path: Path) -> Iterator[Commands]:
    commands = Commands(tmp_path)
    try:
        yield commands
    finally:
        sandbox_nodes.down(commands.root)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with the sandbox."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def files_in(root: Path) -> dict[str, int]:
    found = {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    return {path: changed for path, changed in found.items() if not path.endswith("/log")}


def test_every_node_runs_commands_under_a_host_key_of_its_own(nodes: NodeSet) -> None:
    said = [node.ssh("echo $PLAYRUNNER_SANDBOX_NODE").stdout.strip() for node in nodes]
    assert [Path(line).name for line in said] == ["node1", "node2"]
    keys = {line.split()[2] for line in nodes[0].known_hosts_file.read_text().splitlines()}
    assert len(keys) == len(nodes)


def test_a_second_up_changes_nothing(sandbox: Commands) -> None:
    first, files = sandbox.nodes("up"), files_in(sandbox.root)
    assert sandbox.nodes("up") == first
    assert files_in(sandbox.root) == files


def test_more_nodes_are_added_and_fewer_are_not_taken_away(sandbox: Commands) -> None:
    two = sandbox.nodes("up", "--nodes", "2")
    four = sandbox.nodes("up", "--nodes", "4")
    assert {name: four[name] for name in two} == two
    assert len(four) == 4
    assert sandbox.nodes("up", "--nodes", "1") == four


def test_a_killed_node_is_started_again_and_the_other_kept(sandbox: Commands) -> None:
    before = sandbox.nodes("up")
    os.kill(int(str(before["node1"]["pid"])), signal.SIGKILL)
    assert state.await_that(lambda: not sandbox.nodes()["node1"]["alive"], 5)
    after = sandbox.nodes("up")
    assert after["node1"]["alive"]
    assert after["node1"]["port"] == before["node1"]["port"]
    assert after["node2"] == before["node2"]


def test_a_pid_file_that_names_a_stranger_is_not_believed(
    sandbox: Commands, stranger: subprocess.Popen[bytes]
) -> None:
    pid = int(str(sandbox.nodes("up")["node1"]["pid"]))
    os.kill(pid, signal.SIGKILL)
    assert state.await_that(lambda: not state.command_of(pid), 5)
    (sandbox.root / "sshd" / "node1" / "pid").write_text(f"{stranger.pid}\n")
    assert not sandbox.nodes()["node1"]["alive"]
    assert sandbox.nodes("up")["node1"]["alive"]
    (sandbox.root / "sshd" / "node1" / "pid").write_text(f"{stranger.pid}\n")
    sandbox("down")
    assert stranger.poll() is None
    assert not any(str(sandbox.root) in command for command in state.commands().values())


def test_two_ups_at_once_agree_on_one_set_of_nodes(sandbox: Commands) -> None:
    both = [sandbox.start("up", "--nodes", "3", "--json") for _ in range(2)]
    said = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert json.loads(said[0][0]) == json.loads(said[1][0])


def test_an_up_during_a_down_ends_with_nodes_that_answer(sandbox: Commands) -> None:
    sandbox.nodes("up")
    down, up = sandbox.start("down"), sandbox.start("up")
    assert (down.wait(60), up.wait(60)) == (0, 0)
    down.communicate()
    up.communicate()
    assert all(node["alive"] for node in sandbox.nodes().values())


def test_a_port_taken_meanwhile_is_given_up_for_another(sandbox: Commands) -> None:
    port = int(str(sandbox.nodes("up")["node1"]["port"]))
    sandbox_nodes.stop(sandbox.root, sandbox_nodes.status(sandbox.root))
    with socket.create_server(("127.0.0.2", port)):
        after = sandbox.nodes("up")
    assert {node["port"] for node in after.values()}.isdisjoint({port})
    assert all(node["alive"] for node in after.values())


def test_down_ends_the_sessions_and_what_wandered_off_from_them(
    make_nodes: Callable[[int], NodeSet],
) -> None:
    nodes = make_nodes(1)
    pid = int(nodes[0].ssh("setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $!").stdout)
    assert state.await_that(
        lambda: state.command_of(pid) == "sleep 60", 5
    )  # it was the shell, then setsid, before that
    nodes.remove()
    assert not state.command_of(pid)


def test_down_leaves_nothing_behind_even_of_read_only_folders(sandbox: Commands) -> None:
    scratch = Path(str(sandbox.nodes("up")["node1"]["scratch"]))
    (scratch / "kept").mkdir()
    (scratch / "kept" / "file").touch()
    (scratch / "kept").chmod(0o500)
    assert sandbox("down")[0] == 0
    assert not sandbox.root.exists()


def test_down_and_status_are_fine_when_nothing_is_up(sandbox: Commands) -> None:
    assert sandbox("down") == (0, "", "")
    assert sandbox.nodes() == {}
    assert not sandbox.root.exists()


def test_keys_and_folders_are_for_the_owner_alone(sandbox: Commands) -> None:
    sandbox.nodes("up")
    private = [
        sandbox.root,
        sandbox.root / "client_key",
        sandbox.root / "sshd" / "node1" / "host_key",
    ]
    assert [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in private] == [0, 0, 0]


def test_another_key_does_not_open_a_node(nodes: NodeSet, tmp_path: Path) -> None:
    other = tmp_path / "other_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    node = nodes[0]
    login = ["-F", "none", "-i", str(other), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
    trust = ["-o", f"UserKnownHostsFile={node.known_hosts_file}", "-p", str(node.port)]
    refused = subprocess.run(
        ["ssh", *login, *trust, f"{node.user}@{node.address}", "true"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 255
    assert "Permission denied" in refused.stderr


@pytest.mark.parametrize(
    "arguments", [["up", "--nodes", "0"], ["up", "--nodes", "many"], ["sideways"], []]
)
def test_bad_input_is_refused_with_code_5_and_no_traceback(
    sandbox: Commands, arguments: list[str]
) -> None:
    code, _, complained = sandbox(*arguments)
    assert code == 5
    assert complained
    assert "Traceback" not in complained


def test_a_machine_without_the_programs_is_told_what_to_install(
    sandbox: Commands, tmp_path: Path
) -> None:
    sandbox.environment["PATH"] = str(tmp_path)
    code, _, complained = sandbox("up")
    assert code == 1
    assert "apt-get install openssh-server" in complained


def test_killed_nodes_of_a_set_come_back(make_nodes: Callable[[int], NodeSet]) -> None:
    nodes = make_nodes(2)
    nodes.kill("node2")
    assert nodes["node2"].ssh("true").returncode == 255
    assert nodes["node1"].ssh("true").returncode == 0
    nodes.start()
    assert nodes["node2"].ssh("true").returncode == 0


def test_the_local_inventory_reaches_the_nodes_that_are_up(
    sandbox: Commands, tmp_path: Path
) -> None:
    ansible = pytest.importorskip("ansible")
    assert ansible
    sandbox.nodes("up")
    command = [
        sys.executable,
        "-m",
        "ansible",
        "adhoc",
        "nodes",
        "-i",
        str(REPOSITORY / "inventories" / "local.yaml"),
    ]
    settings = {**sandbox.environment, "ANSIBLE_HOME": str(tmp_path / "ansible")}
    raw = ["-m", "raw", "-a", "echo I am {{ scratch | basename }}"]
    ran = subprocess.run(
        [*command, *raw], check=False, env=settings, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "I am node1" in ran.stdout
    assert "I am node2" in ran.stdout
