"""Background: steps whose work goes on elsewhere (a cloud), each in a thread of its own.

A step starts at once and waits only for the registered values it reads: what reads what is the
graph of a run, and nobody has to write it down. Who read which name is remembered, since taking
things away goes the same ways backwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from playrunner.errors import Interrupted
from playrunner.run.batch import Batch
from playrunner.run.inflight import Flight, Turn
from playrunner.variables.scope import Waiter

LOOK_SECONDS = 0.2  # how soon a waiting step notices that the run is being stopped


class Abandoned(Interrupted):
    """Another step failed: nothing new is begun, and nothing is waited for."""


class Background:
    """One host's steps in the background."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._flights: list[Flight] = []
        self._stopped = threading.Event()

    def start(
        self, flight: Flight, fill: Callable[[], None], take_in: Callable[[Flight], None]
    ) -> None:
        """Have a step filled with its turns by a thread; its result is taken in as soon as it is
        there."""
        flight.landed = threading.Event()
        self._flights.append(flight)

        def work() -> None:
            assert flight.landed
            try:
                fill()
                take_in(flight)
            except Interrupted:
                flight.abandoned = True
            # A defect: raised again by the host's own thread, which knows how to tell it
            except Exception as problem:
                flight.problem = problem
            finally:
                flight.landed.set()

        threading.Thread(target=work, name=flight.step.title, daemon=True).start()

    def wait(self, flight: Flight) -> Flight:
        """Wait for a step; gives the one that has come to its end: this, or another that failed
        meanwhile."""
        assert flight.landed
        while not flight.landed.wait(LOOK_SECONDS):
            self._batch.check_going()
            failed = next(
                (
                    one
                    for one in self._flights
                    if one.landed and one.landed.is_set() and _has_failed(one)
                ),
                None,
            )
            if failed:
                return failed
        return flight

    def check_going(self) -> None:
        if self._stopped.is_set():
            raise Abandoned("another step failed")
        self._batch.check_going()

    def sleep(self, seconds: float) -> None:
        """A pause that ends early when the run does."""
        if self._stopped.wait(min(seconds, LOOK_SECONDS)):
            raise Abandoned("another step failed")
        self._batch.sleep(seconds - LOOK_SECONDS)
        self.check_going()

    def stop(self) -> list[Flight]:
        """End what waits, let what is being asked for be asked, and say which steps were given up."""
        self._stopped.set()
        for flight in self._flights:
            if flight.landed:
                flight.landed.wait()
        given_up = [flight for flight in self._flights if flight.abandoned]
        self._flights.clear()
        self._stopped.clear()
        return given_up


class Branch(Waiter):
    """How one step in the background waits for values: each by its name, nothing else."""

    def __init__(
        self, background: Background, producers: Mapping[str, Flight], others: Waiter
    ) -> None:
        self._background, self._others = background, others
        self._producers = dict(
            producers
        )  # as they stand when the step is started: later ones are not for it
        self.tentative = others.tentative
        self.read: set[str] = set()

    def settle(self) -> None:
        """Nothing: what a template looks up besides names (files, the environment) is taken as it
        is found."""

    def wait_for(self, name: str) -> None:
        flight = self._producers.get(name)
        if flight is None:
            return
        self.read.add(name)
        if flight.landed is None:
            return
        while not flight.landed.wait(LOOK_SECONDS):
            self._background.check_going()
        if flight.abandoned or _has_failed(flight):
            raise Abandoned(f"{flight.title} failed")

    def wait_for_all_hosts(self) -> None:
        self._others.wait_for_all_hosts()

    def wait_for_host(self, host: str) -> None:
        self._others.wait_for_host(host)


def _has_failed(flight: Flight) -> bool:
    return flight.problem is not None or (flight.known_failure() and not flight.ignored)


def side_by_side(turns: list[Turn], launch: Callable[[Turn], None]) -> None:
    """The items of a loop, all at once; what one of them raises is raised when all have ended."""
    problems: list[BaseException] = []

    def one(turn: Turn) -> None:
        try:
            launch(turn)
        except BaseException as problem:  # raised again below, in the thread that waits
            problems.append(problem)

    threads = [threading.Thread(target=one, args=(turn,), daemon=True) for turn in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
