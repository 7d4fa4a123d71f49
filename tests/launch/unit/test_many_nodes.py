"""A thousand nodes: what a launch and a status do for each does not grow with their number."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.run_view import all_runs
from tests.support.sshd import NodeSet
from trainer.netcheck.connectivity import ALL_LINKS_NODES, probed
from trainer.netcheck.findings import Expected
from trainer.netcheck.search import most_rounds, next_round
from trainer.netcheck.verdict import Verdict, judge

FEW, MANY = 200, 2000


def searched(count: int, slow: int) -> Verdict:
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for _ in range(most_rounds(count)):
        for a, b in next_round(range(count), found):
            gbps = 0.2 if slow in (a, b) else 10.0
            found[a, b] = {"gbps": gbps, "latency_us": 60.0, "bytes": 1 << 20}
    pairs = [{"a": f"node{a}", "b": f"node{b}", **each} for (a, b), each in found.items()]
    nodes = [f"node{number}" for number in range(count)]
    return judge({"nodes": nodes, "pairs": pairs, "backend": "gloo"}, Expected(None, None))


def cpu_of(count: int) -> float:
    began = time.process_time()
    assert searched(count, count // 3).culprits == (f"node{count // 3}",)
    return time.process_time() - began


def test_the_search_for_a_slow_node_does_not_grow_with_the_square() -> None:
    few, many = (min(cpu_of(count) for _ in range(3)) for count in (FEW, MANY))
    assert many < 3 * few * MANY / FEW  # ten times the nodes; it was 100 times the work


@pytest.mark.parametrize("count", [2, 3, ALL_LINKS_NODES, ALL_LINKS_NODES + 1, 1000])
def test_every_node_is_probed_by_as_many_as_it_probes(count: int) -> None:
    ranks = [8 * number for number in range(count)]  # the first of each node's ranks
    links = [(rank, other) for rank in ranks for other in probed(rank, ranks)]
    each = count - 1 if count <= ALL_LINKS_NODES else (count - 1).bit_length()
    assert len(set(links)) == len(links) == each * count
    assert all(sum(end == rank for _, end in links) == each for rank in ranks[:3])
    assert all(rank != other for rank, other in links)


def test_a_dead_node_of_a_thousand_is_named_by_those_that_probe_it() -> None:
    ranks, dead = list(range(1000)), 333
    pairs = {
        tuple(sorted((rank, other)))
        for rank in ranks
        for other in probed(rank, ranks)
        if dead in (rank, other)
    }
    told = [{"a": f"node{a}", "b": f"node{b}", "error": "no answer"} for a, b in sorted(pairs)]
    told.append({"a": "node1", "b": "node2", "gbps": 10.0, "latency_us": 60.0, "bytes": 1 << 20})
    answering = {end for pair in told for end in (pair["a"], pair["b"])} - {f"node{dead}"}
    told += [
        {"a": "node0", "b": name, "gbps": 10.0, "latency_us": 60.0, "bytes": 1 << 20}
        for name in sorted(answering)
    ]
    result = {"nodes": [f"node{rank}" for rank in ranks], "pairs": told, "backend": "gloo"}
    verdict = judge(result, Expected(None, None))
    assert verdict.culprits == (f"node{dead}",) and not verdict.links


def test_only_the_first_nodes_send_all_of_a_job_and_another_does_when_they_are_silent(
    tmp_path: Path, make_nodes: Callable[[int], NodeSet]
) -> None:
    nodes = make_nodes(5)
    names = [node.name for node in nodes]
    job = {"name": "many", "created": 7.0, "nodes": [{"host": name} for name in names]}
    for node in nodes:
        own = node.scratch / "runs" / "many" / "nodes" / node.name
        own.mkdir(parents=True)
        (own / "supervisor.json").write_text(json.dumps({"state": "finished"}))
        (own.parents[1] / "run.json").write_text(json.dumps(job))
    inventory = nodes.inventory(tmp_path, train_root="{{ scratch }}")
    with open_fleet(Options(inventory=(str(inventory),))) as fleet:
        whole = [host for host in names if "nodes" in _job_of(fleet, nodes, host)]
        assert whole == names[:3]
        (run,), silent = all_runs(fleet, names)
        assert (run.job, list(run.supervisors), silent) == (job, names, {})

        (run,), _ = all_runs(fleet, names[3:], "many")
        assert run.job == job and run.hosts == names and run.state == "finished"


def _job_of(fleet: Fleet, nodes: NodeSet, host: str) -> dict[str, Any]:
    asked = {"root": str(nodes[host].scratch), "host": host}
    (run,) = fleet.ask([host], "train.status", lambda _: asked)[host]["runs"]
    job: dict[str, Any] = run["job"]
    return job
