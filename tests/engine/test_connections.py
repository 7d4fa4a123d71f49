"""Ways to a host: jump hosts, ssh's configuration, proxies; the key is verified at every hop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runner import Outcome, Stage
from tests.support.sshd import NodeSet

WHO = """
- hosts: target
  gather_facts: false
  tasks:
    - {name: who, shell: "echo $SSH_CONNECTION"}
"""


class Ways:
    """Inventories whose host `target` is node2, reached in some way."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.folder, self.nodes = folder, nodes
        self.stage = Stage(folder, folder / "hosts.yaml")
        first = nodes["node1"]
        self.key, self.known = first.key_file, first.known_hosts_file

    def play(self, target: dict[str, object], **others: dict[str, object]) -> Outcome:
        import yaml

        shared = {"ansible_user": self.nodes[0].user, "ansible_ssh_private_key_file": str(self.key)}
        hosts = {"target": target, **others}
        self.stage.inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": shared}}))
        return self.stage.play(WHO)

    def at(self, name: str, args: str = "") -> dict[str, object]:
        node = self.nodes[name]
        return {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={self.known} {args}".strip(),
        }

    def config(self, text: str) -> Path:
        path = self.folder / "ssh_config"
        path.write_text(text)
        return path


@pytest.fixture
def ways(tmp_path: Path, nodes: NodeSet) -> Ways:
    return Ways(tmp_path, nodes)


def came_from(outcome: Outcome) -> str:
    assert outcome.code == 0, outcome.text
    return str(outcome.result("target", "who")["values"]["stdout"]).split()[0]


def test_a_host_behind_a_jump_host_of_the_inventory(ways: Ways) -> None:
    done = ways.play({**ways.at("node2"), "via": "jump"}, jump=ways.at("node1"))
    assert done.code == 0, done.text
    assert done.result("target", "who")["values"]["stdout"]


def test_a_chain_of_jump_hosts(ways: Ways) -> None:
    done = ways.play(
        {**ways.at("node2"), "via": "second"},
        second={**ways.at("node1"), "via": "first"},
        first=ways.at("node2"),
    )
    assert done.code == 0, done.text


def test_jump_hosts_in_a_loop_are_refused(ways: Ways) -> None:
    done = ways.play(
        {**ways.at("node2"), "via": "a"},
        a={**ways.at("node1"), "via": "b"},
        b={**ways.at("node1"), "via": "a"},
    )
    assert done.code == 5 and "jump hosts form a loop" in done.err


def test_a_jump_host_given_as_ssh_takes_it(ways: Ways) -> None:
    node = ways.nodes["node1"]
    for option in (
        f"-J {node.user}@{node.address}:{node.port}",
        f"-o ProxyJump={node.user}@{node.address}:{node.port}",
    ):
        done = ways.play(ways.at("node2", f"-i {ways.key} {option}"))
        assert done.code == 0, done.text


def test_a_proxy_command(ways: Ways) -> None:
    node = ways.nodes["node1"]
    relay = (
        f"ssh -F none -i {ways.key} -o UserKnownHostsFile={ways.known} -p {node.port} -W %h:%p"
        f" {node.user}@{node.address}"
    )
    assert came_from(ways.play(ways.at("node2", f"-o 'ProxyCommand={relay}'")))


def test_sshs_configuration_gives_address_port_and_jump(ways: Ways) -> None:
    jump, node = ways.nodes["node1"], ways.nodes["node2"]
    (ways.folder / "more").write_text(f"Host hop\n  HostName {jump.address}\n  Port {jump.port}\n")
    file = ways.config(f"""
Include {ways.folder}/more
Host box
  HostName {node.address}
  Port {node.port}
  ProxyJump hop
Host *
  UserKnownHostsFile {ways.known}
  IdentityFile {ways.key}
  User {node.user}
""")
    done = ways.play({"ansible_host": "box", "ansible_ssh_common_args": f"-F {file}"})
    assert done.code == 0, done.text


def test_an_unknown_key_of_a_jump_host_stops_everything_behind_it(ways: Ways) -> None:
    strangers = ways.folder / "empty"
    strangers.touch()
    node = ways.nodes["node1"]
    jump = {
        "ansible_host": node.address,
        "ansible_port": node.port,
        "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={strangers}",
    }
    done = ways.play({**ways.at("node2"), "via": "jump"}, jump=jump)
    assert done.code == 4
    assert "jump" in done.err and "host key is not known" in done.err


def test_what_ssh_takes_and_we_do_not_is_refused_by_name(ways: Ways) -> None:
    done = ways.play(ways.at("node2", "-D 1080"))
    assert done.code == 5 and '"-D"' in done.err


def test_a_local_connection_needs_no_ssh(ways: Ways) -> None:
    done = ways.play({"ansible_connection": "local"})
    assert done.code == 0 and done.result("target", "who")["values"]["rc"] == 0


@pytest.mark.parametrize("word", ["no", "accept-new"])
def test_a_key_taken_as_it_comes_is_said_once_with_the_hosts(ways: Ways, word: str) -> None:
    nothing_known = ways.folder / "known_hosts"

    def trusting(name: str) -> dict[str, object]:
        node = ways.nodes[name]
        return {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "ansible_ssh_common_args": (
                f"-F none -o UserKnownHostsFile={nothing_known} -o StrictHostKeyChecking={word}"
            ),
        }

    done = ways.play({**trusting("node2"), "via": "jump"}, jump=trusting("node1"))
    assert done.code == 0, done.text
    assert [
        line
        for line in done.err.splitlines()
        if "StrictHostKeyChecking" in line and "jump, target" in line
    ]
    assert done.err.count("StrictHostKeyChecking") == 1


def test_hosts_whose_keys_are_verified_give_no_warning(ways: Ways) -> None:
    done = ways.play(ways.at("node2"))
    assert done.code == 0 and "StrictHostKeyChecking" not in done.text
