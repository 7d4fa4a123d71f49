"""A gate's result as whoever follows a run on a cluster reads it in rank 0's log."""

from __future__ import annotations

import json
from typing import Any

from playrunner.training.kube.network.gate_result import gate_in, named
from trainer.netcheck.findings import Expected
from trainer.netcheck.verdict import judge


def result_of(**more: Any) -> dict[str, Any]:
    pairs = [{"a": "node1", "b": "node2", "latency_us": 60.0, "gbps": 9.0, "bytes": 2**20}]
    return {
        "world_size": 3,
        "backend": "gloo",
        "nodes": ["node1", "node2", "rank 2"],
        "all_reduce": [],
        "pairs": pairs,
        "missing": [{"rank": 2, "node": "rank 2", "when": "joining"}],
        "problem": None,
        "seconds": 1.0,
        **more,
    }


def test_a_result_is_read_whole_also_where_torchrun_puts_its_prefix_into_it() -> None:
    text = f"GATE {json.dumps(result_of())}"
    assert gate_in(f"[0] {text}") == result_of()
    for cut in range(10, len(text), 17):
        assert gate_in(f"[0] {text[:cut]}[0] {text[cut:]}[0] ") == result_of()
    assert gate_in("[0] step 1/3  loss 6.2") is None and gate_in("pod: waiting") is None


def test_a_rank_that_never_came_is_named_by_the_node_of_its_pod() -> None:
    told = named(result_of(), {0: "node1", 1: "node2", 2: "node3"})
    assert told["nodes"] == ["node1", "node2", "node3"]
    assert judge(told, Expected()).culprits == ("node3",)
    assert judge(named(result_of(), {}), Expected()).culprits == ("rank 2",)
