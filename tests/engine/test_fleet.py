"""One module asked of many hosts, outside of a play."""

from __future__ import annotations

import socketserver
import threading
from pathlib import Path

import pytest
import yaml

from playrunner.inventory.inventory import read_inventory
from playrunner.ssh import fleet as asked
from playrunner.ssh.agent_code import AgentKey, prepare
from playrunner.ssh.fleet import Fleet
from tests.support.sshd import NodeSet
from tests.support.until import until


def test_hosts_are_logged_in_to_while_the_module_is_packed_and_once(
    nodes: NodeSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = ["node1", "node2"]
    with Fleet(read_inventory([str(nodes.inventory(tmp_path))])) as fleet:

        def packed(module: str) -> None:
            for host in hosts:
                key = AgentKey(fleet.target(host))
                until(lambda key=key: bool(fleet.agents._free.get(key)), what=f"an agent on {host}")
            prepare(module)

        monkeypatch.setattr(asked, "prepare", packed)
        for _ in range(2):
            answers = fleet.ask(hosts, "host.ping", lambda host: {"data": host})
            assert [answers[host]["ping"] for host in hosts] == hosts
        assert len(fleet.agents._all) == 2


def test_a_host_that_is_down_says_why_and_the_others_answer(nodes: NodeSet, tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("nodes: {hosts: {down: {ansible_host: 127.0.0.1, ansible_port: 1}}}\n")
    with Fleet(read_inventory([str(nodes.inventory(tmp_path)), str(file)])) as fleet:
        answers = fleet.ask(["node1", "down"], "host.ping", lambda host: {})
    assert answers["node1"]["ping"] == "pong"
    assert answers["down"]["unreachable"] and "connection refused" in answers["down"]["msg"]


def test_a_host_that_refused_an_early_login_is_not_asked_for_another(tmp_path: Path) -> None:
    """Servers lock out those who try again and again."""
    tries: list[int] = []

    class Refusing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            tries.append(1)
            self.request.sendall(b"SSH-2.0-refusing\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        file = tmp_path / "inventory.yaml"
        host = {"ansible_host": "127.0.0.1", "ansible_port": server.server_address[1]}
        file.write_text(yaml.safe_dump({"all": {"hosts": {"node1": host}}}))
        with Fleet(read_inventory([str(file)])) as fleet:
            fleet.log_in(["node1"])
            until(lambda: bool(fleet.agents._failed), what="the refusal")
            answer = fleet.ask(["node1"], "host.ping", lambda host: {})["node1"]
        server.shutdown()
    assert answer["unreachable"] and tries == [1]
