"""What preflight finds out: the ports of a run on its first node, and clocks that differ."""

from __future__ import annotations

import sys

from playrunner.training.ssh.job import Job, NodeSlot, new_run_id
from playrunner.training.ssh.nodes.preflight import (
    PORT_STEP,
    PORT_TRIES,
    candidate_ports,
    skew,
    with_free_ports,
)
from trainer.profile import read_profile


def a_job(run_id: str) -> Job:
    node = NodeSlot("node1", "127.0.0.1", 1, "/srv/train", sys.executable)
    profile = read_profile("gpt2-micro-smoke", ())
    return Job("run", run_id, "gpt2-micro-smoke", profile, "direct", (node,))


def test_launches_at_the_same_moment_choose_different_ports() -> None:
    chosen = [
        with_free_ports(a_job(new_run_id("run")), {"node1": {}}).port for _ in range(PORT_TRIES)
    ]
    assert len(set(chosen)) > PORT_TRIES / 3
    assert set(chosen) <= set(candidate_ports())


def test_whatever_the_first_choice_the_only_free_ports_are_found() -> None:
    free = 29730
    busy = [port for port in candidate_ports() if not free <= port < free + PORT_STEP]
    for number in range(PORT_TRIES):
        job = with_free_ports(a_job(f"run-{number}"), {"node1": {"busy_ports": busy}})
        assert (job.port, job.link_port, job.gate_port) == (free, free + 1, free + 2)


def test_an_answer_that_takes_long_is_no_clock_that_differs() -> None:
    assert skew({"time": 1001.0}, began=1000.0, ended=1060.0) == 0.0, "torch was imported after it"
    assert skew({"time": 1200.0}, began=1000.0, ended=1060.0) == 140.0
    assert skew({"time": 900.0}, began=1000.0, ended=1060.0) == 100.0
    assert skew({"unreachable": True}, began=1000.0, ended=1060.0) == 0.0
