"""The gate on a network with a fault in it: three nodes, each a network namespace on one bridge.
Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.trainer.netcheck import Gate
from trainer.netcheck.findings import Expected
from trainer.netcheck.verdict import judge

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"),
        reason="network namespaces need root, ip and tc",
    ),
]


_LETTERS = iter("abcdefghijklmnopqrstuvwxyz")


class Network:
    """Nodes 10.87.0.1, .2, .3 behind a bridge that has no other way out."""

    def __init__(self, size: int) -> None:
        # The kernel takes its time to remove an interface: the next network must not meet the last
        # one's names.
        self.mark = f"pg{os.getpid() % 100000}{next(_LETTERS)}"
        self.names = [f"{self.mark}n{number}" for number in range(1, size + 1)]

    def make(self) -> None:
        self.ip("link", "add", self.mark, "type", "bridge")
        self.ip("link", "set", self.mark, "up")
        for number, name in enumerate(self.names, start=1):
            self.ip("netns", "add", name)
            self.ip(
                "link",
                "add",
                f"{self.mark}v{number}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                name,
            )
            self.ip("link", "set", f"{self.mark}v{number}", "master", self.mark, "up")
            self.ip("-n", name, "address", "add", f"10.87.0.{number}/24", "dev", "eth0")
            self.ip("-n", name, "link", "set", "eth0", "up")
            self.ip("-n", name, "link", "set", "lo", "up")

    def slow_down(self, number: int, rate: str) -> None:
        shaping = ("root", "tbf", "rate", rate, "burst", "16k", "latency", "100ms")
        self.run("tc", "qdisc", "add", "dev", f"{self.mark}v{number}", *shaping)
        self.run("tc", "-n", self.names[number - 1], "qdisc", "add", "dev", "eth0", *shaping)

    def cut(self, one: int, other: int) -> None:
        for here, there in ((one, other), (other, one)):
            self.ip("-n", self.names[here - 1], "route", "add", "blackhole", f"10.87.0.{there}/32")

    def remove(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False)
        subprocess.run(["ip", "link", "delete", self.mark], check=False)

    def gate(self, folder: Path) -> Gate:
        gate = Gate(folder, len(self.names))
        for rank, name in enumerate(self.names):
            gate.start(
                rank,
                "--join-seconds",
                "60",
                "--answer-seconds",
                "3",
                inside=("ip", "netns", "exec", name),
                variables={"MASTER_ADDR": "10.87.0.1", "GLOO_SOCKET_IFNAME": "eth0"},
            )
        return gate

    def ip(self, *words: str) -> None:
        self.run("ip", *words)

    def run(self, *words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, text=True)


@pytest.fixture
def network() -> Iterator[Network]:
    network = Network(3)
    try:
        network.make()
        yield network
    finally:
        network.remove()


def test_a_slow_node_is_measured_and_named(network: Network, tmp_path: Path) -> None:
    network.slow_down(3, "50mbit")
    gate = network.gate(tmp_path)
    assert [code for code, _, _ in gate.ended().values()] == [
        0,
        0,
        0,
    ]  # slow is for the verdict to say
    pairs = {(each["a"], each["b"]): each["gbps"] for each in gate.result()["pairs"]}
    # A rate limit lets a first burst pass, so a little more than 50 Mbit/s is measured.
    assert (
        pairs["node1", "node3"] < 0.1 and pairs["node2", "node3"] < 0.1 < pairs["node1", "node2"]
    ), pairs
    for expected in (Expected(None, None), Expected(1.0, None)):
        verdict = judge(gate.result(), expected)
        assert verdict.suspects == ("node3",), verdict


def test_a_link_that_is_cut_is_named_and_both_its_ends_answer_others(
    network: Network, tmp_path: Path
) -> None:
    network.cut(2, 3)
    gate = network.gate(tmp_path)
    ended = gate.ended()
    assert [code for code, _, _ in ended.values()] == [6, 6, 6], ended
    verdict = judge(gate.result(), Expected(None, None))
    assert len(verdict.lines) == 1, verdict
    assert verdict.lines[0].startswith("the link node2 - node3 is dead: "), verdict
    assert set(verdict.suspects) == {"node2", "node3"}
