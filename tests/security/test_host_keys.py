"""Host keys are judged as the OpenSSH client judges them; what is printed as a remedy works when it is typed."""

from __future__ import annotations

import base64
import random
import re
import shlex
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import paramiko
import pytest
import yaml

from playrunner import hostkeys
from playrunner.errors import HostUnreachable
from playrunner.host_key_check import notices
from playrunner.ssh_session import opened
from playrunner.targets import Target
from tests.runner import REPOSITORY, Outcome, Stage
from tests.sshd import NodeSet, SshNode

WHO = "- {hosts: target, gather_facts: false, tasks: [{name: who, command: 'true'}]}\n"


def new_key(kind: str = "ssh-ed25519") -> str:
    """A key of no host, as known_hosts has it."""
    if kind == "ssh-ed25519":
        return f"{kind} {base64.b64encode(_wire(kind.encode()) + _wire(random.randbytes(32))).decode()}"
    return f"{kind} {paramiko.ECDSAKey.generate(bits=256).get_base64()}"


def _wire(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class Place:
    """A node that is looked up in a known_hosts file of the test's own, by us and by the OpenSSH client."""

    def __init__(self, folder: Path, node: SshNode) -> None:
        self.file, self.node = folder / "known hosts", node
        line = next(line for line in node.known_hosts_file.read_text().splitlines() if f"[{node.address}]" in line)
        self.name, self.key = line.split()[0], " ".join(line.split()[1:3])

    def says(self, text: str) -> Place:
        self.file.write_text(text.format(name=self.name, key=self.key, plain=self.node.address, other=new_key(),
                                         ecdsa=new_key("ecdsa-sha2-nistp256")))
        return self

    def target(self, checking: str = "yes") -> Target:
        return Target("target", self.node.address, port=self.node.port, user=self.node.user,
                      keys=(str(self.node.key_file),), known_hosts=(str(self.file),), record_file=str(self.file),
                      checking=checking)

    def accepts(self, checking: str = "yes") -> bool:
        try:
            opened(self.target(checking)).close()
        except HostUnreachable as error:
            assert "host key" in str(error), error
            return False
        finally:
            notices()
        return True

    def openssh_accepts(self, checking: str = "yes") -> bool:
        done = subprocess.run(
            ["ssh", "-F", "none", "-i", str(self.node.key_file), "-p", str(self.node.port), "-o", "BatchMode=yes",
             "-o", f'UserKnownHostsFile="{self.file}"', "-o", "GlobalKnownHostsFile=none", "-o", "HashKnownHosts=no",
             "-o", f"StrictHostKeyChecking={checking}", f"{self.node.user}@{self.node.address}", "true"],
            check=False, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0 or "verification failed" in done.stderr, done.stderr
        return done.returncode == 0


@pytest.fixture
def place(tmp_path: Path, nodes: NodeSet) -> Place:
    return Place(tmp_path, nodes["node2"])


HASH = "|1|RYD+rnRBIBT8ndlcmlDnRSA1OXE=|"  # of no name here
FILES = {
    "known": "{name} {key}\n",
    "nothing": "",
    "another key": "{name} {other}\n",
    "another type": "{name} {ecdsa}\n",
    "two keys, ours first": "{name} {key}\n{name} {other}\n",
    "two keys, ours last": "{name} {other}\n{name} {key}\n",
    "a list of names": "example.org,{name},10.0.0.1 {key} a comment\n",
    "name without the port": "{plain} {key}\n",
    "another key without the port": "{plain} {other}\n",
    "wildcard": "[127.*]:* {key}\n",
    "question mark": "[127.0.0.?]:* {key}\n",
    "negated": "*,!{name} {key}\n",
    "negation of others": "!*.example.org,* {key}\n",
    "brackets are no set": "127.0.0.[0-9] {key}\n",
    "many stars": "*" * 60 + "x {key}\n{name} {key}\n",
    "revoked": "{name} {key}\n@revoked {name} {key}\n",
    "revoked before it is known": "@revoked * {key}\n{name} {key}\n",
    "revoked for another host": "{name} {key}\n@revoked example.org {key}\n",
    "another key revoked": "{name} {key}\n@revoked {name} {other}\n",
    "only an authority": "@cert-authority {name} {key}\n",
    "an authority and the key": "@cert-authority * {other}\n{name} {key}\n",
    "unknown marker": "@trusted {name} {key}\n",
    "two markers": "@revoked @cert-authority {name} {key}\n{name} {key}\n",
    "bad base64": "{name} ssh-ed25519 AAAA*&%\n{name} {key}\n",
    "bad base64 alone": "{name} ssh-ed25519 AAAA*&%\n",
    "cut short": "{name} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "named as another type": "{name} ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIKKvMR0penzE0obj5GC4JssxTbGbGiGywwSYdDV84krD\n",
    "hash without a digest": "|1|x {key}\n|1|| {key}\n|2|a|b {key}\n" + HASH + " {key}\n{name} {key}\n",
    "hash alone that is bad": HASH + "? {key}\n",
    "words missing": "{name}\n{name} ssh-ed25519\n@revoked\n@revoked {name}\n{name} {key}\n",
    "leading blanks and a comment": "# about\n\n   {name}\t{key}\n",
    "upper case": "LOCALHOST,{name} {key}\n",
    "no newline at the end": "{name} {key}",
}


@pytest.mark.parametrize("checking", ["yes", "accept-new"])
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_key_is_accepted_when_openssh_accepts_it(place: Place, text: str, checking: str) -> None:
    ours = place.says(text).accepts(checking)
    recorded = place.file.read_text()
    assert ours == place.says(text).openssh_accepts(checking)
    assert len(recorded.splitlines()) == len(place.file.read_text().splitlines())


def test_hashed_names_are_found(place: Place) -> None:
    place.says("{name} {key}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(place.file)], check=True, capture_output=True)
    assert place.name not in place.file.read_text()
    assert place.accepts()


@pytest.mark.parametrize("checking", ["yes", "ask", "accept-new", "no", "off"])
@pytest.mark.parametrize("text", ["{name} {key}\n@revoked {name} {key}\n", "# under its plain name\n@revoked {plain} {key}\n"])
def test_a_revoked_key_is_refused_whatever_the_setting(place: Place, text: str, checking: str) -> None:
    place.says(text)
    with pytest.raises(HostUnreachable, match=f"REVOKED .{re.escape(str(place.file))}:2"):
        opened(place.target(checking))


def test_accept_new_records_the_key_and_refuses_another_one_later(place: Place) -> None:
    place.says("# no newline behind this")
    assert place.accepts("accept-new")
    assert place.file.read_text() == f"# no newline behind this\n{place.name} {place.key}\n"
    assert place.accepts("yes") and place.openssh_accepts("yes")
    place.says("{name} {other}\n")
    with pytest.raises(HostUnreachable, match="CHANGED"):
        opened(place.target("accept-new"))


def test_checking_switched_off_records_new_keys_and_accepts_changed_ones_but_sends_no_password(place: Place) -> None:
    place.says("")
    assert place.accepts("no") and place.key in place.file.read_text()
    place.says("{name} {other}\n")
    assert place.accepts("no") and place.openssh_accepts("no")
    assert place.key not in place.file.read_text()
    with pytest.raises(HostUnreachable, match=r"CHANGED.*password is never sent"):
        opened(replace(place.target("no"), password="secret"))


def test_keys_recorded_at_the_same_time_are_all_kept_once(tmp_path: Path) -> None:
    file, keys = tmp_path / "known_hosts", [paramiko.ECDSAKey.generate(bits=256) for _ in range(8)]
    threads = [threading.Thread(target=hostkeys.record, args=(file, f"host{number % 8}", keys[number % 8]))
               for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(file.read_text().splitlines()) == sorted(
        f"host{number} {key.get_name()} {key.get_base64()}" for number, key in enumerate(keys))
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_known_hosts_file_can_break_the_look_up(tmp_path: Path) -> None:
    """Mutations of good lines: each is read or passed over, and the good line behind them still counts."""
    chance, key = random.Random(16), paramiko.ECDSAKey.generate(bits=256)
    good = f"host {key.get_name()} {key.get_base64()}"
    seeds = [good, f"@revoked host {new_key()}", f"|1|RYD+rnRBIBT8ndlcmlDnRSA1OXE=|AAAA {new_key()}", f"*,!x {new_key()}"]
    for number in range(1500):
        line = list(chance.choice(seeds))
        for _ in range(chance.randint(1, 6)):
            line.insert(chance.randrange(len(line) + 1), chance.choice("|*?!@#= \t\0\x1b\u00e9\u2028\udc80,[]A"))
            del line[chance.randrange(len(line))]
        file = tmp_path / f"known-{number}"
        file.write_bytes(f"{''.join(line)}\nhost {good.split(' ', 1)[1]}\n".encode(errors="surrogateescape"))
        verdict = hostkeys.judge([str(file)], ["host"], key)
        assert verdict.word == "known", (number, "".join(line), verdict)


class Inventory:
    """The host `target`, which is node2, and the words that a run prints about it."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.nodes, self.known, self.stage = nodes, folder / "known hosts", Stage(folder, folder / "my hosts.yaml")
        self.known.touch()

    def write(self, args: str = "", **others: object) -> None:
        node = self.nodes["node2"]
        args = f"""-F none -o 'UserKnownHostsFile="{self.known}"' -i {node.key_file} {args}"""
        host = {"ansible_host": node.address, "ansible_port": node.port, "ansible_user": node.user,
                "ansible_ssh_common_args": args, **others}
        self.stage.inventory.write_text(yaml.safe_dump({"all": {"hosts": {"target": host}}}))

    def knows(self, *names: str) -> None:
        addresses = [self.nodes[name].address for name in names]
        lines = self.nodes[0].known_hosts_file.read_text().splitlines(keepends=True)
        self.known.write_text("".join(line for line in lines if any(f"[{address}]" in line for address in addresses)))

    def play(self) -> Outcome:
        return self.stage.play(WHO)

    def typed(self, said: str, start: str) -> Outcome:
        """What the message tells to type, typed; `--yes` is the answer to its question."""
        command = next(text for text in re.findall(r'"([^"]+)"', said.replace('\\"', '"')) if text.startswith(start))
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
    relay = (f"ssh -F none -i {node.key_file} -o UserKnownHostsFile={node.known_hosts_file} -p {node.port} "
             f"-W {target.address}:{target.port} {node.user}@{node.address}")
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
def test_a_jump_host_given_by_its_address_is_trusted_as_printed(inventory: Inventory, option: str) -> None:
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
    done = inventory.stage.invoke("hosts.trust", "target", "--inventory", inventory.stage.inventory, "--yes")
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


def test_workers_of_an_image_are_known_by_its_own_keys_and_no_other_host_is_accepted(tmp_path: Path, nodes: NodeSet,
                                                                                    sshd_program: str) -> None:
    """The image's own lines, run in a folder of ours: its sshd is accepted under a worker's name, another host is not."""
    rendered = (REPOSITORY / "tests/images/rendered/current/nccl-build.Dockerfile").read_text()
    assert "StrictHostKeyChecking" not in rendered
    lines = rendered[rendered.index("RUN mkdir -p /var/run/sshd"):].split("\n\n")[0].removeprefix("RUN ")
    ours = lines.replace("/etc/ssh", f"{tmp_path}/etc/ssh").replace("/var/run", str(tmp_path))
    (tmp_path / "etc/ssh").mkdir(parents=True)
    subprocess.run(["bash", "-ec", ours.replace("ssh-keygen -A", f"ssh-keygen -A -f {tmp_path}")], check=True,
                   capture_output=True)
    worker, node = tmp_path / "sshd_config", nodes["node1"]
    worker.write_text(f"HostKey {tmp_path}/etc/ssh/ssh_host_ed25519_key\nAuthorizedKeysFile {node.key_file}.pub\n"
                      "StrictModes no\nUsePAM no\nPidFile none\n")

    def reached(name: str, *way: str) -> bool:
        options = ["UserKnownHostsFile=none", f"GlobalKnownHostsFile={tmp_path}/etc/ssh/ssh_known_hosts", "BatchMode=yes",
                   f"HostKeyAlias={name}", *way]
        words = ["ssh", "-F", "none", "-i", str(node.key_file), *(word for one in options for word in ("-o", one))]
        done = subprocess.run([*words, f"{node.user}@{node.address}", "true"], check=False, capture_output=True, text=True)
        assert done.returncode == 0 or "verification failed" in done.stderr, done.stderr
        return done.returncode == 0

    through = f"ProxyCommand={sshd_program} -i -f {worker}"
    assert reached("bench-worker-0.bench.training.svc", through)
    assert not reached("github.com", through)
    assert not reached("bench-worker-0.bench.training.svc", f"Port={node.port}")
