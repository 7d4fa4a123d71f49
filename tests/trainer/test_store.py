"""The rendezvous of ranks that are not ready at the same moment."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from trainer.distributed.store import store_at

EARLY = 6  # torch's pauses vary: one alone may be lucky
LATE_SECONDS = 2.5  # by then torch itself tries once a second or two
PROMPT_SECONDS = 0.7  # on a busy machine


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_ranks_that_came_early_are_there_as_soon_as_the_first_one_listens() -> None:
    port, joined = free_port(), list[float]()

    def join(rank: int) -> None:
        store = store_at("127.0.0.1", port, EARLY + 1, wait_for_workers=False)
        joined.append(time.monotonic())
        store.set(f"early/{rank}", "here")

    with ThreadPoolExecutor(EARLY) as pool:
        early = [pool.submit(join, rank) for rank in range(EARLY)]
        time.sleep(LATE_SECONDS)  # they try in vain meanwhile
        began = time.monotonic()
        first = store_at("127.0.0.1", port, EARLY + 1, True, wait_for_workers=False)
        for each in early:
            each.result(30)
    assert all(first.get(f"early/{rank}") == b"here" for rank in range(EARLY))
    assert max(joined) - began < PROMPT_SECONDS


def test_a_first_rank_that_never_comes_is_an_error_in_time() -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError):
        store_at("127.0.0.1", free_port(), 2, timeout=timedelta(seconds=1), wait_for_workers=False)
    assert time.monotonic() - began < 10
