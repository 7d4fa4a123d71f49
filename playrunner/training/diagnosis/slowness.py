"""A run that gets on, slowly: what its steps wait for."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median

from playrunner.project import program
from playrunner.training.diagnosis.evidence import Cause, Facts, listed
from playrunner.training.diagnosis.standstill import LEAST_SECONDS, PATIENCE

DATA_SHARE = 0.3  # of a step, spent waiting for data
CROWDED = 1.5  # processes that want a core, for each core
SLOWER = 1.5  # times the usual step
_WINDOW = 10  # steps that tell how it is now
_LEAST_MEMORY = 0.05
_STOLEN = 0.1
_UNEVEN = 0.6  # of what the busiest rank computes


def slowed_down(facts: Facts) -> Iterator[Cause]:
    if (
        not facts.going_on
        or not facts.metrics
        or facts.silence > max(PATIENCE * facts.usual_gap, LEAST_SECONDS)
    ):
        return
    yield from _data(facts)
    yield from _crowd(facts)
    yield from _memory(facts)
    yield from _lately(facts)
    yield from _uneven(facts)
    yield from _stolen(facts)
    for line in facts.network:
        yield Cause(
            60, "the network is slower than it should be", (line,), f"{program()} train.bench"
        )


def _data(facts: Facts) -> Iterator[Cause]:
    recent = [each for each in facts.metrics[-_WINDOW:] if each.get("step_seconds")]
    waited = mean(float(each.get("data_wait_seconds") or 0) for each in recent) if recent else 0.0
    taken = mean(float(each["step_seconds"]) for each in recent) if recent else 0.0
    if taken and waited > DATA_SHARE * taken:
        yield Cause(
            70,
            f"its steps wait for data: {100 * waited / taken:.0f} % of the time",
            (f"rank 0 waits {waited:.3f} s of {taken:.3f} s a step",),
            f"put the data on a faster disk; or train.stop, then: {facts.resume} --set"
            " train.data.prefetch=16",
        )


def _crowd(facts: Facts) -> Iterator[Cause]:
    crowded = {
        host: vitals
        for host, vitals in facts.nodes.items()
        if vitals.get("load", 0) > CROWDED * max(1, vitals.get("cores") or 1)
    }
    if not crowded:
        return
    lines = [
        f"{host}: load {vitals['load']:.1f} on {vitals['cores']} cores"
        for host, vitals in crowded.items()
    ]
    # By pid: nodes that are one machine tell of the same process.
    others = {
        (each["pid"], each["name"]): each["cores"]
        for vitals in crowded.values()
        for each in vitals.get("strangers", ())
    }
    strangers = [
        f"{name} (pid {pid}) takes {cores:.1f} cores" for (pid, name), cores in others.items()
    ]
    yield Cause(
        68 if others else 50,
        f"more wants to run on {listed(list(crowded))} than there are cores",
        (*lines[:4], *strangers[:4]),
        "stop what else runs there, or use fewer processes: --set launch.processes_per_node=N",
    )


def _memory(facts: Facts) -> Iterator[Cause]:
    for host, said in facts.nodes.items():
        memory = said.get("memory", {})
        share = memory.get("available_mib", 0) / max(1, memory.get("total_mib", 1))
        swapped = said.get("use", {}).get("swapped", 0)
        if swapped > 10 or (memory and share < _LEAST_MEMORY):
            left = f"{memory.get('available_mib')} of {memory.get('total_mib')} MiB are left"
            yield Cause(
                75 if swapped else 58,
                f"{host} is {'swapping' if swapped else 'almost out of memory'}",
                (f"{left}, {swapped:.0f} pages swapped a second",),
                "a smaller train.device_batch_size, or a node with more memory",
            )


def _lately(facts: Facts) -> Iterator[Cause]:
    taken = [float(each["step_seconds"]) for each in facts.metrics if each.get("step_seconds")][
        1:
    ]  # the first one warms up
    if len(taken) < 3 * _WINDOW:
        return
    usual, now = median(taken[:-_WINDOW]), median(taken[-_WINDOW:])
    if now > SLOWER * usual:
        yield Cause(
            62,
            f"its steps take {now / usual:.1f} times as long as before",
            (f"{now:.3f} s over the last {_WINDOW} lines, {usual:.3f} s before",),
            f"{program()} train.watch; {program()} train.logs --name {facts.name} --all --tail 20",
        )


def _uneven(facts: Facts) -> Iterator[Cause]:
    """Where the cores train, waiting costs no time on them: the one that computes most is the one
    the others wait for."""
    if facts.job.get("device") == "cuda" or len(facts.ranks) < 2:
        return
    ordered = sorted(facts.ranks, key=lambda rank: -float(rank.process.get("cores", 0)))
    busiest, second = (float(rank.process.get("cores", 0)) for rank in ordered[:2])
    if busiest > 0.5 and second < _UNEVEN * busiest:
        lines = tuple(
            f"{rank.place}: {rank.process.get('cores', 0):.2f} cores" for rank in ordered[:8]
        )
        yield Cause(
            55,
            f"{ordered[0].place} computes while the others wait for it: {ordered[0].host} is"
            " slower",
            lines,
            f"{program()} train.bench",
        )


def _stolen(facts: Facts) -> Iterator[Cause]:
    for host, said in facts.nodes.items():
        stolen = said.get("use", {}).get("stolen", 0)
        if stolen > _STOLEN:
            yield Cause(
                57,
                f"{host} does not get its cores: other virtual machines take {100 * stolen:.0f} %",
                (),
                "move the node, or use a type with cores of its own",
            )
