"""The rendezvous of ranks that are not ready at the same moment."""

from __future__ import annotations

import socket
import threading
import time
from datetime import timedelta

import pytest

from trainer.distributed.store import store_at

LATE_SECONDS = 1.2  # by then torch itself tries once a second
PROMPT_SECONDS = 0.25


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_rank_that_came_early_is_there_as_soon_as_the_first_one_listens() -> None:
    port, joined = free_port(), list[float]()

    def join() -> None:
        store_at("127.0.0.1", port, 2, wait_for_workers=False).set("early", "here")
        joined.append(time.monotonic())

    early = threading.Thread(target=join)
    early.start()
    time.sleep(LATE_SECONDS)  # the rank tries in vain meanwhile
    began = time.monotonic()
    first = store_at("127.0.0.1", port, 2, True, wait_for_workers=False)
    early.join(30)
    assert first.get("early") == b"here"
    assert joined[0] - began < PROMPT_SECONDS


def test_a_first_rank_that_never_comes_is_an_error_in_time() -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError):
        store_at("127.0.0.1", free_port(), 2, timeout=timedelta(seconds=1), wait_for_workers=False)
    assert time.monotonic() - began < 10
