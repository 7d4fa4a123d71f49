"""Machines that lose their power and their network: each with namespaces of its own for the
network, processes, mounts and name.

A machine's first process is a real sshd on port 22 of its address. What is lost with a machine is
lost without a word: nobody gets a last packet. Needs root and iproute2; `machines` skips where that
is missing.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox import sshd
from tests.support.launch.machine import Lane, Machine, ip, run
from tests.support.launch.site import Site

CONTROLLER = 1  # the last number of this machine's address on a lane


class Machines:
    """Machines on lanes, and what can befall them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, sshd.find()
        self.shared, self.state = folder / "shared", folder / "state"
        self.key, self.known_hosts, self.hosts = (
            folder / "client_key",
            folder / "known_hosts",
            folder / "hosts",
        )
        self.lanes: list[Lane] = []
        self.disks: list[Path] = []
        self.all: dict[str, Machine] = {}
        self._token = secrets.token_hex(2)
        for place in (self.shared, self.state):
            place.mkdir(parents=True)
        sshd.make_keys([self.key])

    def lane(self, *, reachable: bool = True) -> Lane:
        """A network; one that is not reachable leads to its machines only."""
        # Tests that run beside this one look for a free prefix, too.
        with open(Path(tempfile.gettempdir()) / "playrunner-test-lanes.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = Lane(f"pr{self._token}b{len(self.lanes)}", self._free_prefix())
            ip("link", "add", made.bridge, "type", "bridge")
            self.lanes.append(made)
            ip("link", "set", made.bridge, "up")
            if reachable:
                ip("addr", "add", f"{made.address(CONTROLLER)}/24", "dev", made.bridge)
        return made

    def disk(self, name: str, size: str) -> Path:
        """A small disk that all machines added from now on share."""
        place = self.folder / name
        place.mkdir()
        run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)])
        self.disks.append(place)
        return place

    def add(self, name: str, *lanes: Lane) -> Machine:
        number = len(self.all) + 1
        daemon = sshd.Daemon(self.folder / "sshd" / name)
        for place in (daemon.folder, self.folder / "homes" / name):
            place.mkdir(parents=True, mode=0o700)
        sshd.make_keys([daemon.host_key])
        links = tuple(f"pr{self._token}n{number}l{each}" for each in range(len(lanes)))
        made = self.all[name] = Machine(name, 10 + number, lanes, daemon, links)
        names = "".join(f"{each.address} {each.name}\n" for each in self.all.values())
        self.hosts.write_text(
            f"127.0.0.1 localhost\n{names}"
        )  # in place: machines that run see it too
        self.known_hosts.write_text(
            "".join(
                f"{lane.address(each.number)} {each.daemon.public_host_key}\n"
                for each in self.all.values()
                for lane in each.lanes
            )
        )
        self.power_on(name)
        return made

    # --- what befalls them

    def power_on(self, name: str) -> None:
        machine = self.all[name]
        sshd.write_settings(
            machine.daemon,
            "0.0.0.0",
            22,
            {"HOME": str(self.folder / "homes" / name)},
            sshd.common_settings(self.program, self.key.with_suffix(".pub")),
        )
        cards = {
            f"eth{number}": lane.address(machine.number)
            for number, lane in enumerate(machine.lanes)
        }
        words = [
            name,
            machine.daemon.folder,
            self.hosts,
            " ".join(f"{card}={it}" for card, it in cards.items()),
            self.program,
        ]
        machine.boot(*words)
        for number, (card, link, lane) in enumerate(
            zip(cards, machine.links, machine.lanes, strict=True)
        ):
            # The same card as before: the others remember where they found it.
            card_address = (
                f"02:77:{self._token[:2]}:{self._token[2:]}:{number:02x}:{machine.number:02x}"
            )
            peer = ["peer", "name", card, "address", card_address, "netns", str(machine.init)]
            ip("link", "add", link, "type", "veth", *peer)
            ip("link", "set", link, "master", lane.bridge, "up")
        machine.wired()

    def power_off(self, name: str) -> None:
        """Everything on it is gone at once, without a word to anybody."""
        machine = self.all[name]
        self.cut(name)
        machine.end()
        for link in machine.links:
            subprocess.run(
                ["ip", "link", "del", link], check=False, capture_output=True
            )  # gone with the machine's own end, soon

    def cut(self, name: str) -> None:
        """Its cables lead nowhere; what is sent is lost in silence."""
        for link in self.all[name].links:
            ip("link", "set", link, "nomaster")

    def mend(self, name: str) -> None:
        for link, lane in zip(self.all[name].links, self.all[name].lanes, strict=True):
            ip("link", "set", link, "master", lane.bridge)

    def slow(self, name: str, rate: str) -> None:
        """What it sends and is sent passes at this rate, as 20mbit."""
        shape = f"root tbf rate {rate} burst 16kb latency 400ms"
        for link in self.all[name].links:
            run(["tc", "qdisc", "replace", "dev", link, *shape.split()])
        for number in range(len(self.all[name].lanes)):
            self.all[name].run(f"tc qdisc replace dev eth{number} {shape}")

    def hasten(self, name: str) -> None:
        for number, link in enumerate(self.all[name].links):
            run(["tc", "qdisc", "del", "dev", link, "root"])
            self.all[name].run(f"tc qdisc del dev eth{number} root")

    @contextmanager
    def severed(self, one: str, other: str) -> Iterator[None]:
        """What these two send each other is lost in silence; all others reach both."""
        ends = [(self.all[one], self.all[other].address), (self.all[other], self.all[one].address)]
        for machine, there in ends:
            machine.run(f"ip route add blackhole {there}/32")
        try:
            yield
        finally:
            for machine, there in ends:
                machine.run(f"ip route del blackhole {there}/32")

    @contextmanager
    def small_disk(self, name: str, folder: Path, size: str) -> Iterator[Path]:
        """A disk at this folder that only this machine sees; returns its path from here."""
        folder.mkdir(parents=True, exist_ok=True)
        machine = self.all[name]
        machine.run(f"mount -t tmpfs -o size={size} tmpfs {folder}", "-m -p")
        try:
            yield machine.root / folder.relative_to("/")
        finally:
            machine.run(f"umount -l {folder}", "-m -p")

    # --- for the controller

    def inventory(
        self,
        *names: str,
        hosts: Mapping[str, Any] | None = None,
        file: str = "inventory.yaml",
        **variables: Any,
    ) -> Path:
        """These machines as the group `nodes`; `hosts` are further ones, with their variables. JSON
        is also YAML."""
        common = {
            "ansible_user": sshd.login_name(),
            "ansible_ssh_private_key_file": str(self.key),
            "ansible_ssh_timeout": 4,
            "ansible_ssh_common_args": (
                f"-F none -o UserKnownHostsFile={self.known_hosts} -o StrictHostKeyChecking=yes"
            ),
        }
        training = {
            "train_root": str(self.shared),
            "train_python": sys.executable,
            # Each machine takes this one's cores for its own, which they share.
            "train_environment": {"OMP_NUM_THREADS": "1"},
            **variables,
        }
        nodes = {name: {"ansible_host": self.all[name].address} for name in names}
        path = self.folder / file
        path.write_text(
            json.dumps(
                {
                    "all": {
                        "vars": common,
                        "hosts": dict(hosts or {}),
                        "children": {"nodes": {"hosts": nodes, "vars": training}},
                    }
                },
                indent=1,
            )
        )
        return path

    @contextmanager
    def site(self, inventory: Path) -> Iterator[Field]:
        made = Field(self.state, inventory, self.shared)
        try:
            yield made
        finally:
            made.close()

    def _free_prefix(self) -> str:
        cards = json.loads(run(["ip", "-j", "-4", "addr"]))
        taken = {each["local"].rpartition(".")[0] for card in cards for each in card["addr_info"]}
        taken |= {lane.prefix for lane in self.lanes}
        return next(
            prefix for prefix in (f"10.77.{number}" for number in range(256)) if prefix not in taken
        )

    def close(self) -> None:
        for machine in self.all.values():
            if machine.launcher:
                self.power_off(machine.name)
        for lane in self.lanes:
            subprocess.run(["ip", "link", "del", lane.bridge], check=False, capture_output=True)
        for place in self.disks:
            subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


class Field(Site):
    """A place to launch from, with machines of this inventory."""

    def __init__(self, state: Path, inventory: Path, shared: Path) -> None:
        super().__init__(state)
        self._inventory, self._shared = inventory, shared
        self._started: list[subprocess.Popen[str]] = []

    @property
    def shared(self) -> Path:
        return self._shared

    def start(self, *words: object, **environment: str) -> subprocess.Popen[str]:
        process = super().start(*words, PLAYRUNNER_INVENTORY=str(self._inventory), **environment)
        self._started.append(process)
        return process

    def close(self) -> None:
        """What a failed test left running ends too."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.communicate()


@contextmanager
def machines(folder: Path) -> Iterator[Machines]:
    """None to begin with; all that were added are taken down again."""
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    missing = [
        program
        for program in ("ip", "tc", "unshare", "nsenter", "setpriv")
        if not shutil.which(program)
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: apt-get install iproute2 util-linux")
    alone = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--net", "--uts"]
    cable = ["ip", "link", "add", "tried0", "type", "veth", "peer", "name", "tried1"]
    tried = subprocess.run([*alone, *cable], check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"network namespaces are not permitted here: {tried.stderr.strip()}")
    made = Machines(folder)
    try:
        yield made
    finally:
        made.close()
