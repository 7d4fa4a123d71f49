"""Why a run that began does not get on: crashes, lost nodes, names that do not resolve, a
standstill, or a slow pace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, takewhile
from statistics import median

from playrunner.kube.watch import reasons
from playrunner.project import program
from playrunner.training.diagnosis import blame
from playrunner.training.diagnosis.evidence import Cause
from playrunner.training.kube.diagnosis.facts import Facts
from playrunner.training.kube.runs.bad_nodes import restarts_of
from playrunner.training.kube.runs.give_up import CLAIM_GONE, NO_OPERATOR
from playrunner.training.kube.runs.pod_output import not_restarted
from playrunner.training.kube.runs.selection import GOING_ON

STILL_SECONDS, STILL_GAPS = (
    60.0,
    8,
)  # without a line for this long, and for so many times the usual gap
SLOWER, DATA_SHARE = 1.5, 0.3
ENOUGH = 20  # lines: the first steps of a run say little about its pace
_WAITING = re.compile(r"pod: (?:waiting for )?(\S+) (?:\(|did not answer)")
_RESUMED = re.compile(r"checkpoint: resuming from (\S+) in ")
_WRONG = re.compile(r"\b\w*(?:Error|Exception): |trainer: ")
LOOP_STARTS = 3  # from one checkpoint; scaling and a lost node start a run again, too, once each
_NO_NAME = (
    "Name or service not known",
    "Temporary failure in name resolution",
    "nodename nor servname",
    "No address associated",
)
_LOST = (
    "NodeLost",
    "NodeNotReady",
    "NodeShutdown",
    "TaintManagerEviction",
    "Evicted",
    "SpotInterruption",
    "Preempted",
    "DeletionByTaintManager",
)


def troubles(facts: Facts) -> Iterator[Cause]:
    yield from _on_purpose(facts)
    yield from _gone(facts)
    yield from _given_up(facts)
    yield from _not_restarted(facts)
    yield from _crashes(facts)
    yield from _refused(facts)
    yield from _loops(facts)
    yield from _lost_nodes(facts)
    yield from _bad_nodes(facts)
    yield from _meeting(facts)
    yield from _standstill(facts)
    yield from _slow(facts)


def _on_purpose(facts: Facts) -> Iterator[Cause]:
    if facts.run.state == "stopped":
        yield Cause(90, "it was stopped", (facts.run.status.reason,), facts.resume)


def _gone(facts: Facts) -> Iterator[Cause]:
    if facts.run.state == "lost":
        yield Cause(
            90, "its job was deleted by another process", (facts.run.status.reason,), facts.resume
        )


def _given_up(facts: Facts) -> Iterator[Cause]:
    if facts.run.state == "failed" and facts.run.status.phase in (NO_OPERATOR, CLAIM_GONE):
        yield Cause(94, facts.run.status.reason, (), f"{facts.resume}, once that is fixed")


def _not_restarted(facts: Facts) -> Iterator[Cause]:
    """What its pods have found once they failed; why they did has a cause of its own."""
    lines = [line for name in sorted(facts.logs) for line in facts.logs[name]]
    for why in not_restarted(lines)[:1]:
        yield Cause(80, f"it is not started again: {why}", (), f"{facts.see_logs} --all")


def _crashes(facts: Facts) -> Iterator[Cause]:
    for pod in facts.run.pods:
        name = str(pod["metadata"]["name"])
        tail = [line for line in facts.logs.get(name, ()) if line.strip()][-5:]
        for text in reasons.pod(pod, tail[-1] if tail else ""):
            if "OOMKilled" in text:
                yield Cause(
                    97,
                    f"{name} ran out of memory and was killed",
                    tuple(tail),
                    f"{facts.resume} --set train.device_batch_size=N (half of what it was), or"
                    " nodes with more memory",
                )
            elif "ends again and again" in text or "exit code" in text:
                score = 85 if facts.run.state != "finished" else 20
                yield Cause(score, text, tuple(tail), f"{facts.see_logs} --host {name}")


def _refused(facts: Facts) -> Iterator[Cause]:
    """What the trainer itself says it cannot do."""
    lines_of_trainer = [
        line
        for lines in facts.logs.values()
        for line in lines
        if re.search(r"^(\[\d+\] )?trainer: (?!asked to end)", line)
    ]
    if lines_of_trainer and facts.run.state in ("failed", *GOING_ON):
        loss = any("the loss is" in line for line in lines_of_trainer)
        what = "the loss is no longer a number" if loss else "the trainer refused to go on"
        how = (
            "--set train.optimizer.lr=LOWER"
            if loss
            else "--set NAME=VALUE for the setting it names"
        )
        yield Cause(96, what, tuple(dict.fromkeys(lines_of_trainer))[-2:], f"{facts.resume} {how}")
    trouble = [
        line
        for lines in facts.logs.values()
        for line in lines
        if "Failed to get list of machines" in line
    ]
    if trouble:
        yield Cause(
            95,
            "etcd does not answer, and the pods meet there",
            (trouble[-1],),
            f"{program()} etcd.check; train_etcd names its service; train_rendezvous: c10d needs"
            " none",
        )


def _loops(facts: Facts) -> Iterator[Cause]:
    """Ranks that begin again and again from one and the same checkpoint."""
    if facts.run.state not in GOING_ON:
        return
    for pod, lines in facts.logs.items():
        resumed = [match[1] for line in lines if (match := _RESUMED.search(line))]
        times = _last_in_a_row(resumed)
        if times >= LOOP_STARTS:
            wrong = [line for line in lines if _WRONG.search(line)]
            yield Cause(
                92,
                f"it goes round in a loop: {times} starts in a row from {resumed[-1]}, and no newer"
                " checkpoint",
                tuple(dict.fromkeys(wrong))[-2:],
                f"{facts.see_logs} --host {pod}; {program()} train.stop --name {facts.run.name}",
            )
            return


def _last_in_a_row(names: list[str]) -> int:
    return len(list(takewhile(lambda name: name == names[-1], reversed(names))))


def _lost_nodes(facts: Facts) -> Iterator[Cause]:
    said = [event for event in facts.events if event.get("reason") in _LOST]
    lost = [pod for pod in facts.run.pods if str((pod.get("status") or {}).get("reason")) in _LOST]
    if said or lost:
        lines = [" ".join(str(event.get("message")).split()) for event in said[-2:]]
        lines += [
            f"{pod['metadata']['name']}: {pod['status']['reason']} on {pod['spec'].get('nodeName')}"
            for pod in lost[:2]
        ]
        score = 70 if facts.run.state in GOING_ON else 88
        yield Cause(
            score,
            "a node was lost, or its pods were driven off it",
            tuple(lines),
            "kubectl get nodes; its pods come back elsewhere where there is room; else:"
            f" {facts.resume} --nodes N",
        )


def _bad_nodes(facts: Facts) -> Iterator[Cause]:
    nodes = {str((pod.get("spec") or {}).get("nodeName") or "") for pod in facts.run.pods} - {""}
    suspects = blame.suspects(
        facts.ends, nodes, dict(facts.conditions), restarts_of(facts.run.pods)
    )
    for suspect in suspects:
        again = (
            f"; kubectl delete pod -n {facts.run.namespace} {suspect.pod}" if suspect.pod else ""
        )
        if suspect.proved:
            yield Cause(
                93,
                f"the {suspect.kind} of {suspect.node} is at fault: {suspect.why}"
                if suspect.kind != blame.NODE
                else f"node {suspect.node} is at fault: {suspect.why}",
                suspect.evidence,
                f"{program()} nodes.quarantine {suspect.node}{again}",
                suspect.against,
            )
        else:
            yield Cause(
                15,
                f"node {suspect.node}, on which it failed {suspect.times} times",
                suspect.evidence,
                f"{facts.see_logs} --host {suspect.pod}",
                suspect.against,
            )
    fault = blame.not_a_node(facts.ends)
    if fault and not any(suspect.proved for suspect in suspects):
        where = sorted({end.node for end in facts.ends})
        yield Cause(
            90,
            f"a fault of {fault.kind}, of no node: {fault.sign}",
            (f"it ended on {', '.join(where)}",) if where else (),
            f"{facts.see_logs} --all; {facts.resume}, once that is fixed",
        )


def _meeting(facts: Facts) -> Iterator[Cause]:
    """Pods that wait for the one at which all meet."""
    if facts.metrics and facts.run.state != "pending":
        return
    for pod, lines in facts.logs.items():
        waiting = [line for line in lines if _WAITING.search(line)]
        if not waiting:
            continue
        where = (_WAITING.search(waiting[-1]) or [""] * 2)[1]
        if any(text in waiting[-1] for text in _NO_NAME):
            yield Cause(
                84,
                f"the name {where.rpartition(':')[0]} does not resolve in {pod}",
                (waiting[-1],),
                f"{program()} train.netcheck --name {facts.run.name}; kubectl get pods -n"
                " kube-system -l"
                " k8s-app=kube-dns",
            )
        else:
            yield Cause(
                78,
                f"{pod} waits for {where}, which does not answer yet",
                (waiting[-1],),
                f"{program()} train.netcheck --name {facts.run.name}; {program()} train.status"
                " --name"
                f" {facts.run.name}",
            )
        return


def _standstill(facts: Facts) -> Iterator[Cause]:
    if facts.run.state != "running" or len(facts.metrics) < 2:
        return
    times = [float(each["time"]) for each in facts.metrics if each.get("time")]
    usual = median(later - earlier for earlier, later in pairwise(times)) if len(times) > 1 else 0.0
    silent = facts.now - times[-1] if times else 0.0
    if silent > STILL_SECONDS and silent > STILL_GAPS * usual:
        title = (
            f"it stands still: nothing for {silent:.0f} s after step {facts.metrics[-1]['step']},"
            f" usually a line every {usual:.1f} s"
        )
        yield Cause(
            83,
            title,
            _last_lines(facts),
            f"{facts.see_logs} --all; {program()} train.top --name {facts.run.name}; {program()}"
            f" train.netcheck --name {facts.run.name}",
        )


def _slow(facts: Facts) -> Iterator[Cause]:
    paces = [float(each["step_seconds"]) for each in facts.metrics if each.get("step_seconds")]
    if facts.run.state != "running" or len(paces) < ENOUGH:
        return
    before, now = median(paces[1 : len(paces) // 2]), median(paces[-8:])
    if now > SLOWER * before:
        yield Cause(
            60,
            f"it became slower: {now:.2f} s a step, {before:.2f} s before",
            (),
            f"{program()} train.top --name {facts.run.name}; kubectl top nodes",
        )
    waited = [
        float(each.get("data_wait_seconds") or 0) / float(each["step_seconds"])
        for each in facts.metrics[-5:]
        if each.get("step_seconds")
    ]
    if waited and median(waited) > DATA_SHARE:
        yield Cause(
            65,
            f"it waits for data {100 * median(waited):.0f} % of the time",
            (),
            f"{facts.resume} --set train.data.workers=N; tokens on the claim instead of a stream",
        )


def _last_lines(facts: Facts) -> tuple[str, ...]:
    return tuple(f"{pod}: {lines[-1]}" for pod, lines in facts.logs.items() if lines)[:3]
