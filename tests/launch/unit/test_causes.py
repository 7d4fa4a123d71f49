"""What is known of a run, and what is taken to be behind it."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.training.diagnosis.causes import Cause, Facts, causes
from playrunner.training.diagnosis.evidence import Rank
from playrunner.training.diagnosis.standstill import behind, waits

NOW = 1_000_000.0
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


def a_job(count: int = 2, **parts: Any) -> dict[str, Any]:
    nodes = [
        {
            "host": f"node{number + 1}",
            "root": "/shared",
            "python": "/opt/python",
            "first_rank": number,
            "slots": 1,
        }
        for number in range(count)
    ]
    return {
        "name": "micro",
        "nodes": nodes,
        "world_size": count,
        "created": NOW - 600,
        "steps": 1000,
        "profile": "gpt2-micro",
        **parts,
    }


def a_rank(number: int, **parts: Any) -> dict[str, Any]:
    return {
        "pid": 100 + number,
        "rank": number,
        "state": "S",
        "cores": 0.9,
        "threads": 9,
        "rss_mib": 500,
        "sockets": 6,
        **parts,
    }


def a_node(*processes: dict[str, Any], log: tuple[str, ...] = (), **parts: Any) -> dict[str, Any]:
    """A healthy node with these processes."""
    return {
        "processes": list(processes),
        "time": NOW,
        "uptime": 9000.0,
        "boot": "b1",
        "cores": 8,
        "load": 1.0,
        "log": list(log),
        "memory": {"total_mib": 32000, "available_mib": 20000},
        "spy": "",
        "strangers": [],
        "disk": {"path": "/shared", "free_mib": 50000, "free_files": 1000},
        "use": {"busy": 0.2, "stolen": 0.0, "swapped": 0.0},
        "kernel": {"lines": [], "unread": ""},
        "gate": {},
        "let_go": False,
        **parts,
    }


def metrics(
    count: int = 40, *, last: float = NOW - 0.5, seconds: float = 0.5, waited: float = 0.01
) -> list[dict[str, Any]]:
    return [
        {
            "step": number + 1,
            "loss": 3.0,
            "step_seconds": seconds,
            "data_wait_seconds": waited,
            "time": last - seconds * (count - 1 - number),
        }
        for number in range(count)
    ]


def running(**parts: Any) -> Facts:
    given: dict[str, Any] = {
        "job": a_job(),
        "metrics": metrics(),
        "keepers": {"node1": {"state": "running"}, "node2": {"state": "running"}},
        "nodes": {"node1": a_node(a_rank(0)), "node2": a_node(a_rank(1))},
        **parts,
    }
    return Facts("micro", "running", now=NOW, **given)


def failed(
    what: str = "rank 1 ended with code 1", code: int = 1, tail: tuple[str, ...] = (), **parts: Any
) -> Facts:
    """A run that node2 ended, with its last words."""
    cause = {"node": "node2", "what": what, "time": NOW, "code": code, "tail": list(tail)}
    given: dict[str, Any] = {
        "job": a_job(),
        "metrics": metrics(),
        "nodes": {"node1": a_node(), "node2": a_node()},
        "keepers": {
            "node1": {"state": "failed", "cause": cause},
            "node2": {"state": "failed", "cause": cause},
        },
        **parts,
    }
    return Facts("micro", "failed", now=NOW, **given)


def first(facts: Facts) -> Cause:
    found = causes(facts)
    assert found == sorted(found, key=lambda cause: -cause.score)
    return found[0]


def test_a_run_that_gets_on_has_nothing_wrong() -> None:
    found = causes(running())
    assert [cause.title for cause in found] == ["nothing is wrong: it gets on as usual"]
    assert "last step 40" in found[0].evidence[0]


def test_a_finished_run_has_nothing_wrong() -> None:
    facts = Facts(
        "micro",
        "finished",
        a_job(),
        NOW,
        {"node1": {"state": "finished"}},
        {"node1": a_node()},
        metrics=metrics(),
    )
    assert first(facts).title == "nothing is wrong: it finished at step 40"


@pytest.mark.parametrize(
    ("line", "title", "remedy"),
    [
        (
            "[1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
            "the GPU's memory is too small",
            "device_batch_size",
        ),
        (
            "[1] OSError: [Errno 28] No space left on device",
            "the disk of node2 is full",
            "free space under /shared on node2",
        ),
        (
            (
                "[1] RuntimeError: The server socket has failed to listen on any local network"
                " address. port: 29500, code: -98, name: EADDRINUSE, message: address already"
                " in use"
            ),
            "a port is taken on node2",
            "train.resume",
        ),
        (
            "[1] ModuleNotFoundError: No module named 'h5py'",
            "node2 has no Python package h5py",
            "/opt/python -m pip install h5py",
        ),
        (
            "[1] OSError: We couldn't connect to 'https://huggingface.co' to load the files",
            "cannot download from Hugging Face",
            "HF_HOME",
        ),
        (
            "[1] huggingface_hub.errors.GatedRepoError: 401 Client Error.",
            "Hugging Face refuses",
            "HF_TOKEN",
        ),
        (
            "[1] PermissionError: [Errno 13] Permission denied: '/data/train.bin'",
            "node2 may not use /data/train.bin",
            "ls -ld /data/train.bin",
        ),
        (
            "[1] RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.",
            "the shared memory of node2 is full",
            "/dev/shm",
        ),
        (
            "[1] OSError: [Errno 24] Too many open files",
            "node2 allows too few open files",
            "ulimit",
        ),
        (
            (
                "[1] RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't"
                " allocate memory"
            ),
            "node2 is out of memory",
            "device_batch_size",
        ),
        (
            (
                "[1] torch.distributed.DistNetworkError: The client socket has timed out after"
                " 60000ms while trying to connect to (10.0.0.1, 29500)."
            ),
            "the nodes do not reach one another",
            "train.bench",
        ),
        (
            (
                "[1] torch.distributed.DistStoreError: Timed out after 61 seconds waiting for"
                " clients. 1/2 clients joined."
            ),
            "not all processes came to the meeting place",
            "train.bench",
        ),
        (
            "[1] RuntimeError: CUDA error: device-side assert triggered",
            "a GPU of node2 failed",
            "nvidia-smi",
        ),
        (
            "[1] RuntimeError: Error(s) in loading state_dict for GPT:",
            "the checkpoint is of another model",
            "--name",
        ),
    ],
)
def test_what_programs_print_is_known(line: str, title: str, remedy: str) -> None:
    """Beside the echo that every other rank prints when one ends."""
    echo = (
        "[0] RuntimeError: [../gloo/transport/tcp/pair.cc:553] Connection closed by peer"
        " [127.0.0.3]:40982"
    )
    nodes = {"node1": a_node(log=(echo,)), "node2": a_node()}
    found = first(failed(tail=("[1] Traceback (most recent call last):", line), nodes=nodes))
    assert title in found.title
    assert remedy in found.next_command
    assert line[:60] in found.evidence[0]


def test_an_unknown_exception_is_shown_as_it_is() -> None:
    found = first(
        failed(
            tail=(
                "[1] Traceback (most recent call last):",
                "[1] ZeroDivisionError: division by zero",
            )
        )
    )
    assert found.title == "an exception on node2: ZeroDivisionError"
    assert found.next_command == "invoke train.logs --name micro --rank 1 --tail 100"


def test_an_end_that_nothing_explains_shows_the_last_words() -> None:
    found = first(failed(tail=("[1] goodbye",)))
    assert found.title == "it is failed, and nothing that is known explains it"
    assert found.evidence == ("node2: rank 1 ended with code 1", "node2: [1] goodbye")


def test_a_complaint_that_a_run_survived_is_no_alarm() -> None:
    nodes = {
        "node1": a_node(a_rank(0), log=("[0] W socket.cpp: Connection refused, retrying",)),
        "node2": a_node(a_rank(1)),
    }
    assert first(running(nodes=nodes)).score < 50


def test_a_killed_process_is_out_of_memory_only_when_the_kernel_says_so() -> None:
    killed = "rank 1 was ended by SIGKILL (killed from outside)"
    by_hand = first(failed(killed, -9))
    assert "killed from outside" in by_hand.title
    assert "the kernel's log names no lack of memory" in by_hand.evidence[-1]
    oom = "[ 123.4] Out of memory: Killed process 101 (python) total-vm:9kB"
    by_kernel = first(
        failed(killed, -9, nodes={"node2": a_node(kernel={"lines": [oom], "unread": ""})})
    )
    assert by_kernel.title == "node2 ran out of memory and its kernel killed the process"
    assert by_kernel.score > by_hand.score


@pytest.mark.parametrize(
    ("what", "code", "tail"),
    [
        ("ranks 0-1 ended with code 247", 247, ()),
        ("the launcher ended with code 1", 1, ("[node]   exitcode  : -9 (pid: 4711)",)),
        ("rank 1 ended with code 137", 137, ()),
    ],
)
def test_a_kill_is_seen_through_every_launcher(what: str, code: int, tail: tuple[str, ...]) -> None:
    assert "was killed from outside" in first(failed(what, code, tail)).title


def test_a_loss_that_is_no_number_is_told_before_anything_else() -> None:
    line = "[1] trainer: step 7: the loss is nan on rank 1; its micro-batch 3 begins with sample 12"
    found = first(failed("rank 1 ended with code 6", 6, (line,)))
    assert found.title == "the loss is no longer a number"
    assert line in found.evidence[0]


@pytest.mark.parametrize(
    ("what", "code", "tail"),
    [
        ("rank 1 ended with code 5", 5, ()),
        ("the launcher ended with code 1", 1, ("[node]   exitcode  : 5 (pid: 4711)",)),
    ],
)
def test_refused_input_is_told_in_the_trainers_words(
    what: str, code: int, tail: tuple[str, ...]
) -> None:
    found = first(failed(what, code, ("[1] trainer: data.path /x: there is no such file", *tail)))
    assert found.title == "the trainer refused what it was given"
    assert "data.path /x" in found.evidence[0]


def test_a_lease_that_ran_out_names_detach() -> None:
    found = first(failed("the controller has not been heard from for 15 s", 0))
    assert found.title.startswith("its lease expired")
    assert "--detach" in found.next_command


def test_a_lost_node_is_named_and_whether_it_answers_again() -> None:
    back = first(failed("has not been heard from for 3.5 s", -9))
    assert back.title == "node2 was lost: its power, or its link"
    assert "node2 answers over SSH" in back.evidence[1]
    gone = causes(
        failed(
            "has not been heard from for 3.5 s",
            -9,
            nodes={"node1": a_node()},
            silent={"node2": "refused"},
        )
    )
    assert {cause.title for cause in gone[:2]} == {
        "node2 was lost: its power, or its link",
        "node2 does not answer",
    }


def test_a_node_that_never_joined_is_named() -> None:
    assert first(failed("did not join within 90 s", -9)).title == "node2 never joined"


def test_a_restart_is_told_from_a_killed_keeper() -> None:
    lost = {"state": "lost", "boot": "b1", "reason": "gone without a word"}
    same = Facts("micro", "lost", a_job(), NOW, {"node1": lost}, {"node1": a_node()})
    assert first(same).title == "the keeper on node1 was killed"
    other = Facts(
        "micro", "lost", a_job(), NOW, {"node1": lost}, {"node1": a_node(boot="b2", uptime=12.0)}
    )
    assert first(other).title == "node1 has restarted"


def test_a_full_disk_is_found_without_a_word_in_the_log() -> None:
    full = a_node(disk={"path": "/shared", "free_mib": 3, "free_files": 1000})
    assert first(failed(nodes={"node2": full})).title == "the disk of node2 is full"


def test_preflight_says_why_nothing_started() -> None:
    complaint = "node2: only 0.10 GiB are free under /shared; a checkpoint would not fit"
    facts = Facts("micro", "not started", {"profile": "gpt2-micro"}, NOW, preflight=(complaint,))
    assert first(facts).title == f"preflight: {complaint}"
    assert "invoke train.launch --profile gpt2-micro --name micro" in first(facts).next_command
    free = Facts("micro", "not started", {"profile": "gpt2-micro"}, NOW)
    assert "preflight finds no problem" in first(free).title


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


@pytest.mark.parametrize(
    ("parts", "title"),
    [
        ({}, "the ranks still prove their network (600 s so far)"),
        (
            {"gate": {"world_size": 2}},
            "the network check passed, and the launching command ended before it could start the"
            " run",
        ),
    ],
)
def test_a_gate_that_is_not_passed_is_told(parts: dict[str, Any], title: str) -> None:
    nodes = {"node1": a_node(a_rank(0), **parts), "node2": a_node(a_rank(1))}
    assert first(running(job=a_job(gate=True), metrics=[], nodes=nodes)).title == title


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
    found = first(running(keepers={"node1": {"state": "running", "lost": ["node2"]}}))
    assert found.title == "it goes on without node2"
