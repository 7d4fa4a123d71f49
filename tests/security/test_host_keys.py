"""Host keys are judged as the OpenSSH client judges them."""

from __future__ import annotations

import base64
import random
import re
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import paramiko
import pytest

from playrunner.errors import HostUnreachable
from playrunner.ssh.keys import hostkeys
from playrunner.ssh.keys.host_key_check import notices
from playrunner.ssh.session import open_session
from playrunner.ssh.targets import Target
from tests.support.sshd import NodeSet, SshNode


def new_key(kind: str = "ssh-ed25519") -> str:
    """A key of no host, as known_hosts has it."""
    if kind == "ssh-ed25519":
        return (
            f"{kind}"
            f" {base64.b64encode(_wire(kind.encode()) + _wire(random.randbytes(32))).decode()}"
        )
    return f"{kind} {paramiko.ECDSAKey.generate(bits=256).get_base64()}"


def _wire(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class Place:
    """A node that is looked up in a known_hosts file of the test's own, by us and by the OpenSSH
    client."""

    def __init__(self, folder: Path, node: SshNode) -> None:
        self.file, self.node = folder / "known hosts", node
        line = next(
            line
            for line in node.known_hosts_file.read_text().splitlines()
            if f"[{node.address}]" in line
        )
        self.name, self.key = line.split()[0], " ".join(line.split()[1:3])

    def says(self, text: str) -> Place:
        self.file.write_text(
            text.format(
                name=self.name,
                key=self.key,
                plain=self.node.address,
                other=new_key(),
                ecdsa=new_key("ecdsa-sha2-nistp256"),
            )
        )
        return self

    def target(self, checking: str = "yes") -> Target:
        return Target(
            "target",
            self.node.address,
            port=self.node.port,
            user=self.node.user,
            keys=(str(self.node.key_file),),
            known_hosts=(str(self.file),),
            record_file=str(self.file),
            checking=checking,
        )

    def accepts(self, checking: str = "yes") -> bool:
        try:
            open_session(self.target(checking)).close()
        except HostUnreachable as error:
            assert "host key" in str(error), error
            return False
        finally:
            notices()
        return True

    def openssh_accepts(self, checking: str = "yes") -> bool:
        done = subprocess.run(
            [
                "ssh",
                "-F",
                "none",
                "-i",
                str(self.node.key_file),
                "-p",
                str(self.node.port),
                "-o",
                "BatchMode=yes",
                "-o",
                f'UserKnownHostsFile="{self.file}"',
                "-o",
                "GlobalKnownHostsFile=none",
                "-o",
                "HashKnownHosts=no",
                "-o",
                f"StrictHostKeyChecking={checking}",
                f"{self.node.user}@{self.node.address}",
                "true",
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )
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
    "named as another type": (
        "{name} ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIKKvMR0penzE0obj5GC4JssxTbGbGiGywwSYdDV84krD\n"
    ),
    "hash without a digest": (
        "|1|x {key}\n|1|| {key}\n|2|a|b {key}\n" + HASH + " {key}\n{name} {key}\n"
    ),
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
    subprocess.run(
        ["ssh-keygen", "-q", "-H", "-f", str(place.file)], check=True, capture_output=True
    )
    assert place.name not in place.file.read_text()
    assert place.accepts()


@pytest.mark.parametrize("checking", ["yes", "ask", "accept-new", "no", "off"])
@pytest.mark.parametrize(
    "text",
    ["{name} {key}\n@revoked {name} {key}\n", "# under its plain name\n@revoked {plain} {key}\n"],
)
def test_a_revoked_key_is_refused_whatever_the_setting(
    place: Place, text: str, checking: str
) -> None:
    place.says(text)
    with pytest.raises(HostUnreachable, match=f"REVOKED .{re.escape(str(place.file))}:2"):
        open_session(place.target(checking))


def test_accept_new_records_the_key_and_refuses_another_one_later(place: Place) -> None:
    place.says("# no newline behind this")
    assert place.accepts("accept-new")
    assert place.file.read_text() == f"# no newline behind this\n{place.name} {place.key}\n"
    assert place.accepts("yes") and place.openssh_accepts("yes")
    place.says("{name} {other}\n")
    with pytest.raises(HostUnreachable, match="CHANGED"):
        open_session(place.target("accept-new"))


def test_checking_switched_off_records_new_keys_and_accepts_changed_ones_but_sends_no_password(
    place: Place,
) -> None:
    place.says("")
    assert place.accepts("no") and place.key in place.file.read_text()
    place.says("{name} {other}\n")
    assert place.accepts("no") and place.openssh_accepts("no")
    assert place.key not in place.file.read_text()
    with pytest.raises(HostUnreachable, match=r"CHANGED.*password is never sent"):
        open_session(replace(place.target("no"), password="secret"))


def test_keys_recorded_at_the_same_time_are_all_kept_once(tmp_path: Path) -> None:
    file, keys = tmp_path / "known_hosts", [paramiko.ECDSAKey.generate(bits=256) for _ in range(8)]
    threads = [
        threading.Thread(target=hostkeys.record, args=(file, f"host{number % 8}", keys[number % 8]))
        for number in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(file.read_text().splitlines()) == sorted(
        f"host{number} {key.get_name()} {key.get_base64()}" for number, key in enumerate(keys)
    )
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_known_hosts_file_can_break_the_look_up(tmp_path: Path) -> None:
    """Mutations of good lines: each is read or passed over, and the good line behind them still
    counts."""
    chance, key = random.Random(16), paramiko.ECDSAKey.generate(bits=256)
    good = f"host {key.get_name()} {key.get_base64()}"
    seeds = [
        good,
        f"@revoked host {new_key()}",
        f"|1|RYD+rnRBIBT8ndlcmlDnRSA1OXE=|AAAA {new_key()}",
        f"*,!x {new_key()}",
    ]
    for number in range(1500):
        line = list(chance.choice(seeds))
        for _ in range(chance.randint(1, 6)):
            line.insert(
                chance.randrange(len(line) + 1),
                chance.choice("|*?!@#= \t\0\x1b\u00e9\u2028\udc80,[]A"),
            )
            del line[chance.randrange(len(line))]
        file = tmp_path / f"known-{number}"
        file.write_bytes(
            f"{''.join(line)}\nhost {good.split(' ', 1)[1]}\n".encode(errors="surrogateescape")
        )
        status = hostkeys.key_status([str(file)], ["host"], key)
        assert status.state == "known", (number, "".join(line), status)
