"""The gate between real processes on loopback: what it measures, and whom it names when somebody
does not answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.support.trainer.launching import ROOT
from tests.support.trainer.netcheck import Gate
from trainer.netcheck.gate import main
from trainer.netcheck.pairing import better, bus_gbps, repeat_rounds, rounds, silent

JOIN_SECONDS = "60"  # a busy two-core machine imports for half a minute

# A rank that comes, does its part of so many tasks, and is gone in the middle of the next.
DIES = """
import os, signal, sys
from trainer.netcheck.rendezvous import Rendezvous
from trainer.netcheck.process_rank import process_rank_from
from trainer.netcheck.measure import Traffic

process = process_rank_from(os.environ)
rendezvous = Rendezvous(process, 60)
rendezvous.answer("join", {"node": process.node, "device": False})
print("joined", flush=True)
for step in range(int(sys.argv[1])):
    task = rendezvous.next_task(step, 60)
    traffic = Traffic(rendezvous.connect, process.rank, process.size, task["backend"], 0, 5)
    rendezvous.answer(step, traffic.all_reduce(f"group/{step}", task["sizes"], task["seconds"]))
rendezvous.next_task(int(sys.argv[1]), 60)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.processes
@pytest.mark.parametrize("size", [2, 3])
def test_healthy_ranks_pass_and_every_pair_is_measured(tmp_path: Path, size: int) -> None:
    gate = Gate(tmp_path, size)
    for rank in range(size):
        gate.start(rank, "--join-seconds", JOIN_SECONDS)
    ended = gate.ended()
    assert [ended[rank][0] for rank in range(size)] == [0] * size, ended
    result = gate.result()
    assert ended[0][1] == f"GATE {json.dumps(result)}\n"
    assert all(not out and not err for _, out, err in list(ended.values())[1:]), ended
    nodes = [f"node{number}" for number in range(1, size + 1)]
    assert (result["world_size"], result["backend"], result["nodes"], result["missing"]) == (
        size,
        "gloo",
        nodes,
        [],
    )
    assert [(each["bytes"], each["wrong"]) for each in result["all_reduce"]] == [
        (4096, 0),
        (1048576, 0),
    ]
    assert all(each["seconds"] > 0 and each["bus_gbps"] > 0 for each in result["all_reduce"])
    assert [(each["a"], each["b"]) for each in result["pairs"]] == list(combinations(nodes, 2))
    assert all(each["latency_us"] > 0 and each["gbps"] > 0 for each in result["pairs"])
    assert [each.name for each in tmp_path.iterdir()] == ["gate.json"]


@pytest.mark.processes
def test_a_rank_that_never_comes_is_named(tmp_path: Path) -> None:
    gate = Gate(tmp_path, 3)
    for rank in (0, 1):
        gate.start(rank, "--join-seconds", "10")
    ended = gate.ended()
    assert [ended[rank][0] for rank in (0, 1)] == [6, 6], ended
    assert gate.result()["missing"] == [{"rank": 2, "node": "node3", "when": "joining"}]
    assert gate.result()["nodes"] == ["node1", "node2", "node3"]
    assert not any("Traceback" in err for _, _, err in ended.values()), ended


@pytest.mark.processes
@pytest.mark.parametrize(("tasks_done", "when"), [("0", "all-reduce"), ("1", "pairs")])
def test_a_rank_killed_in_the_middle_is_named(tmp_path: Path, tasks_done: str, when: str) -> None:
    gate = Gate(tmp_path, 3)
    for rank in (0, 2):
        gate.start(rank, "--join-seconds", JOIN_SECONDS, "--answer-seconds", "3")
    gate.start(1, program=("-c", DIES, tasks_done))
    ended = gate.ended()
    assert (ended[0][0], ended[1][0], ended[2][0]) == (6, -9, 6), ended
    result = gate.result()
    assert result["missing"] == [{"rank": 1, "node": "node2", "when": when}]
    failed = {(each["a"], each["b"]): "error" in each for each in result["pairs"]}
    assert failed == {("node1", "node2"): True, ("node1", "node3"): False, ("node2", "node3"): True}
    assert not any("Traceback" in err for _, _, err in ended.values()), ended


@pytest.mark.processes
def test_a_rank_without_a_master_names_it_in_a_result_of_its_own(tmp_path: Path) -> None:
    gate = Gate(tmp_path, 2)
    gate.start(1, "--join-seconds", "2")
    code, out, err = gate.ended()[1]
    assert code == 6, err
    result = json.loads((tmp_path / "gate.rank1.json").read_text())
    assert result["missing"] == [{"rank": 0, "node": "node1", "when": "joining"}]
    assert (
        result["problem"]
        == f"node2 (rank 1) cannot reach the master node1 at 127.0.0.1:{gate.port} within 2 s"
    )
    assert out == f"GATE {json.dumps(result)}\n"
    assert err == f"gate: network check failed: {result['problem']}\n"
    assert not gate.output.exists()


@pytest.mark.processes
def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    gate = Gate(tmp_path, 2)
    with socket.create_server(("0.0.0.0", gate.port)):
        gate.start(0, "--join-seconds", "2")
        code, _, err = gate.ended()[0]
    assert code == 6, err
    assert f"rank 0 on node1 cannot listen at 127.0.0.1:{gate.port}" in gate.result()["problem"]
    assert len(err.splitlines()) == 1, err


@pytest.mark.processes
def test_a_rank_of_another_run_at_the_same_port_disturbs_nobody(tmp_path: Path) -> None:
    """Two launches at the same moment may choose the same port; the processes of the one that could
    not listen there must not count as the other's."""
    gate = Gate(tmp_path, 2)
    gate.start(0, "--join-seconds", JOIN_SECONDS, variables={"TRAINER_RUN_TOKEN": "ours"})
    stranger = Gate(tmp_path / "theirs", 2)
    stranger.port = gate.port
    stranger.start(1, program=("-c", DIES, "0"), variables={"TRAINER_RUN_TOKEN": "theirs"})
    try:
        assert (stranger.started[1].stdout or sys.stdin).readline() == "joined\n"
        gate.start(1, "--join-seconds", JOIN_SECONDS, variables={"TRAINER_RUN_TOKEN": "ours"})
        ended = gate.ended()
    finally:
        stranger.started[1].kill()
        stranger.started[1].communicate()
    assert [code for code, _, _ in ended.values()] == [0, 0], ended
    assert gate.result()["missing"] == []


def test_without_torch_one_line_says_so(tmp_path: Path) -> None:
    hidden = (
        "import sys; sys.modules['torch'] = None; sys.argv[0] = 'gate'; from trainer.netcheck.gate"
        " import main; sys.exit(main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", hidden, "--output", str(tmp_path / "gate.json")],
        cwd=ROOT,
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert ended.returncode == 5
    assert "cannot import torch" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"WORLD_SIZE": "2", "RANK": "2"}, "RANK is 2 but WORLD_SIZE is 2"),
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE is 'two', not a number"),
        ({"WORLD_SIZE": "2", "RANK": "1"}, "MASTER_ADDR is not set"),
        ({"WORLD_SIZE": "1", "GATE_NODES": "a,b"}, "GATE_NODES names 2 nodes but WORLD_SIZE is 1"),
    ],
)
def test_a_seat_that_cannot_be_is_refused(
    tmp_path: Path,
    variables: dict[str, str],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GATE_NODES", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["--output", str(tmp_path / "gate.json")]) == 5
    assert complaint in capsys.readouterr().err


def test_sizes_that_are_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--output", str(tmp_path / "gate.json"), "--sizes", "4096,big"]) == 5
    assert "--sizes 4096,big" in capsys.readouterr().err


@pytest.mark.parametrize("count", range(1, 18))
def test_each_pair_meets_once_in_rounds_of_disjoint_pairs(count: int) -> None:
    ranks = [7 * rank for rank in range(count)]
    planned = list(rounds(ranks))
    assert sorted(pair for pairs in planned for pair in pairs) == sorted(combinations(ranks, 2))
    assert len(planned) == (0 if count == 1 else count - 1 if count % 2 == 0 else count)
    for pairs in planned:
        speaking = [rank for pair in pairs for rank in pair]
        assert len(speaking) == len(set(speaking))


def figures(gbps: float, latency_us: float = 50.0) -> dict[str, Any]:
    return {"gbps": gbps, "latency_us": latency_us, "bytes": 1048576}


def test_what_stands_out_is_looked_at_again_one_node_at_a_time() -> None:
    measured = {pair: figures(1.0 if 2 in pair else 10.0) for pair in combinations(range(6), 2)}
    again = repeat_rounds(measured)
    assert sorted(pair for pairs in again for pair in pairs) == sorted(
        pair for pair in measured if 2 in pair
    )
    assert all(len(pairs) == 1 for pairs in again)
    assert repeat_rounds({pair: figures(10.0) for pair in measured}) == []


def test_of_two_looks_the_better_figures_count() -> None:
    assert better(figures(1.0, 50.0), figures(9.0, 80.0)) == figures(9.0, 50.0)
    assert better(figures(1.0), {"error": "no answer"}) == figures(1.0)


def test_a_rank_that_failed_twice_and_never_spoke_is_not_tried_again() -> None:
    dead = {"error": "no answer"}
    assert silent({(0, 1): dead, (2, 3): figures(1.0)}) == set()
    assert silent({(0, 1): dead, (2, 3): figures(1.0), (0, 2): dead, (1, 3): figures(1.0)}) == {0}
    assert silent({(0, 1): dead, (1, 2): dead | {"tried": False}}) == set()


def test_bus_bandwidth_counts_what_each_link_carries() -> None:
    assert bus_gbps(1_000_000_000, 8.0, 2) == pytest.approx(1.0)
    assert bus_gbps(1_000_000_000, 8.0, 4) == pytest.approx(1.5)
    assert bus_gbps(4096, 1.0, 1) == 0
