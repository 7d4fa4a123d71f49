"""One surface of the program under mutated input: the call returns or refuses in one line; it never
breaks, hangs or swells.

`make fuzz FUZZ_INPUTS=200000 FUZZ_SEED=7`: so many inputs over all surfaces, from another start. A
failing input is kept in .fuzz/SURFACE; put it into tests/fuzz/regressions/SURFACE/ under a name
that says what it is, and it is tried every time.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.support.fuzz.mutation import mutated

MOST_SECONDS = 10.0  # of this process's own time: other programs may hold the cores
MOST_WAIT_SECONDS = 60.0  # by the clock
MOST_MEMORY_MB = 500
INPUTS = int(os.environ.get("FUZZ_INPUTS", "20000"))
# Of a hundred inputs, how many each surface gets.
SHARES = {
    "playbooks": 12,
    "task_files": 8,
    "inventories_yaml": 10,
    "inventories_ini": 10,
    "extra_vars": 6,
    "templates": 12,
    "profiles": 6,
    "overrides": 4,
    "kubeconfigs": 6,
    "ssh_configs": 6,
    "known_hosts": 5,
    "ledgers": 4,
    "agent_replies": 4,
    "link_messages": 3,
    "api_answers": 4,
}

REGRESSIONS = Path(__file__).parents[2] / "fuzz" / "regressions"
FAILURES = Path(__file__).parents[3] / ".fuzz"
Test = Callable[[str], None]


class Hangs(BaseException):
    """Raised by the alarm; not an Exception, so that nothing on the way catches it."""


def fuzzed(
    surface: str,
    seeds: Sequence[str],
    refusals: tuple[type[Exception], ...],
    structured: bool = True,
) -> Callable[[Test], Test]:
    """A test of one text, made a test of many: mutated seeds, and everything that once failed."""

    def decorate(test: Test) -> Test:
        def run(text: str) -> None:
            with _judged(surface, text, refusals):
                test(text)

        run.__name__, run.__qualname__, run.__doc__, run.__module__ = (
            test.__name__,
            test.__qualname__,
            test.__doc__,
            test.__module__,
        )
        found: Any = given(text=_texts(seeds, structured))(run)
        for text in [*seeds, *_kept(surface)]:
            found = example(text=text)(found)
        most = max(10, INPUTS * SHARES[surface] // 100)
        return settings(
            max_examples=most,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            derandomize=not os.environ.get("FUZZ_SEED"),
            print_blob=False,
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
        )(found)  # type: ignore[no-any-return]

    return decorate


def scratch(name: str) -> Path:
    """A file for one input, in a folder of this process."""
    return Path(_FOLDER.name) / name


_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz")


def as_bytes(text: str) -> bytes:
    """The input as a file holds it; mutation leaves bytes that are no UTF-8 as surrogates."""
    return (
        text.encode("utf-8", "surrogateescape")
        if all(not 0xD800 <= ord(c) < 0xDC80 for c in text)
        else text.encode("utf-8", "surrogatepass")
    )


@st.composite
def _texts(draw: st.DrawFn, seeds: Sequence[str], structured: bool) -> str:
    # One number decides all: drawing each choice would take ten times as long as trying the input.
    random = Random(draw(st.integers(0, 1 << 60)))
    return mutated(random, random.choice(list(seeds)), draw(st.integers(1, 6)), structured)


def _kept(surface: str) -> list[str]:
    folder = REGRESSIONS / surface
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [file.read_bytes().decode("utf-8", "surrogateescape") for file in files]


@contextmanager
def _judged(surface: str, text: str, refusals: tuple[type[Exception], ...]) -> Iterator[None]:
    previous = {kind: signal.signal(kind, _ring) for kind in (signal.SIGALRM, signal.SIGPROF)}
    _set_timers(MOST_WAIT_SECONDS, MOST_SECONDS)
    started, before = time.process_time(), _memory_mb()
    try:
        yield
        _check_costs(started, before)
    except refusals as refused:
        _set_timers(0, 0)
        if "\n" in str(refused).strip():
            _keep(surface, text)
            raise AssertionError(f"told in more than one line: {refused}") from None
    except BaseException as failure:
        _set_timers(0, 0)
        _keep(surface, text)
        if isinstance(failure, Hangs):
            raise AssertionError(f"not done after {MOST_SECONDS:g} seconds") from failure
        raise
    finally:
        _set_timers(0, 0)
        for kind, handler in previous.items():
            signal.signal(kind, handler)


def _set_timers(wait: float, work: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, wait)
    signal.setitimer(signal.ITIMER_PROF, work)


def _check_costs(started: float, before: int) -> None:
    took = time.process_time() - started
    assert took < MOST_SECONDS, f"took {took:.1f} seconds"
    after = _memory_mb()
    assert after < MOST_MEMORY_MB or after - before < 1, (
        f"the process has grown from {before} to {after} MB"
    )


def _memory_mb() -> int:
    """The most memory this process has held."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def _ring(_number: int, _frame: object) -> None:
    raise Hangs


def _keep(surface: str, text: str) -> None:
    FAILURES.mkdir(exist_ok=True)
    (FAILURES / surface).write_bytes(as_bytes(text))
