"""connections.keep: the next command finds the connections of the last one open."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import psutil
import pytest

from playrunner.ssh.connection import Connection
from playrunner.ssh.kept.holder import LOOK_SECONDS, Holder, Use
from playrunner.ssh.kept.protocol import OUTPUT, read_frame
from playrunner.ssh.targets import Target
from tests.support.runner import Outcome, Stage
from tests.support.sshd import NodeSet

PLAY = """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: who, shell: "echo $SSH_CONNECTION; echo to stderr >&2"}
    - {name: large, copy: {src: large.bin, dest: "{{ scratch }}/large.bin"}}
    - {name: nothing, raw: "exit 3", failed_when: false, changed_when: false}
"""


class Kept:
    """Two nodes of the test's own, and commands that keep their connections."""

    def __init__(self, folder: Path, nodes: NodeSet, runtime: Path) -> None:
        self.nodes, self.runtime = nodes, runtime
        self.stage = Stage(folder, nodes.inventory(folder))
        (folder / "large.bin").write_bytes(os.urandom(3 << 20))
        self.settings = {"XDG_RUNTIME_DIR": str(runtime), "PLAYRUNNER_CONNECTIONS_KEEP": "10m"}

    def play(self, playbook: str = PLAY, **settings: str) -> Outcome:
        return self.stage.play(playbook, **{**self.settings, **settings})

    def verb(self, name: str) -> Outcome:
        return self.stage.invoke(name, "--json", **self.settings)

    def logins(self) -> int:
        logs = (self.nodes.root / "sshd").glob("*/log")
        return sum(log.read_text().count("Accepted publickey") for log in logs)

    @property
    def socket(self) -> Path:
        return next(path for path in self.runtime.rglob("connections-*") if path.is_socket())

    def agents(self) -> list[str]:
        """The processes on the nodes that run an agent, or will."""
        found = []
        for process in psutil.process_iter():
            try:
                command, environment = " ".join(process.cmdline()), process.environ()
            except psutil.Error:
                continue  # it has ended
            port = environment.get("SSH_CONNECTION", "").rpartition(" ")[2]
            if "marshal" in command and port in {str(node.port) for node in self.nodes}:
                found.append(str(process.pid))
        return sorted(found)

    def has_ended(self) -> bool:
        return not any(path.is_socket() for path in self.runtime.rglob("connections-*"))


@pytest.fixture
def kept(
    tmp_path: Path,
    make_nodes: Callable[[int], NodeSet],
) -> Iterator[Kept]:
    with tempfile.TemporaryDirectory() as runtime:  # right below /tmp, for another user to reach
        made = Kept(tmp_path, make_nodes(2), Path(runtime))
        yield made
        made.verb("connections.close")


def test_the_second_command_logs_in_nowhere_and_the_connections_can_be_closed(kept: Kept) -> None:
    first = kept.play()
    assert first.code == 0, first.text
    assert kept.logins() == 2
    second = kept.play()
    assert second.code == 0 and kept.logins() == 2, second.text
    who = [outcome.result("node1", "who")["values"] for outcome in (first, second)]
    assert who[0]["stdout"] == who[1]["stdout"] and who[1]["stderr"] == "to stderr"
    assert second.result("node2", "large")["status"] == "ok"
    assert second.result("node1", "nothing")["values"]["rc"] == 3

    status = kept.socket.lstat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert stat.S_IMODE(kept.socket.parent.stat().st_mode) == 0o700

    listed = kept.verb("connections.list").data["connections"]
    assert [entry["host"] for entry in listed] == ["node1", "node2"]
    assert all(entry["in_use"] == 0 and 500 < entry["seconds_left"] <= 600 for entry in listed)

    # A node that was restarted while nobody used its connection is logged in to again
    kept.nodes.kill("node2")
    kept.nodes.start()
    again = kept.play()
    assert again.code == 0, again.text

    closed = kept.verb("connections.close").data
    assert closed == {"closed": ["node1", "node2"], "changed": True}
    _until(kept.has_ended)
    assert kept.verb("connections.list").data == {"connections": []}


AGENTS = """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: agent, shell: "echo $PPID"}
    - {name: large, copy: {src: large.bin, dest: "{{ scratch }}/large.bin"}}
"""
OTHER_USER = """
- hosts: nodes
  gather_facts: false
  become: true
  become_user: nobody
  tasks:
    - {name: who, command: id -un, changed_when: false}
"""


def test_an_agent_waits_for_the_next_command_and_is_not_the_one_of_the_last(kept: Kept) -> None:
    def used(outcome: Outcome) -> list[str]:
        assert outcome.code == 0, outcome.text
        return [outcome.result(node, "agent")["values"]["stdout"] for node in ("node1", "node2")]

    first = used(kept.play(AGENTS))
    _until(lambda: len(kept.agents()) == 2)
    waiting = kept.agents()
    assert not set(first) & set(waiting)
    assert sorted(used(kept.play(AGENTS))) == waiting

    # One that was killed, and one of a node that was restarted, are not missed
    _until(lambda: len(kept.agents()) == 2)
    os.kill(int(kept.agents()[0]), signal.SIGKILL)
    used(kept.play(AGENTS))
    _until(lambda: len(kept.agents()) == 2)
    kept.nodes.kill("node2")
    kept.nodes.start()
    used(kept.play(AGENTS))

    # None has other rights than the login, and none outlives its connection
    _until(lambda: len(kept.agents()) == 2)
    waiting = kept.agents()
    assert kept.play(OTHER_USER).code == 0
    assert len(kept.verb("connections.list").data["connections"]) == 2
    assert kept.agents() == waiting
    kept.verb("connections.close")
    _until(lambda: not kept.agents())


def test_a_command_that_has_ended_uses_no_connection() -> None:
    """The next command may ask before the threads of the holder have seen the end of the last."""
    command, peer = socket.socketpair()
    use = Use(Target("node1", "127.0.0.1"), 0.0, 0.0, {peer})
    assert use.commands == 1
    command.close()
    assert use.commands == 0
    peer.close()


def test_a_holder_whose_last_connection_is_slow_to_close_answers_before_it_ends(
    tmp_path: Path,
) -> None:
    closes = threading.Event()

    class Slow:
        """A host that is slow to answer when its connection is closed."""

        def close(self) -> None:
            closes.wait(60)

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    holder, target = Holder(), Target("node1", "127.0.0.1")
    holder._pool._open[target] = cast(Connection, Slow())
    holder._uses[target] = Use(target, 0.0, time.monotonic() + 600)
    serving = threading.Thread(target=holder.serve, args=(listener,), daemon=True)
    serving.start()
    with listener, socket.socket(socket.AF_UNIX) as command:
        command.connect(str(tmp_path / "s"))
        command.sendall(b'{"op": "close"}\n')
        serving.join(2 * LOOK_SECONDS + 1)
        assert serving.is_alive(), "it ended with a command that waits for its answer"
        closes.set()
        letter, data = read_frame(command)
        assert letter == OUTPUT and [one["host"] for one in json.loads(data)] == ["node1"]
        serving.join(30)
        assert not serving.is_alive()


def test_unused_connections_close_by_themselves_and_the_holder_ends(kept: Kept) -> None:
    assert kept.play(PLAYRUNNER_CONNECTIONS_KEEP="1s").code == 0
    _until(kept.has_ended)

    wrong = kept.play(PLAYRUNNER_CONNECTIONS_KEEP="soon")
    assert wrong.code == 5 and "10m" in wrong.text and wrong.text.count("\n") <= 2

    # A folder that others can enter is not used
    folder = next(path for path in kept.runtime.iterdir() if path.is_dir())
    folder.chmod(0o755)
    refused = kept.play()
    assert refused.code == 5 and "chmod 700" in refused.text, refused.text
    folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_user_is_not_answered_even_where_the_socket_can_be_reached(kept: Kept) -> None:
    assert kept.play().code == 0
    path = kept.socket
    for each in (path, path.parent, kept.runtime):
        each.chmod(0o777)
    child = os.fork()
    if not child:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(10)
            peer.connect(str(path))
            try:
                peer.sendall(b'{"op": "list"}\n')
                os._exit(1 if peer.recv(1) else 0)
            except OSError:
                os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    path.parent.chmod(0o700)


def _until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.1)
