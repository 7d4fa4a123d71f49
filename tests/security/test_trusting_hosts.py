"""Trusting a host: what a message tells the user to type works as it is printed, at every hop and
through proxies."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.security.test_host_keys import new_key
from tests.support.runner import REPOSITORY, Outcome, Stage
from tests.support.sshd import NodeSet, SshNode

WHO = "- {hosts: target, gather_facts: false, tasks: [{name: who, command: 'true'}]}\n"


class Inventory:
    """The host `target`, which is node2, and the words that a run prints about it."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.nodes, self.known, self.stage = (
            nodes,
            folder / "known hosts",
            Stage(folder, folder / "my hosts.yaml"),
        )
        self.known.touch()

    def write(self, args: str = "", **others: object) -> None:
        node = self.nodes["node2"]
        args = f"""-F none -o 'UserKnownHostsFile="{self.known}"' -i {node.key_file} {args}"""
        host = {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "ansible_user": node.user,
            "ansible_ssh_common_args": args,
            **others,
        }
        self.stage.inventory.write_text(yaml.safe_dump({"all": {"hosts": {"target": host}}}))

    def knows(self, *names: str) -> None:
        addresses = [self.nodes[name].address for name in names]
        lines = self.nodes[0].known_hosts_file.read_text().splitlines(keepends=True)
        self.known.write_text(
            "".join(line for line in lines if any(f"[{address}]" in line for address in addresses))
        )

    def play(self) -> Outcome:
        return self.stage.play(WHO)

    def typed(self, said: str, start: str) -> Outcome:
        """What the message tells to type, typed; `--yes` is the answer to its question."""
        command = next(
            text
            for text in re.findall(r'"([^"]+)"', said.replace('\\"', '"'))
            if text.startswith(start)
        )
        words = shlex.split(command)
        if words[0] == "invoke":
            return self.stage.invoke(*words[1:], "--yes")
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def inventory(tmp_path: Path, nodes: NodeSet) -> Inventory:
    return Inventory(tmp_path, nodes)


def test_the_remedy_for_an_unknown_key_works_as_it_is_printed(inventory: Inventory) -> None:
    inventory.write()
    refused = inventory.play()
    assert refused.code == 4 and "not known" in refused.err
    done = inventory.typed(refused.err, "invoke hosts.trust")
    assert done.code == 0, done.text
    assert inventory.play().code == 0


def test_the_remedies_for_a_changed_key_work_as_they_are_printed(inventory: Inventory) -> None:
    inventory.write()
    inventory.knows("node2")
    name = inventory.known.read_text().split()[0]
    inventory.known.write_text(f"{name} {new_key()}\n")
    refused = inventory.play()
    assert refused.code == 4 and "CHANGED" in refused.err, refused.text
    blocked = inventory.typed(refused.err, "invoke hosts.trust")
    assert blocked.code == 5 and "ANOTHER key" in blocked.err
    assert inventory.typed(blocked.err, "ssh-keygen").code == 0
    assert inventory.typed(refused.err, "invoke hosts.trust").code == 0
    assert inventory.play().code == 0


def test_a_key_on_a_line_with_a_pattern_is_to_be_removed_by_its_line(inventory: Inventory) -> None:
    inventory.write()
    inventory.known.write_text(f"# first\n[127.0.*]:* {new_key()}\n")
    assert f"remove line 2 of {inventory.known}" in inventory.play().err


def _proxy(node: SshNode, target: SshNode) -> str:
    relay = (
        f"ssh -F none -i {node.key_file} -o UserKnownHostsFile={node.known_hosts_file} -p"
        f" {node.port} -W {target.address}:{target.port} {node.user}@{node.address}"
    )
    return f"-o 'ProxyCommand={relay}'"


def test_a_host_behind_a_proxy_command_is_trusted_through_it(inventory: Inventory) -> None:
    node = inventory.nodes["node2"]
    # The command alone knows the way: this port leads nowhere when it is asked directly.
    inventory.write(_proxy(inventory.nodes["node1"], node), ansible_port=1)
    refused = inventory.play()
    assert refused.code == 4 and "not known" in refused.err, refused.text
    assert inventory.typed(refused.err, "invoke hosts.trust").code == 0
    assert inventory.known.read_text().startswith(f"[{node.address}]:1 ")
    assert inventory.play().code == 0


@pytest.mark.parametrize("option", ["-J {}", "-o ProxyJump={}"])
def test_a_jump_host_given_by_its_address_is_trusted_as_printed(
    inventory: Inventory, option: str
) -> None:
    node = inventory.nodes["node1"]
    inventory.write(option.format(f"{node.user}@{node.address}:{node.port}"))
    for hop in (node.address, "target"):
        refused = inventory.play()
        assert refused.code == 4 and "not known" in refused.err and hop in refused.err, refused.text
        done = inventory.typed(refused.err, "invoke hosts.trust")
        assert done.code == 0, done.text
    assert inventory.play().code == 0


def test_a_name_that_is_no_host_and_no_jump_host_cannot_be_trusted(inventory: Inventory) -> None:
    inventory.write()
    done = inventory.stage.invoke("hosts.trust", "targte", "--inventory", inventory.stage.inventory)
    assert done.code == 5 and '"target"' in done.err and len(done.err.splitlines()) == 1


def test_a_revoked_key_cannot_be_trusted(inventory: Inventory) -> None:
    inventory.write()
    inventory.knows("node2")
    inventory.known.write_text("@revoked " + inventory.known.read_text())
    done = inventory.stage.invoke(
        "hosts.trust", "target", "--inventory", inventory.stage.inventory, "--yes"
    )
    assert done.code == 5 and "REVOKED" in done.err


def test_a_proxy_command_that_fails_says_why(inventory: Inventory) -> None:
    inventory.write("-o 'ProxyCommand=sh -c \"echo no way from here >&2; exit 3\"'")
    done = inventory.play()
    assert done.code == 4 and "no way from here" in done.err and "code 3" in done.err, done.text


def test_a_host_certificate_is_said_to_be_unsupported(inventory: Inventory) -> None:
    inventory.write()
    inventory.known.write_text(f"@cert-authority * {new_key()}\n")
    done = inventory.play()
    assert done.code == 4 and "@cert-authority" in done.err and "not supported" in done.err


def test_workers_of_an_image_are_known_by_its_own_keys_and_no_other_host_is_accepted(
    tmp_path: Path, nodes: NodeSet, sshd_program: str
) -> None:
    """The image's own lines, run in a folder of ours: its sshd is accepted under a worker's name,
    another host is not."""
    rendered = (REPOSITORY / "tests/images/rendered/current/nccl-build.Dockerfile").read_text()
    assert "StrictHostKeyChecking" not in rendered
    lines = (
        rendered[rendered.index("RUN mkdir -p /var/run/sshd") :]
        .split("\n\n")[0]
        .removeprefix("RUN ")
    )
    ours = lines.replace("/etc/ssh", f"{tmp_path}/etc/ssh").replace("/var/run", str(tmp_path))
    (tmp_path / "etc/ssh").mkdir(parents=True)
    subprocess.run(
        ["bash", "-ec", ours.replace("ssh-keygen -A", f"ssh-keygen -A -f {tmp_path}")],
        check=True,
        capture_output=True,
    )
    worker, node = tmp_path / "sshd_config", nodes["node1"]
    worker.write_text(
        f"HostKey {tmp_path}/etc/ssh/ssh_host_ed25519_key\nAuthorizedKeysFile {node.key_file}.pub\n"
        "StrictModes no\nUsePAM no\nPidFile none\n"
    )

    def reached(name: str, *way: str) -> bool:
        options = [
            "UserKnownHostsFile=none",
            f"GlobalKnownHostsFile={tmp_path}/etc/ssh/ssh_known_hosts",
            "BatchMode=yes",
            f"HostKeyAlias={name}",
            *way,
        ]
        words = [
            "ssh",
            "-F",
            "none",
            "-i",
            str(node.key_file),
            *(word for one in options for word in ("-o", one)),
        ]
        done = subprocess.run(
            [*words, f"{node.user}@{node.address}", "true"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 or "verification failed" in done.stderr, done.stderr
        return done.returncode == 0

    through = f"ProxyCommand={sshd_program} -i -f {worker}"
    assert reached("bench-worker-0.bench.training.svc", through)
    assert not reached("github.com", through)
    assert not reached("bench-worker-0.bench.training.svc", f"Port={node.port}")
