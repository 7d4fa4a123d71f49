"""The waits between the attempts at one call, and their end."""

from __future__ import annotations

import pytest

from playrunner.cloud.retry import Retry, RetryPolicy


def waits(policy: RetryPolicy, count: int, retry_after: str = "") -> list[float]:
    slept: list[float] = []
    retry = Retry(policy, slept.append)
    for _ in range(count):
        retry.wait(retry_after)
    return slept


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    for _ in range(50):
        slept = waits(RetryPolicy(first_seconds=1.0, longest_seconds=5.0), 5)
        for wait, longest in zip(slept, [1.0, 2.0, 4.0, 5.0, 5.0], strict=True):
            assert longest / 2 <= wait <= longest


def test_two_clients_that_fail_together_do_not_come_back_together() -> None:
    assert waits(RetryPolicy(), 3) != waits(RetryPolicy(), 3)


def test_the_last_attempt_is_known_before_it_fails() -> None:
    retry = Retry(RetryPolicy(attempts=3), lambda seconds: None)
    exhausted = []
    for _ in range(3):
        exhausted.append(retry.exhausted)
        retry.wait()
    assert exhausted == [False, False, True]


def test_without_a_number_of_attempts_the_client_decides_when_to_give_up() -> None:
    retry = Retry(RetryPolicy(), lambda seconds: None)
    for _ in range(2000):
        retry.wait()
    assert not retry.exhausted and retry.attempt == 2001


@pytest.mark.parametrize(
    ("header", "seconds"), [("3", 3.0), ("0", 0.0), ("86400", 20.0), ("9" * 400, 20.0)]
)
def test_retry_after_is_kept_within_bounds(header: str, seconds: float) -> None:
    assert waits(RetryPolicy(longest_seconds=10.0), 2, header) == [seconds, seconds]


@pytest.mark.parametrize("header", ["", "soon", "-5", "1.5", "٣", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_is_no_number_of_seconds_is_ignored(header: str) -> None:
    assert 0.05 <= waits(RetryPolicy(), 1, header)[0] <= 0.1
