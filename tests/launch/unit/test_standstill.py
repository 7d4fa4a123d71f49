"""Runs that stand still: which rank the others wait for."""

from __future__ import annotations

from typing import Any

from playrunner.training.diagnosis.causes import Facts
from playrunner.training.diagnosis.evidence import Rank
from playrunner.training.diagnosis.standstill import behind, waits
from tests.support.launch.diagnosis import (
    NOW,
    a_job,
    a_node,
    a_rank,
    failed,
    first,
    metrics,
    running,
)

IN_A_COLLECTIVE = [
    "all_reduce (torch/distributed/distributed_c10d.py:2801)",
    "total (trainer/distributed/process_group.py:43)",
    "go_on (trainer/loop/loop.py:66)",
]


IN_THE_DATA = [
    "read (trainer/data/stream.py:80)",
    "__next__ (trainer/data/loader.py:51)",
    "go_on (trainer/loop/loop.py:63)",
]


IN_BACKWARD = [
    "_engine_run_backward (torch/autograd/graph.py:824)",
    "backward (torch/_tensor.py:581)",
    "step (trainer/strategies/ddp.py:30)",
]


# --- collectives


def test_the_rank_that_never_entered_a_collective_is_named() -> None:
    line = (
        "[{0}] [rank{0}]:[E ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective"
        " operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600046 milliseconds"
        " before timing out."
    )
    status = (
        "[{0}] [Rank {0}] failure detected by watchdog at work sequence id: 7 PG status: last"
        " enqueued work: {1}, last completed work: 6"
    )
    said = tuple(text.format(rank, 7) for rank in (0, 1, 3) for text in (line, status))
    found = first(failed("rank 0 was ended by SIGABRT", -6, said, job=a_job(4)))
    assert found.title == "a collective timed out: rank 2 never entered it"
    assert "--rank 2" in found.next_command


def test_the_rank_that_is_a_collective_behind_is_named() -> None:
    status = (
        "[{0}] [Rank {0}] Timeout at NCCL work: 7, last enqueued NCCL work: {1}, last completed"
        " NCCL work: 6."
    )
    entered = (7, 6, 7)
    said = (
        "[0] Watchdog caught collective operation timeout",
        *(status.format(*each) for each in enumerate(entered)),
    )
    assert (
        first(failed(code=-6, tail=said, job=a_job(3))).title
        == "a collective timed out: rank 1 never entered it"
    )


def test_gloo_names_who_failed_its_barrier() -> None:
    line = "[0] RuntimeError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 30000 ms"
    assert (
        first(failed(tail=(line,), job=a_job(4))).title
        == "a collective timed out: rank 1, rank 3 never entered it"
    )


def test_a_gloo_timeout_without_names_is_still_told() -> None:
    line = (
        "[1] RuntimeError: [gloo/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv"
        " operation to complete"
    )
    assert first(failed(tail=(line,))).title == "a collective timed out: one rank did not take part"


# --- standing still


def hanging(*processes: dict[str, Any], **parts: Any) -> Facts:
    nodes = {f"node{number + 1}": a_node(each) for number, each in enumerate(processes)}
    return running(job=a_job(len(processes)), nodes=nodes, metrics=metrics(last=NOW - 300), **parts)


def test_the_rank_whose_stack_is_not_in_a_collective_is_behind() -> None:
    stacks = [IN_A_COLLECTIVE, IN_A_COLLECTIVE, IN_THE_DATA, IN_A_COLLECTIVE]
    found = first(
        hanging(*(a_rank(number, cores=0.0, stack=stack) for number, stack in enumerate(stacks)))
    )
    assert (
        found.title
        == "it hangs: the others wait for rank 2 on node3 at read (trainer/data/stream.py:80)"
    )
    assert "no step for 300 s (usually one line every 0.5 s)" in found.evidence[0]
    assert "--rank 2" in found.next_command


def stood(
    number: int, step: int, phase: str = "count", collective: str = "", opened: int = 0
) -> dict[str, Any]:
    """A rank that has said where it stands and does not get on."""
    held = [{"name": "all_reduce", "number": opened, "group": "default_pg"}] if opened else []
    said = {"step": step, "phase": phase, "collective": collective, "seconds": 120.0, "open": held}
    return a_rank(number, cores=0.0, pulse=said)


def test_the_rank_that_says_it_is_a_step_behind_is_named() -> None:
    ranks = [
        stood(0, 42, "count", "all_reduce"),
        stood(1, 42, "count", "all_reduce"),
        stood(2, 41, "log", "all_reduce"),
    ]
    found = first(hanging(*ranks))
    assert (
        found.title
        == "it hangs: the others wait for rank 2 on node3, which stands at step 41 (log)"
    )
    assert (
        "rank 2 on node3: stands at step 41, in all_reduce (log) for 120 s; the others are at"
        " step 42" in found.evidence
    )


def test_at_the_same_step_the_rank_that_is_in_no_collective_is_named() -> None:
    ranks = [
        stood(0, 42, "backward", opened=301),
        stood(1, 42, "forward"),
        stood(2, 42, "backward", opened=301),
    ]
    found = first(hanging(*ranks))
    assert (
        found.title
        == "it hangs: the others wait for rank 1 on node2, which stands at step 42 (forward)"
    )
    assert (
        found.evidence[1]
        == "rank 1 on node2: stands at step 42, at forward for 120 s; the others are in all_reduce"
        " #301"
    )


def test_a_backward_that_does_not_compute_waits() -> None:
    assert waits(Rank(0, "node1", a_rank(0, cores=0.0, stack=IN_BACKWARD))) is True
    assert waits(Rank(0, "node1", a_rank(0, cores=0.9, stack=IN_BACKWARD))) is False
    assert waits(Rank(0, "node1", a_rank(0))) is None


def test_a_rank_that_reads_data_inside_fsdp_does_not_wait_while_it_computes() -> None:
    stack = [
        "unpack (trainer/data/tokens.py:9)",
        "forward (torch/distributed/fsdp/_fully_shard/_fsdp_state.py:200)",
    ]
    assert waits(Rank(0, "node1", a_rank(0, cores=0.9, stack=stack))) is False
    assert waits(Rank(0, "node1", a_rank(0, cores=0.0, stack=[*IN_A_COLLECTIVE, *stack]))) is True


def test_a_suspended_rank_is_named_with_the_way_out() -> None:
    found = first(hanging(a_rank(0, cores=0.0), a_rank(1, state="T", cores=0.0)))
    assert found.title == "rank 1 on node2 is suspended (SIGSTOP, or a debugger holds it)"
    assert found.next_command == "kill -CONT 101 on node2"


def test_without_stacks_the_one_that_computes_is_behind_and_with_nccl_the_one_that_sleeps() -> None:
    def ranks(*cores: float) -> list[Rank]:
        return [
            Rank(number, f"node{number + 1}", a_rank(number, cores=used))
            for number, used in enumerate(cores)
        ]

    assert [rank.number for rank in behind(ranks(0.0, 1.0, 0.0))[0]] == [1]
    assert [rank.number for rank in behind(ranks(1.0, 1.0, 0.0))[0]] == [2]
    assert behind(ranks(0.0, 0.0))[0] == []
    stuck = [*ranks(0.0), Rank(1, "node2", a_rank(1, state="D", cores=0.0))]
    assert [rank.number for rank in behind(stuck)[0]] == [1]


def test_when_all_sleep_and_no_stack_is_known_py_spy_is_named() -> None:
    found = first(hanging(a_rank(0, cores=0.0), a_rank(1, cores=0.0)))
    assert found.title == "it hangs: no step for 300 s and every process sleeps"
    assert "py-spy" in found.evidence[-1]


def test_a_long_silence_of_processes_that_compute_is_doubtful() -> None:
    found = first(hanging(a_rank(0), a_rank(1)))
    assert "though its processes compute" in found.title
    assert found.score < 60


def test_a_slow_step_is_waited_for_ten_times() -> None:
    slow = metrics(seconds=20.0, last=NOW - 150)
    assert first(running(metrics=slow)).score == 0
    assert (
        "it hangs"
        in first(
            running(
                metrics=metrics(seconds=20.0, last=NOW - 201),
                nodes={
                    "node1": a_node(a_rank(0, cores=0.0)),
                    "node2": a_node(a_rank(1, cores=0.0)),
                },
            )
        ).title
    )


def test_a_link_that_nobody_acknowledges_is_cut() -> None:
    found = first(
        hanging(a_rank(0, cores=0.0, unanswered=["10.0.0.2:41000"]), a_rank(1, cores=0.0))
    )
    assert found.title == "the link from node1 to 10.0.0.2:41000 is cut"


def test_a_call_without_an_answer_points_to_the_firewall() -> None:
    nodes = {"node1": a_node(a_rank(0)), "node2": a_node(a_rank(1, connecting=["10.0.0.1:29500"]))}
    found = first(running(metrics=[], nodes=nodes))
    assert found.title == "rank 1 on node2 gets no answer from 10.0.0.1:29500"
    assert "security group" in found.next_command and "GLOO_SOCKET_IFNAME" in found.next_command


def test_a_run_that_just_began_is_starting() -> None:
    assert (
        first(running(job=a_job(created=NOW - 5), metrics=[])).title
        == "it is starting (5 s so far)"
    )


def test_a_missing_process_is_named_once_there_was_time_for_it() -> None:
    nodes = {"node1": a_node(a_rank(0)), "node2": a_node()}
    assert (
        first(running(metrics=[], nodes=nodes)).title
        == "no process for rank 1 on node2: the others wait for it"
    )
    assert "starting" in first(running(job=a_job(created=NOW - 5), metrics=[], nodes=nodes)).title


def test_a_network_check_that_goes_on_is_told() -> None:
    nodes = {"node1": a_node(a_rank(0)), "node2": a_node(a_rank(1))}
    found = first(running(job=a_job(gate=True), metrics=[], nodes=nodes))
    assert found.title == "the ranks still prove their network (600 s so far)"
