"""A builder is installed, started and open to the login on a machine with a disk of its own: with
apt, dpkg, an init script, usermod, sudo and sshd as they are. Only the package is a stand-in: its
docker answers whoever may write to the socket that its service makes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from playrunner.sandbox import sshd
from tests.support.runner import Outcome, invoke

LOGIN = "ec2-user"
SOCKET = "/var/lib/stand-in.sock"
DOCKER = f'#!/bin/sh\n[ "$1" = info ] && [ -w {SOCKET} ]\n'
SERVICE = f"""#!/bin/sh
### BEGIN INIT INFO
# Provides: docker
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case $1 in
start) install -m 0660 -o root -g docker /dev/null {SOCKET} ;;
stop) rm -f {SOCKET} ;;
status) [ -e {SOCKET} ] || exit 3 ;;
esac
"""
CONTROL = """Package: docker.io
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.test>
Description: stands in for the engine
"""
# A disk of its own over this machine's; it goes with the process.
START = """
set -e
mount --make-rprivate /
mount -t tmpfs none {disk}
mkdir {disk}/upper {disk}/work {disk}/root
mount -t overlay none -o lowerdir=/,upperdir={disk}/upper,workdir={disk}/work {disk}/root
mount --rbind /proc {disk}/root/proc
mount --rbind /dev {disk}/root/dev
mkdir -p {disk}/root{folder}
mount --bind {folder} {disk}/root{folder}
exec chroot {disk}/root sh -c '
  set -e
  rm -f /usr/bin/docker /usr/bin/podman /usr/bin/buildah
  rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*
  cp -r {folder}/repository /repository  # apt reads as a user of its own
  echo "deb [trusted=yes] file:/repository ./" >/etc/apt/sources.list
  apt-get -q update
  useradd --create-home --password "*" --shell /bin/sh {login}
  echo "{login} ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/{login}
  install -d -m 0700 -o {login} /home/{login}/.ssh
  install -m 0600 -o {login} {folder}/key.pub /home/{login}/.ssh/authorized_keys
  mkdir -p /run/sshd
  echo "ListenAddress 127.0.0.1:{port}" >/etc/ssh/of_test
  exec {sshd} -D -e -f /etc/ssh/of_test -h {folder}/host_key -o PidFile=none
'
"""


class OwnDisk:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def play(self, *words: str) -> Outcome:
        playbook = self.folder / "builder.yaml"
        role = {"name": "jumphost", "tasks_from": "builder"}
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": {
                "cluster_name": "drill",
                "jumphost_existing": "gateway",
                "jumphost_become": True,
                "jumphost_folder": {},  # its folder there is ours
            },
            "tasks": [{"name": "builder", "include_role": role}],
        }
        playbook.write_text(yaml.safe_dump([play]))
        return invoke(
            *("play", playbook, "--inventory", self.inventory(), "--json", *words),
            state=self.folder / "state",
        )

    def inventory(self) -> Path:
        file = self.folder / "inventory.yaml"
        gateway = {
            "ansible_host": "127.0.0.1",
            "ansible_port": self.port,
            "ansible_user": LOGIN,
            "ansible_ssh_private_key_file": str(self.folder / "key"),
            "ansible_ssh_common_args": (
                f"-o UserKnownHostsFile={self.folder}/known_hosts -o StrictHostKeyChecking=yes"
            ),
        }
        file.write_text(yaml.safe_dump({"all": {"hosts": {"gateway": gateway}}}))
        return file


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[OwnDisk]:
    needed = ("apt-get", "dpkg-deb", "dpkg-scanpackages", "sudo", "unshare", "useradd")
    missing = [program for program in needed if not shutil.which(program)]
    if os.geteuid() or missing:
        pytest.skip(f"a machine with a disk of its own needs root and {', '.join(needed)}")
    _repository(tmp_path)
    sshd.make_keys([tmp_path / "key", tmp_path / "host_key"])
    made = OwnDisk(tmp_path, _free_port())
    public = (tmp_path / "host_key.pub").read_text()
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{made.port} {public}")
    (tmp_path / "disk").mkdir()
    script = START.format(
        disk=tmp_path / "disk", folder=tmp_path, login=LOGIN, sshd=sshd.find(), port=made.port
    )
    with subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            said = []
            for line in process.stderr or ():
                said.append(line)
                if line.startswith("Server listening"):
                    break
            else:
                pytest.fail("".join(said))
            yield made
        finally:
            process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _repository(folder: Path) -> None:
    package = folder / "package"
    files = {
        "usr/bin/docker": DOCKER,
        "etc/init.d/docker": SERVICE,
        "DEBIAN/control": CONTROL,
        "DEBIAN/postinst": "#!/bin/sh\ngroupadd --system --force docker\n",
    }
    for name, text in files.items():
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o644 if name == "DEBIAN/control" else 0o755)
    repository = folder / "repository"
    repository.mkdir()
    _run("dpkg-deb", "--build", package, repository / "docker.deb")
    (repository / "Packages").write_text(_run("dpkg-scanpackages", ".", folder=repository))


def _run(*words: str | Path, folder: Path | None = None) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder).stdout


def _changed(outcome: Outcome) -> list[str]:
    assert outcome.code == 0, outcome.text
    return [
        result["step"].rpartition("jumphost ")[2]
        for result in outcome.data["results"]
        if result["status"] == "changed"
    ]


@pytest.mark.processes
def test_a_builder_is_installed_started_and_open_to_the_login_and_the_second_time_nothing_changes(
    machine: OwnDisk,
) -> None:
    assert _changed(machine.play("--check")) == ["image builder package"]
    assert _changed(machine.play()) == ["image builder package", "docker service", "docker group"]
    assert _changed(machine.play()) == []
