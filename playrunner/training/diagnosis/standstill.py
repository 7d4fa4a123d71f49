"""A run that goes on and does not get on: not begun, or hung; and which rank the others wait
for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from playrunner.project import program
from playrunner.training.diagnosis.evidence import Cause, Facts, Rank, listed

PATIENCE = 10  # times the usual time from one line of metrics to the next
LEAST_SECONDS = 15.0  # saving or evaluating takes longer than a step: shorter silences mean nothing
# For torch to be imported, the data to be opened and the first step to be taken
START_SECONDS = 60.0
_SLEEP, _DISK, _STOPPED = "S", "D", "Tt"
_SHOWN_FRAMES = 4

# Where Python is while a process waits for its peers.
_COLLECTIVE = re.compile(
    r"\b(all_reduce|all_gather\w*|reduce_scatter\w*|broadcast\w*|barrier|monitored_barrier|gather_object|scatter\w*|all_to_all\w*|"
    r"recv|new_group|init_process_group|_store_based_barrier|rendezvous|destroy_process_group)\b.*"
    r"(distributed_c10d|deepspeed/comm|torch_xla)|distributed_c10d\.py|torch/distributed/rendezvous|deepspeed/comm/|"
    r"gate_(meeting|traffic)\.py"
)
# The reductions of DDP, FSDP and ZeRO run inside autograd's own threads: a backward that does not
# compute waits for them.
_BACKWARD = re.compile(
    r"_engine_run_backward|torch/autograd/|torch/distributed/fsdp/|\bsynchronize\b.*torch/cuda"
)


def standing_still(facts: Facts) -> Iterator[Cause]:
    if not facts.going_on or facts.silent:
        return
    suspended = list(_suspended(facts))
    if suspended:
        yield from suspended
        return  # that explains all else
    yield from _unreachable(facts)
    if not facts.metrics:
        yield from _not_begun(facts)
    elif facts.silence > max(PATIENCE * facts.usual_gap, LEAST_SECONDS):
        yield _hung(facts)


def waits(rank: Rank) -> bool | None:
    """Whether a rank waits for its peers; None when that cannot be told."""
    if not rank.stack:
        return None
    text = "\n".join(rank.stack)
    return bool(_COLLECTIVE.search(text) or (_BACKWARD.search(text) and not rank.computes))


def behind(ranks: Sequence[Rank]) -> tuple[list[Rank], str]:
    """The ranks that the others wait for, and how that was found out."""
    late, how = _by_their_word(ranks)
    if late:
        return late, how
    known = [rank for rank in ranks if waits(rank) is not None]
    elsewhere = [rank for rank in known if not waits(rank)]
    if elsewhere and len(elsewhere) < len(ranks):
        return elsewhere, "its stack is not in a collective, the others' are"
    stuck = [rank for rank in ranks if rank.process.get("state") == _DISK]
    if stuck and len(stuck) < len(ranks):
        return stuck, "it waits for a disk or a network file system"
    busy = [rank for rank in ranks if rank.computes]
    if len(busy) == 1 and len(ranks) > 1:
        return busy, "it computes while the others wait"
    idle = [rank for rank in ranks if not rank.computes]
    if len(idle) == 1 and len(ranks) > 2:
        return idle, "it sleeps while the others are busy waiting, as NCCL does"
    return [], ""


def _by_their_word(ranks: Sequence[Rank]) -> tuple[list[Rank], str]:
    """The ranks that have recorded an earlier step than the others, or at the same step are in no
    collective while they are."""
    if not ranks or any(not rank.pulse for rank in ranks):
        return [], ""
    least, most = min(rank.step for rank in ranks), max(rank.step for rank in ranks)
    late = [rank for rank in ranks if rank.step == least]
    if least < most:
        return late, f"stands at {late[0].stands}; the others are at step {most}"
    outside = [rank for rank in ranks if not rank.meets]
    if outside and len(outside) < len(ranks):
        inside = next(rank for rank in ranks if rank.meets)
        return outside, f"stands at {outside[0].stands}; the others are in {inside.meets}"
    return [], ""


def seen(rank: Rank) -> str:
    """One line about a process."""
    what = rank.process
    parts = [
        f"{rank.place}: state {what.get('state', '?')}",
        f"{what.get('cores', 0):.2f} cores",
        f"{what.get('threads', '?')} threads",
        f"{what.get('rss_mib', '?')} MiB",
        f"{what.get('sockets', '?')} sockets",
    ]
    if what.get("wchan") not in (None, "", "0"):
        parts.append(f"in {what['wchan']}")
    text = ", ".join(parts)
    if rank.stands:
        text = f"{text}; {rank.stands}"
    if rank.stack:
        return f"{text}; at {' < '.join(rank.stack[:_SHOWN_FRAMES])}"
    return f"{text}; {what['no_stack']}" if what.get("no_stack") else text


def _suspended(facts: Facts) -> Iterator[Cause]:
    for rank in facts.ranks:
        if str(rank.process.get("state", "")) in _STOPPED:
            others = [each for each in facts.ranks if each is not rank and each.stands]
            yield Cause(
                97,
                f"{rank.place} is suspended (SIGSTOP, or a debugger holds it)",
                (seen(rank), *(f"{each.place}: {each.stands}" for each in others[:8])),
                f"kill -CONT {rank.process['pid']} on {rank.host}",
            )


def _unreachable(facts: Facts) -> Iterator[Cause]:
    calling = [
        (rank, place) for rank in facts.ranks for place in rank.process.get("connecting", ())
    ]
    if calling and facts.age > LEAST_SECONDS:
        yield Cause(
            90,
            f"{calling[0][0].place} gets no answer from {calling[0][1]}",
            tuple(f"{rank.place} is still connecting to {place}" for rank, place in calling[:6]),
            f"{program()} train.bench (names the dead link); then the firewall or security group"
            " between"
            " the nodes, and train_interface (GLOO_SOCKET_IFNAME)",
        )
    cut = [(rank, place) for rank in facts.ranks for place in rank.process.get("unanswered", ())]
    if cut:
        yield Cause(
            92,
            f"the link from {cut[0][0].host} to {cut[0][1]} is cut",
            tuple(
                f"{rank.place} repeats itself to {place}, which does not acknowledge"
                for rank, place in cut[:6]
            ),
            f"{program()} train.bench",
        )


def _not_begun(facts: Facts) -> Iterator[Cause]:
    node = facts.first_node
    lines = tuple(map(seen, facts.ranks[:8]))
    if facts.missing_ranks and facts.age > START_SECONDS:
        yield Cause(
            89,
            f"no process for {listed(facts.missing_ranks)}: the others wait for it",
            lines,
            f"{program()} train.logs --name {facts.name} --all --tail 30",
        )
    elif facts.job.get("gate") and not node.get("gate"):
        score = 30 if facts.age < START_SECONDS else 70
        yield Cause(
            score,
            f"the ranks still prove their network ({facts.age:.0f} s so far)",
            lines,
            f"{program()} train.bench",
        )
    elif facts.age < START_SECONDS:
        yield Cause(
            25,
            f"it is starting ({facts.age:.0f} s so far)",
            lines,
            f"{program()} train.logs --name {facts.name} --follow",
        )
    else:
        yield _hung(facts)


def _hung(facts: Facts) -> Cause:
    what = (
        f"no step for {facts.silence:.0f} s"
        if facts.metrics
        else f"no first step after {facts.age:.0f} s"
    )
    usual = (
        f" (usually one line every {facts.usual_gap:.1f} s)"
        if facts.metrics and facts.usual_gap
        else ""
    )
    named, how = behind(facts.ranks)
    lines = [
        f"{what}{usual}, the last one was {facts.step}" if facts.metrics else what,
        *map(seen, facts.ranks[:16]),
    ]
    if named:
        places = listed([rank.place for rank in named])
        if how:
            lines.insert(1, f"{places}: {how}")
        stands = (
            f", which stands at step {named[0].step} ({named[0].pulse['phase']})"
            if named[0].pulse
            else ""
        )
        where = f" at {named[0].stack[0]}" if named[0].stack else stands
        return Cause(
            86,
            f"it hangs: the others wait for {places}{where}",
            tuple(lines),
            facts.logs(named[0].host, f"[{named[0].number}] "),
        )
    if any(rank.computes for rank in facts.ranks):
        return Cause(
            55,
            f"{what}, though its processes compute: saving, evaluating or compiling, or a very long"
            " step",
            tuple(lines),
            f"{program()} train.logs --name {facts.name} --tail 20",
        )
    tools = [host for host, said in facts.nodes.items() if not said.get("spy")]
    if tools:
        lines.append(
            f"{listed(tools)}: no py-spy beside train_python; with it the rank that is behind could"
            " be told"
        )
    return Cause(
        78,
        f"it hangs: {what} and every process sleeps",
        tuple(lines),
        f"{program()} train.stop --name {facts.name}, then: {facts.resume}",
    )
