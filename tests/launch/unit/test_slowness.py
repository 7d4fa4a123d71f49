"""Runs that are slower than they could be, and what slows them."""

from __future__ import annotations

from tests.support.launch.diagnosis import a_node, a_rank, first, metrics, running

# --- slow


def test_steps_that_wait_for_data() -> None:
    assert (
        first(running(metrics=metrics(waited=0.3))).title
        == "its steps wait for data: 60 % of the time"
    )


def test_a_crowded_node_names_who_takes_its_cores() -> None:
    crowd = a_node(a_rank(1), load=30.0, strangers=[{"pid": 7, "name": "stress", "cores": 6.0}])
    found = first(running(nodes={"node1": a_node(a_rank(0)), "node2": crowd}))
    assert found.title == "more wants to run on node2 than there are cores"
    assert found.evidence == ("node2: load 30.0 on 8 cores", "stress (pid 7) takes 6.0 cores")


def test_swapping_is_told() -> None:
    swapping = a_node(a_rank(1), use={"busy": 0.2, "stolen": 0.0, "swapped": 900.0})
    assert (
        first(running(nodes={"node1": a_node(a_rank(0)), "node2": swapping})).title
        == "node2 is swapping"
    )


def test_one_slow_node_is_the_one_that_computes() -> None:
    found = first(
        running(
            nodes={"node1": a_node(a_rank(0, cores=0.3)), "node2": a_node(a_rank(1, cores=0.95))}
        )
    )
    assert found.title == "rank 1 on node2 computes while the others wait for it: node2 is slower"


def test_steps_that_became_slower() -> None:
    slowed = metrics(40, seconds=0.5)
    slowed[-10:] = [{**each, "step_seconds": 1.5} for each in slowed[-10:]]
    assert first(running(metrics=slowed)).title == "its steps take 3.0 times as long as before"


def test_a_slow_link_found_by_the_gate_is_remembered() -> None:
    line = "the link node1 - node2 is slow: 0.10 Gbit/s measured, expected 10.0 Gbit/s"
    assert first(running(network=(line,))).evidence == (line,)


def test_an_elastic_run_that_lost_a_node_says_so() -> None:
    found = first(running(supervisors={"node1": {"state": "running", "lost": ["node2"]}}))
    assert found.title == "it goes on without node2"
