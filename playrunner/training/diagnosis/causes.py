"""Why a run has not started, hangs, is slow or failed: what is known of it, turned into causes, the
likeliest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from playrunner.project import program
from playrunner.training.diagnosis.ended_processes import asked_to_end, bad_input, killed, loss
from playrunner.training.diagnosis.evidence import Cause, Facts, listed, quoted
from playrunner.training.diagnosis.slowness import slowed_down
from playrunner.training.diagnosis.standstill import standing_still
from playrunner.training.diagnosis.symptoms import from_collectives, from_output
from trainer.node.failure import (
    FIRST_NODE_LOST,
    FOLDER_GONE,
    LEASE_EXPIRED,
    NODE_LOST,
    NODE_NOT_JOINED,
)

__all__ = ["Cause", "Facts", "causes"]

_LITTLE_SPACE_MIB = 100


def causes(facts: Facts) -> list[Cause]:
    """All that speaks for something, the likeliest first; never empty."""
    rules: tuple[Callable[[Facts], Iterator[Cause]], ...] = (
        _not_started,
        _silent_nodes,
        _lost_supervisors,
        _folder_gone,
        _ended_on_purpose,
        _network_refused,
        _lease,
        _lost_nodes,
        killed,
        loss,
        bad_input,
        asked_to_end,
        _disk,
        _devices,
        from_collectives,
        from_output,
        standing_still,
        slowed_down,
    )
    by_title: dict[str, Cause] = {}
    for rule in rules:
        for cause in rule(facts):
            known = by_title.get(cause.title)
            by_title[cause.title] = (
                max(known, cause, key=lambda each: each.score) if known else cause
            )
    ranked = sorted(by_title.values(), key=lambda cause: -cause.score)
    if not facts.going_on and facts.state != "finished" and not ranked:
        ranked.append(_unexplained(facts))
    return ranked or [_nothing_wrong(facts)]


def _not_started(facts: Facts) -> Iterator[Cause]:
    for complaint in facts.preflight:
        yield Cause(90, f"preflight: {complaint}", (), f"fix it, then: {_launch(facts)}")
    if facts.state == "not started" and not facts.preflight and not facts.job.get("run_id"):
        yield Cause(
            40,
            "it was never launched on these nodes, and preflight finds no problem",
            (),
            _launch(facts),
        )


def _silent_nodes(facts: Facts) -> Iterator[Cause]:
    for host, why in facts.silent.items():
        yield Cause(
            95,
            f"{host} does not answer",
            (why,),
            f"is it up? ssh to {host}; on the sandbox: {program()} sandbox.up; then:"
            f" {facts.resume}",
        )


def _lost_supervisors(facts: Facts) -> Iterator[Cause]:
    for host, supervisor in facts.supervisors.items():
        if supervisor.get("state") == "lost":
            now = facts.nodes.get(host, {})
            restarted = bool(
                now.get("boot") and supervisor.get("boot") and now["boot"] != supervisor["boot"]
            )
            what = f"{host} has restarted" if restarted else f"the supervisor on {host} was killed"
            lines = [str(supervisor.get("reason", ""))]
            if restarted:
                lines.append(f"{host} is up for {now.get('uptime', 0):.0f} s")
            # Read from the node itself: it answers, so that its power and link are not the cause
            yield Cause(97, what, tuple(filter(None, lines)), facts.resume)


def _folder_gone(facts: Facts) -> Iterator[Cause]:
    gone = [
        str(supervisor["cause"]["what"])
        for supervisor in facts.supervisors.values()
        if (supervisor.get("cause") or {}).get("kind") == FOLDER_GONE
    ]
    if not gone and facts.state == "not started" and facts.job.get("run_id"):
        gone = [f"no node has a run {facts.name}, and {facts.job['run_id']} was launched on them"]
    if gone:
        hosts = ", ".join(str(place["host"]) for place in facts.places)
        yield Cause(
            98,
            f"the run's folder is gone from {hosts or 'its nodes'}: deleted, or its disk is not"
            " mounted",
            tuple(gone),
            f"bring the folder back, or begin again: {_launch(facts)}",
        )


def _ended_on_purpose(facts: Facts) -> Iterator[Cause]:
    if facts.state == "stopped":
        reason = next(
            (
                str(supervisor["reason"])
                for supervisor in facts.supervisors.values()
                if supervisor.get("reason")
            ),
            "asked to stop",
        )
        yield Cause(90, f"it was stopped at step {facts.step}", (reason,), facts.resume)


def _network_refused(facts: Facts) -> Iterator[Cause]:
    if facts.network and not facts.metrics and not facts.going_on:
        yield Cause(
            96,
            "the network check failed, and training did not begin",
            tuple(facts.network[:3]),
            facts.resume,  # checks the network again, on the run's own inventory
        )


def _lease(facts: Facts) -> Iterator[Cause]:
    if facts.failure.get("kind") == LEASE_EXPIRED:
        yield Cause(
            96,
            "its lease expired: the launching command ended, or could not reach the first node",
            (f"{facts.failure.get('node')}: {facts.failure.get('what')}",),
            f"{facts.resume} --detach (it then runs without the launching command)",
        )


def _lost_nodes(facts: Facts) -> Iterator[Cause]:
    kind, node = facts.failure.get("kind"), str(facts.failure.get("node", ""))
    what = str(facts.failure.get("what", ""))
    lost = sorted(
        {name for supervisor in facts.supervisors.values() for name in supervisor.get("lost", ())}
    )
    if kind == NODE_NOT_JOINED:
        yield Cause(
            94,
            f"{node} never joined",
            (f"{node} {what}", *_link_lines(facts, node)),
            f"{program()} train.logs --name {facts.name} --host {node}; {program()} train.bench",
        )
    elif kind == FIRST_NODE_LOST:
        yield Cause(
            94,
            f"{node} lost the first node",
            (what,),
            f"{program()} train.bench; {program()} train.status",
        )
    elif kind == NODE_LOST:
        left = max(1, len(facts.places) - 1)
        yield Cause(
            95,
            f"{node} was lost: its power, or its link",
            (f"{node} {what}", *_link_lines(facts, node)),
            f"is it up? then: {facts.resume}; without it: {facts.resume} --nodes {left}",
        )
    elif lost and facts.going_on:
        yield Cause(
            65,
            f"it goes on without {listed(lost)}",
            ("an elastic run that lost a node is slower, not wrong",),
            f"repair {listed(lost)}, and it joins again",
        )


def _disk(facts: Facts) -> Iterator[Cause]:
    for host, node in facts.nodes.items():
        disk = node.get("disk", {})
        if (
            disk.get("free_mib", _LITTLE_SPACE_MIB) < _LITTLE_SPACE_MIB
            or disk.get("free_files", 1) == 0
        ):
            what = (
                "has no room for another file"
                if disk.get("free_files", 1) == 0
                else f"has {disk['free_mib']} MiB left"
            )
            yield Cause(
                89,
                f"the disk of {host} is full",
                (f"{host}: {disk['path']} {what}",),
                f"free space under {disk['path']} on {host}, then: {facts.resume}",
            )


def _devices(facts: Facts) -> Iterator[Cause]:
    for host, node in facts.nodes.items():
        lines = [quoted(host, line) for line in node.get("kernel", {}).get("lines", ())]
        gpus = [line for line in lines if "xid" in line.lower()]
        disks = [
            line for line in lines if re.search("i/o error|fs error|not responding", line.lower())
        ]
        if gpus:
            yield Cause(
                90,
                f"a GPU of {host} reports an error",
                tuple(gpus[-3:]),
                f"nvidia-smi -q on {host}; leave it out: {facts.resume} --nodes N",
            )
        if disks:
            yield Cause(
                72,
                f"a disk or file server of {host} does not answer",
                tuple(disks[-3:]),
                f"df and mount on {host}",
            )


def _unexplained(facts: Facts) -> Cause:
    node, tail = str(facts.failure.get("node", "")), facts.failure.get("tail", ())
    reasons = [
        f"{host}: {supervisor['reason']}"
        for host, supervisor in facts.supervisors.items()
        if supervisor.get("reason")
    ]
    lines = [f"{node}: {facts.failure['what']}"] if facts.failure else reasons[:2]
    lines += [quoted(node, line) for line in tail[-5:]]
    where = node or next(iter(facts.supervisors), "")
    return Cause(
        30,
        f"it is {facts.state}, and nothing that is known explains it",
        tuple(lines),
        facts.logs(where),
    )


def _nothing_wrong(facts: Facts) -> Cause:
    if facts.state == "finished":
        return Cause(
            0,
            f"nothing is wrong: it finished at step {facts.step}",
            (),
            f"{program()} train.status",
        )
    gets_on = (
        f"last step {facts.step}, {facts.silence:.1f} s ago; usually a line every"
        f" {facts.usual_gap:.1f} s"
    )
    return Cause(
        0,
        "nothing is wrong: it gets on as usual",
        (gets_on,),
        f"{program()} train.logs --name {facts.name} --follow",
    )


def _launch(facts: Facts) -> str:
    return f"{program()} train.launch --profile {facts.job.get('profile', 'P')} --name {facts.name}"


def _link_lines(facts: Facts, node: str) -> list[str]:
    if node in facts.silent:
        return [f"{node} does not answer over SSH either"]
    if node in facts.nodes:
        return [
            f"{node} answers over SSH, and is up for {facts.nodes[node].get('uptime', 0):.0f} s"
        ]
    return []
