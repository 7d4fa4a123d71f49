"""Background: steps that wait for a service (a cloud), each in a thread of its own.

A step starts at once and waits only for the registered values it reads, so the dependency graph of
a run follows from its variables. The names each step read are kept: deleting goes through the same
graph backwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from playrunner.errors import Interrupted
from playrunner.run.batch import Batch
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.variables.waiter import Waiter

LOOK_SECONDS = 0.2  # how soon a waiting step notices that the run is being stopped


class StepCancelled(Interrupted):
    """Another step failed: this one starts nothing new and stops waiting."""


class Background:
    """One host's steps in the background."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._inflight_steps: list[InFlightStep] = []
        self._stopped = threading.Event()

    def start(
        self,
        inflight: InFlightStep,
        fill: Callable[[], None],
        process_result: Callable[[InFlightStep], None],
    ) -> None:
        """Run a step in a thread; its result is processed as soon as it is known."""
        inflight.done = threading.Event()
        self._inflight_steps.append(inflight)

        def work() -> None:
            assert inflight.done
            try:
                fill()
                process_result(inflight)
            except Interrupted:
                inflight.cancelled = True
            # A defect: raised again in the host's own thread, which reports it
            except Exception as problem:
                inflight.problem = problem
            finally:
                inflight.done.set()

        threading.Thread(target=work, name=inflight.step.title, daemon=True).start()

    def wait(self, inflight: InFlightStep) -> InFlightStep:
        """Wait for a step; returns the step that ended: this one, or another that failed first."""
        assert inflight.done
        while not inflight.done.wait(LOOK_SECONDS):
            self._batch.check_running()
            failed = next(
                (
                    other
                    for other in self._inflight_steps
                    if other.done and other.done.is_set() and _has_failed(other)
                ),
                None,
            )
            if failed:
                return failed
        return inflight

    def check_running(self) -> None:
        if self._stopped.is_set():
            raise StepCancelled("another step failed")
        self._batch.check_running()

    def sleep(self, seconds: float) -> None:
        """Sleep; ends early when the run is stopped."""
        if self._stopped.wait(min(seconds, LOOK_SECONDS)):
            raise StepCancelled("another step failed")
        self._batch.sleep(seconds - LOOK_SECONDS)
        self.check_running()

    def stop(self) -> list[InFlightStep]:
        """Stop the waiting steps, let calls in progress finish, and return the cancelled steps."""
        self._stopped.set()
        for inflight in self._inflight_steps:
            if inflight.done:
                inflight.done.wait()
        cancelled = [inflight for inflight in self._inflight_steps if inflight.cancelled]
        self._inflight_steps.clear()
        self._stopped.clear()
        return cancelled


class BackgroundWaiter(Waiter):
    """How a background step waits: for the registered names it reads, and for nothing else."""

    def __init__(
        self, background: Background, producers: Mapping[str, InFlightStep], others: Waiter
    ) -> None:
        self._background, self._others = background, others
        self._producers = dict(producers)  # only those that were started before this step
        self.tentative, self.position = others.tentative, others.position
        self.read: set[str] = set()

    def wait_for_steps(self) -> None:
        """Does nothing: files and environment variables that a template reads are taken as they
        are."""

    def wait_for(self, name: str) -> None:
        inflight = self._producers.get(name)
        if inflight is None:
            return
        self.read.add(name)
        if inflight.done is None:
            return
        while not inflight.done.wait(LOOK_SECONDS):
            self._background.check_running()
        if inflight.cancelled or _has_failed(inflight):
            raise StepCancelled(f"{inflight.title} failed")

    def wait_for_all_hosts(self) -> None:
        self._others.wait_for_all_hosts()

    def wait_for_host(self, host: str) -> None:
        self._others.wait_for_host(host)


def _has_failed(inflight: InFlightStep) -> bool:
    return inflight.problem is not None or (inflight.known_failure() and not inflight.ignored)


def side_by_side(items: list[LoopItem], launch: Callable[[LoopItem], None]) -> None:
    """Run all items of a loop at once; the first exception is raised when all have ended."""
    problems: list[BaseException] = []

    def run(item: LoopItem) -> None:
        try:
            launch(item)
        except BaseException as problem:  # raised again below, in the thread that waits
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
