"""What is known of a run, and what is taken to be behind it."""

from __future__ import annotations

import pytest

from playrunner.training.diagnosis.causes import Facts, causes
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
from trainer.node.failure import (
    FIRST_NODE_LOST,
    LEASE_EXPIRED,
    LOG_REFUSED,
    NODE_LOST,
    NODE_NOT_JOINED,
    NOT_STARTED,
    ending,
    kind_of,
)


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


def test_a_run_that_its_network_check_refused_says_so_and_not_only_that_it_was_stopped() -> None:
    line = "the link node1 - node2 is slow: 0.10 Gbit/s measured, expected 10.0 Gbit/s"
    supervisors = {"node1": {"state": "stopped", "reason": "asked to stop"}}
    facts = Facts(
        "micro", "stopped", a_job(gate=True), NOW, supervisors, {"node1": a_node()}, network=(line,)
    )
    found = first(facts)
    assert found.title == "the network check failed, and training did not begin"
    assert found.evidence == (line,) and found.next_command == facts.resume


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
    ("label", "code", "tail"),
    [
        ("0-1", 247, ()),
        ("node", 1, ("[node]   exitcode  : -9 (pid: 4711)",)),
        ("1", 137, ()),
    ],
)
def test_a_kill_is_seen_through_every_launcher(
    label: str, code: int, tail: tuple[str, ...]
) -> None:
    facts = failed(ending(label, code), code, tail, kind_of(label))
    assert "was killed from outside" in first(facts).title


def test_a_loss_that_is_no_number_is_told_before_anything_else() -> None:
    line = "[1] trainer: step 7: the loss is nan on rank 1; its micro-batch 3 begins with sample 12"
    found = first(failed("rank 1 ended with code 6", 6, (line,)))
    assert found.title == "the loss is no longer a number"
    assert line in found.evidence[0]


@pytest.mark.parametrize(
    ("label", "code", "tail"),
    [
        ("1", 5, ()),
        ("node", 1, ("[node]   exitcode  : 5 (pid: 4711)",)),
    ],
)
def test_refused_input_is_told_in_the_trainers_words(
    label: str, code: int, tail: tuple[str, ...]
) -> None:
    lines = ("[1] trainer: data.path /x: there is no such file", *tail)
    found = first(failed(ending(label, code), code, lines, kind_of(label)))
    assert found.title == "the trainer refused what it was given"
    assert "data.path /x" in found.evidence[0]


def test_a_lease_that_ran_out_names_detach() -> None:
    found = first(failed("no renewal for 15 s", 0, kind=LEASE_EXPIRED))
    assert found.title.startswith("its lease expired")
    assert "--detach" in found.next_command


def test_a_lost_node_is_named_and_whether_it_answers_again() -> None:
    back = first(failed("is silent", -9, kind=NODE_LOST))
    assert back.title == "node2 was lost: its power, or its link"
    assert "node2 answers over SSH" in back.evidence[1]
    gone = causes(
        failed(
            "is silent",
            -9,
            kind=NODE_LOST,
            nodes={"node1": a_node()},
            silent={"node2": "refused"},
        )
    )
    assert {cause.title for cause in gone[:2]} == {
        "node2 was lost: its power, or its link",
        "node2 does not answer",
    }


def test_a_node_that_never_joined_is_named() -> None:
    assert first(failed("is late", -9, kind=NODE_NOT_JOINED)).title == "node2 never joined"


def test_a_node_that_lost_the_first_one_says_so() -> None:
    assert first(failed("is alone", 0, kind=FIRST_NODE_LOST)).title == "node2 lost the first node"


@pytest.mark.parametrize("kind", [NOT_STARTED, LOG_REFUSED])
def test_the_sentence_of_a_failure_decides_nothing(kind: str) -> None:
    for what in ("has not been heard from for 3 s", "did not join within 9 s"):
        assert "explains it" in first(failed(what, 0, kind=kind)).title


def test_a_restart_is_told_from_a_killed_supervisor() -> None:
    lost = {"state": "lost", "boot": "b1", "reason": "gone without a word"}
    same = Facts("micro", "lost", a_job(), NOW, {"node1": lost}, {"node1": a_node()})
    assert first(same).title == "the supervisor on node1 was killed"
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
