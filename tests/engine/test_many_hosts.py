"""Many hosts at once: logins are paced, jump hosts shared, idle connections quiet, files few."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from playrunner.run.batch import Batch
from playrunner.sandbox.sshd import Daemon
from playrunner.ssh.pool import Pool
from playrunner.ssh.targets import Target
from tests.support.runner import Stage
from tests.support.sshd import NodeSet, SshNode

PLAY = """
- hosts: "host*"
  gather_facts: false
  tasks:
    - {name: there, command: "true"}
"""


class Crowd:
    """Many names of one node; another node takes two logins at a time and drops the others."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.narrow, self.wide = nodes["node1"], nodes["node2"]
        self.log = nodes.root / "sshd" / "node1" / "log"
        self.stage = Stage(folder, folder / "hosts.yaml")
        daemon = Daemon(nodes.root / "sshd" / "node1")
        config = daemon.config.read_text()
        daemon.config.write_text(config.replace("MaxStartups 200", "MaxStartups 2:100:2"))
        old = daemon.pid()
        assert old
        os.kill(old, signal.SIGHUP)
        while "SIGHUP" not in self.log.read_text() or not daemon.pid():
            time.sleep(0.02)

    def write(self, count: int, node: SshNode, **jump: SshNode) -> None:
        shared = {
            "ansible_user": node.user,
            "ansible_ssh_private_key_file": str(node.key_file),
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={node.known_hosts_file}",
        }

        def at(place: SshNode) -> dict[str, object]:
            return {"ansible_host": place.address, "ansible_port": place.port}

        behind = {"via": next(iter(jump))} if jump else {}
        hosts = {f"host{number}": {**at(node), **behind} for number in range(count)}
        hosts |= {name: at(place) for name, place in jump.items()}
        self.stage.inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": shared}}))

    def logins(self) -> int:
        return self.log.read_text().count("Accepted publickey")


@pytest.fixture
def crowd(tmp_path: Path, make_nodes: Callable[[int], NodeSet]) -> Crowd:
    return Crowd(tmp_path, make_nodes(2))


def test_hosts_behind_a_jump_host_share_one_login_there_and_busy_servers_are_tried_again(
    crowd: Crowd,
) -> None:
    crowd.write(20, crowd.wide, jump=crowd.narrow)
    done = crowd.stage.play(PLAY)
    assert done.code == 0, done.text
    assert crowd.logins() == 1

    crowd.write(12, crowd.narrow)
    done = crowd.stage.play(PLAY)
    assert done.code == 0, done.text
    assert crowd.logins() == 13

    # The connections of all hosts do not fit, although those of four hosts at a time do
    crowd.write(60, crowd.wide)
    limited = crowd.stage.start(PLAY, "--forks", "4")
    resource.prlimit(limited.pid, resource.RLIMIT_NOFILE, (84, 84))
    out, err = limited.communicate(timeout=120)
    assert limited.returncode == 0, out + err


def test_an_idle_connection_sleeps_until_its_keep_alive_is_due(nodes: NodeSet) -> None:
    node = nodes[0]
    pool = Pool()
    before = set(_threads())
    target = Target(
        "idle",
        node.address,
        port=node.port,
        user=node.user,
        keys=(str(node.key_file),),
        known_hosts=(str(node.known_hosts_file),),
    )
    pool.get(target)
    try:
        time.sleep(0.6)  # what the login set in motion has settled
        idle = [thread for thread in _threads() if thread not in before]
        woken = sum(_switches(thread) for thread in idle)
        time.sleep(1.6)
        assert idle and sum(_switches(thread) for thread in idle) - woken <= 1
    finally:
        pool.close()


def test_hosts_that_meet_at_every_step_cost_the_same_each_however_many_they_are() -> None:
    few, many = (
        min(_cpu_of_meetings(hosts, steps) for _ in range(3))
        for hosts, steps in ((50, 40), (1000, 2))
    )
    # As many meetings; it was 30 times when each looked at all, and is 12 on a busy machine
    assert many < 16 * few


def _cpu_of_meetings(count: int, steps: int) -> float:
    running = threading.Event()
    running.set()
    hosts = [f"host{number}" for number in range(count)]
    batch = Batch(hosts, threading.Semaphore(32), running, lockstep=True)

    def walk(host: str) -> None:
        with batch.slot():
            for step in range(steps):
                batch.meet(host, (0, step))
        batch.leave(host)

    threads = [threading.Thread(target=walk, args=(host,), daemon=True) for host in hosts]
    began = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return time.process_time() - began


def _threads() -> list[str]:
    return os.listdir("/proc/self/task")


def _switches(thread: str) -> int:
    """How often a thread has gone to sleep by itself."""
    text = Path(f"/proc/self/task/{thread}/status").read_text()
    return int(text.partition("voluntary_ctxt_switches:")[2].split()[0])
