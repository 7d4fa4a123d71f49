"""What ends of processes are blamed on: ten kinds of user error put no node aside, faults of nodes
find the node."""

from __future__ import annotations

import pytest

from playrunner.training.diagnosis.blame import (
    CAPACITY,
    CONFIGURATION,
    DATA,
    DEVICE,
    NETWORK,
    NODE,
    SOFTWARE,
    UNKNOWN,
    End,
    Finding,
    finding,
    not_a_node,
    suspects,
)

USER_ERRORS = {
    "import error": (1, "Error", "[0] ModuleNotFoundError: No module named 'torch'", SOFTWARE),
    "wrong image": (127, "ContainerCannotRun", "exec: python3: not found", CONFIGURATION),
    "no rights": (
        1,
        "Error",
        "PermissionError: [Errno 13] Permission denied: '/data'",
        CONFIGURATION,
    ),
    "bad path": (1, "Error", "FileNotFoundError: [Errno 2] No such file: '/x'", CONFIGURATION),
    "out of memory": (137, "OOMKilled", "[0] step 3", CAPACITY),
    "bad config": (2, "Error", "trainer: train.optimizer.lr: it must be a number", CONFIGURATION),
    "not a number": (1, "Error", "[0] trainer: the loss is nan at step 12", DATA),
    "data missing": (1, "Error", "trainer: there are no tokens under /data/tokens", DATA),
    "wrong secret": (1, "Error", "ClientError: InvalidAccessKeyId when calling Put", CONFIGURATION),
    "disk full": (1, "Error", "OSError: [Errno 28] No space left on device", CAPACITY),
    "GPU memory": (1, "Error", "torch.OutOfMemoryError: CUDA out of memory", CAPACITY),
    "says nothing": (1, "Error", "", UNKNOWN),
    "segmentation fault": (139, "Error", "", UNKNOWN),
}


def ended(node: str, code: int, reason: str, line: str, moment: float, pod: str = "") -> End:
    return End(
        node, pod or f"run-{node}", moment, code, reason, (line,) if line else (), str(moment)
    )


@pytest.mark.parametrize("error", USER_ERRORS)
def test_a_users_error_is_told_as_what_it_is_and_proves_nothing_of_any_node(error: str) -> None:
    code, reason, line, kind = USER_ERRORS[error]
    for nodes in (["gpu-1"], ["gpu-1", "gpu-2"]):  # on one node alone, and on all
        ends = [ended(node, code, reason, line, 100.0 * at) for at in range(8) for node in nodes]
        assert {finding(end).kind for end in ends} == {kind}
        assert not any(one.proved for one in suspects(ends, [*nodes, "gpu-3"]))
        assert all(one.against for one in suspects(ends, [*nodes, "gpu-3"]))


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "NVRM: Xid (PCI:0000:10:1c): 79, GPU has fallen off the bus.",
        "[3] RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "NRT: nrt_execute failed, status: 1202",
    ],
)
def test_a_device_that_fails_twice_on_one_node_finds_that_node(line: str) -> None:
    ends = [
        ended("gpu-2", 1, "Error", line, 100.0),
        ended("gpu-1", 1, "Error", "[0] Connection reset by peer", 103.0),
        ended("gpu-2", 1, "Error", line, 400.0),
        ended("gpu-1", 1, "Error", "[0] Connection reset by peer", 401.0),
    ]
    (found,) = [one for one in suspects(ends) if one.proved]
    assert (found.node, found.kind, found.times) == ("gpu-2", DEVICE, 2)
    assert any(line in text for text in found.evidence)


def test_a_device_that_fails_once_is_not_enough() -> None:
    line = "CUDA error: uncorrectable ECC error encountered"
    assert not suspects([ended("gpu-2", 1, "Error", line, 100.0)], ["gpu-1"])


def test_a_sign_on_every_node_is_of_no_node() -> None:
    line = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
    ends = [ended(node, 1, "Error", line, at) for at in (0.0, 100.0, 200.0) for node in "ab"]
    found = suspects(ends)
    assert found and not any(one.proved for one in found)
    assert "the same sign appears on b" in next(one for one in found if one.node == "a").against


def test_what_the_cluster_says_of_a_node_finds_it_at_once() -> None:
    gone = {"gpu-2": Finding(NODE, "its condition Ready is Unknown: Kubelet stopped posting")}
    (found,) = suspects([], ["gpu-1", "gpu-2"], gone)
    assert (found.node, found.proved, found.kind) == ("gpu-2", True, NODE)
    assert not suspects([], ["gpu-1"], gone), "a node that the run does not use"


def test_words_about_the_network_alone_prove_no_node() -> None:
    ends = [ended("a", 1, "Error", "ncclRemoteError: peer gone", at) for at in (0.0, 100.0)]
    assert finding(ends[0]).kind == NETWORK and not suspects(ends, "ab")[0].proved


def test_a_run_that_no_node_is_to_blame_for_has_its_fault_named() -> None:
    ends = [ended("a", 1, "Error", "ModuleNotFoundError: No module named 'torch'", 1.0)]
    told = not_a_node(ends)
    assert told == Finding(SOFTWARE, "ModuleNotFoundError: No module named 'torch'")
