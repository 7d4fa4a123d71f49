"""Which of several failures explains the others."""

from __future__ import annotations

from trainer.node.failure import (
    RANK,
    Failure,
    cause,
)


def test_of_several_failures_the_one_from_outside_is_the_cause() -> None:
    """The ranks that are left fail over the silence of the dead one, and may be heard of first."""
    echo = Failure(
        "node1",
        RANK,
        "rank 0 ended with code 1",
        10.0,
        1,
        ("[0] RuntimeError: Connection closed by peer",),
    )
    killed = Failure("node2", RANK, "rank 1 was ended by SIGKILL", 10.4, -9)
    own = Failure(
        "node3", RANK, "rank 2 ended with code 1", 10.2, 1, ("[2] ValueError: bad token",)
    )
    assert cause([echo, own, killed]) == killed
    assert cause([echo, own]) == own
    assert cause([echo]) == echo
    assert cause([]) is None
