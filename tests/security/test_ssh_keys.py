"""Private keys that others can read are not used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.runner import Outcome
from tests.support.security.ssh_play import play
from tests.support.sshd import NodeSet


class Login:
    """node2, logged in to with a copy of its key, by a user whose home is the test's own."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.folder, self.node, self.home = folder, nodes["node2"], folder / "home"
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)

    def key(self, name: str, mode: int) -> Path:
        path = self.home / ".ssh" / name
        path.write_bytes(self.node.key_file.read_bytes())
        path.chmod(mode)
        return path

    def play(self, **variables: object) -> Outcome:
        node = self.node
        settings = {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "ansible_user": node.user,
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={node.known_hosts_file}",
            **variables,
        }
        lines = "".join(f"      {name}: {value}\n" for name, value in settings.items())
        return play(
            self.folder, f"all:\n  hosts:\n    web:\n{lines}", HOME=str(self.home), SSH_AUTH_SOCK=""
        )


@pytest.fixture
def login(tmp_path: Path, nodes: NodeSet) -> Login:
    return Login(tmp_path, nodes)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_private_key_that_others_can_read_is_refused_until_the_remedy_is_typed(
    login: Login, mode: int
) -> None:
    key = login.key("mine", mode)
    done = login.play(ansible_ssh_private_key_file=key)
    assert done.code == 4 and f"mode 0{mode:o}" in done.text and f"chmod 600 {key}" in done.text, (
        done.text
    )
    assert os.system(f"chmod 600 {key}") == 0
    assert login.play(ansible_ssh_private_key_file=key).code == 0


def test_a_key_that_ssh_configuration_names_is_refused_too(login: Login) -> None:
    key = login.key("mine", 0o644)
    (login.home / ".ssh/config").write_text(f"Host *\n  IdentityFile {key}\n")
    done = login.play()
    assert done.code == 4 and f"chmod 600 {key}" in done.text, done.text


def test_a_default_key_that_others_can_read_is_passed_over_with_a_warning(login: Login) -> None:
    key = login.key("id_ed25519", 0o600)
    assert login.play().code == 0
    key.chmod(0o644)
    done = login.play()
    assert done.code == 4 and f"chmod 600 {key}; it is not used" in done.err, done.text
