"""Messages that someone between us and a host alters: they end the play of that host,
and the others go on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import yaml

from tests.support.runner import Outcome, Stage
from tests.support.sshd import NodeSet, SshNode

PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: first, command: echo one}
    - {name: long, command: "head -c 200000 /dev/zero", register: long}
    - {name: last, command: "echo {{ long.stdout | length }}"}
"""
# By how many bytes the host had sent: its keys, the login, the start of the agent, results of steps
MOMENTS = (1, 1500, 2400, 6000, 100_000)


class AlteringRelay:
    """Passes a connection on to a node, but for one bit of what the node sends."""

    def __init__(self, node: SshNode, after: int) -> None:
        self._node, self._after = node, after
        self.altered = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                host = socket.create_connection((self._node.address, self._node.port))
                threading.Thread(target=self._pass, args=(client, host, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(host, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, alters: bool) -> None:
        passed = 0
        with suppress(OSError):
            while data := bytearray(source.recv(4096)):
                if alters and passed < self._after <= passed + len(data):
                    # Before the keys are agreed on, the end of a message is only padding;
                    # later it is what authenticates the message.
                    data[-1 if passed else len(data) // 2] ^= 1
                    self.altered.set()
                passed += len(data)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def relays(nodes: NodeSet) -> Iterator[dict[str, AlteringRelay]]:
    made = {f"altered-{after}": AlteringRelay(nodes["node2"], after) for after in MOMENTS}
    try:
        yield made
    finally:
        for relay in made.values():
            relay.close()


@pytest.fixture(scope="module")
def outcome(
    tmp_path_factory: pytest.TempPathFactory, nodes: NodeSet, relays: dict[str, AlteringRelay]
) -> Outcome:
    folder = tmp_path_factory.mktemp("altered")
    inventory = nodes.inventory(folder, hosts=["node1"])
    listed = yaml.safe_load(inventory.read_text())
    hosts = listed["nodes"]["hosts"]
    node, known = nodes["node2"], folder / "known_hosts"
    keys = [
        line.split(maxsplit=1)[1]
        for line in node.known_hosts_file.read_text().splitlines()
        if f":{node.port}" in line.split()[0]
    ]
    assert keys
    known.write_text(
        "".join(f"[127.0.0.1]:{relay.port} {key}\n" for relay in relays.values() for key in keys)
    )
    for name, relay in relays.items():
        hosts[name] = {
            **hosts["node1"],
            "ansible_host": "127.0.0.1",
            "ansible_port": relay.port,
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={known}",
        }
    inventory.write_text(yaml.safe_dump(listed))
    return Stage(folder, inventory).play(PLAYBOOK, "--forks", "8")


def test_a_host_beside_them_does_all_its_steps(outcome: Outcome) -> None:
    counts = outcome.counts("node1")
    assert counts["ok"] == 3 and counts["unreachable"] == 0, outcome.text
    assert outcome.code in (2, 4), outcome.text
    assert "Traceback" not in outcome.text and "InvalidTag" not in outcome.text


@pytest.mark.parametrize("after", MOMENTS)
def test_a_message_that_was_altered_on_its_way_ends_the_play_of_its_host(
    outcome: Outcome, relays: dict[str, AlteringRelay], after: int
) -> None:
    host = f"altered-{after}"
    assert relays[host].altered.is_set(), "the relay never altered anything"
    results = [found for found in outcome.data["results"] if found["host"] == host]
    message = results[-1]["values"]["msg"]
    assert len(message.splitlines()) == 1 and not message.rstrip().endswith(":")
    if results[-1]["status"] == "failed":  # it may have done its work
        assert "the connection was lost while this step may have been running" in message
    else:
        assert results[-1]["status"] == "unreachable" and host in message, results
    for result in results[:-1]:  # what was believed before is what the host sent
        assert result["values"]["stdout"] in ("one", "\0" * 200_000)
