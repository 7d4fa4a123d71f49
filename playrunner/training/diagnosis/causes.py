"""Why a run has not started, hangs, is slow or failed: what is known of it, turned into causes, the
likeliest first."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator

from playrunner.training.diagnosis.evidence import Cause, Facts, listed, told
from playrunner.training.diagnosis.slowness import slowed_down
from playrunner.training.diagnosis.standstill import standing_still
from playrunner.training.diagnosis.symptoms import from_collectives, from_output

__all__ = ["Cause", "Facts", "causes"]

_BAD_INPUT, _UNHEALTHY, _ASKED_TO_END = 5, 6, 75
_CODE = re.compile(r"exitcode\s*:\s*(-?\d+)|return code = (-?\d+)|ended with code (\d+)")
_LITTLE_SPACE_MIB = 100


def causes(facts: Facts) -> list[Cause]:
    """All that speaks for something, the likeliest first; never empty."""
    rules: tuple[Callable[[Facts], Iterator[Cause]], ...] = (
        _not_started,
        _silent_nodes,
        _lost_keepers,
        _ended_on_purpose,
        _lease,
        _lost_nodes,
        _killed,
        _loss,
        _bad_input,
        _asked_to_end,
        _disk,
        _devices,
        from_collectives,
        from_output,
        standing_still,
        slowed_down,
    )
    found: dict[str, Cause] = {}
    for rule in rules:
        for cause in rule(facts):
            known = found.get(cause.title)
            found[cause.title] = max(known, cause, key=lambda each: each.score) if known else cause
    ranked = sorted(found.values(), key=lambda cause: -cause.score)
    if not facts.going_on and facts.state != "finished" and not ranked:
        ranked.append(_unexplained(facts))
    return ranked or [_nothing_wrong(facts)]


def _not_started(facts: Facts) -> Iterator[Cause]:
    for complaint in facts.preflight:
        yield Cause(90, f"preflight: {complaint}", (), f"mend it, then: {_launch(facts)}")
    if facts.state == "not started" and not facts.preflight:
        yield Cause(
            40,
            "it was never launched on these nodes, and nothing stands in its way",
            (),
            _launch(facts),
        )


def _silent_nodes(facts: Facts) -> Iterator[Cause]:
    for host, why in facts.silent.items():
        yield Cause(
            95,
            f"{host} does not answer",
            (why,),
            f"is it up? ssh to {host}; on the sandbox: invoke sandbox.up; then: {facts.resume}",
        )


def _lost_keepers(facts: Facts) -> Iterator[Cause]:
    for host, said in facts.keepers.items():
        if said.get("state") == "lost":
            now = facts.nodes.get(host, {})
            restarted = bool(now.get("boot") and said.get("boot") and now["boot"] != said["boot"])
            what = f"{host} has restarted" if restarted else f"the keeper on {host} was killed"
            lines = [str(said.get("reason", ""))]
            if restarted:
                lines.append(f"{host} is up for {now.get('uptime', 0):.0f} s")
            yield Cause(94, what, tuple(filter(None, lines)), facts.resume)


def _ended_on_purpose(facts: Facts) -> Iterator[Cause]:
    if facts.state == "stopped":
        reason = next(
            (str(said["reason"]) for said in facts.keepers.values() if said.get("reason")),
            "asked to stop",
        )
        yield Cause(90, f"it was stopped at step {facts.step}", (reason,), facts.resume)


def _lease(facts: Facts) -> Iterator[Cause]:
    what = str(facts.failure.get("what", ""))
    if what.startswith("the controller has not been heard from"):
        yield Cause(
            96,
            "its lease ran out: whoever launched it was gone, or could not reach the first node",
            (f"{facts.failure.get('node')}: {what}",),
            f"{facts.resume} --detach (it then goes on by itself)",
        )


def _lost_nodes(facts: Facts) -> Iterator[Cause]:
    what, node = str(facts.failure.get("what", "")), str(facts.failure.get("node", ""))
    lost = sorted({name for said in facts.keepers.values() for name in said.get("lost", ())})
    if what.startswith("did not join"):
        yield Cause(
            94,
            f"{node} never joined",
            (f"{node} {what}", *_link_lines(facts, node)),
            f"invoke train.logs --name {facts.name} --host {node}; invoke train.bench",
        )
    elif what.startswith("the first node has not been heard from"):
        yield Cause(
            94, f"{node} lost the first node", (what,), "invoke train.bench; invoke train.status"
        )
    elif what.startswith("has not been heard from"):
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
            f"bring {listed(lost)} back, and it joins again",
        )


def _killed(facts: Facts) -> Iterator[Cause]:
    """SIGKILL and crashes, also where a launcher only passes on a code."""
    what, node = str(facts.failure.get("what", "")), str(facts.failure.get("node", ""))
    code = _signal_of(facts)
    if code == signal.SIGSEGV:
        yield Cause(
            87,
            f"a process on {node} crashed in native code",
            (f"{node}: {what}",),
            facts.logs(node),
        )
    if code != signal.SIGKILL or "heard from" in what or "join" in what:
        return
    said = facts.nodes.get(node, {})
    kernel = said.get("kernel", {})
    lines = [
        told(node, line)
        for line in kernel.get("lines", ())
        if "memory" in line.lower() or "oom" in line.lower()
    ]
    if lines:
        yield Cause(
            98,
            f"{node} ran out of memory and its kernel killed the process",
            (f"{node}: {what}", *lines[-3:]),
            f"{facts.resume} --set train.device_batch_size=N (half of what it was), or a node with"
            " more memory",
        )
        return
    hints = [f"{node}: {what}"]
    if said.get("memory", {}).get("killed_in_group"):
        hints.append(
            f"{node}: its control group has killed {said['memory']['killed_in_group']} processes"
            " for memory so far"
        )
    hints.append(kernel.get("unread") or f"{node}: the kernel's log names no lack of memory")
    yield Cause(
        85,
        f"a process on {node} was killed from outside: by hand, by a scheduler, or for lack of"
        " memory",
        tuple(hints),
        facts.resume,
    )


def _loss(facts: Facts) -> Iterator[Cause]:
    lines = [
        told(host, line)
        for host, line in facts.said()
        if "the loss is nan" in line or "the loss is inf" in line
    ]
    if lines:
        yield Cause(
            96,
            "the loss is no longer a number",
            tuple(dict.fromkeys(lines))[:2],
            f"{facts.resume} --set train.optimizer.lr=LOWER (the newest checkpoint is from before)",
        )
    elif facts.failure and _code_of(facts) == _UNHEALTHY:
        lines = [
            told(host, line)
            for host, line in facts.said()
            if "gate:" in line or "nobody said go" in line
        ]
        yield Cause(
            84,
            "the network or the training was not healthy (code 6)",
            tuple(dict.fromkeys(lines))[:3],
            "invoke train.bench",
        )


def _bad_input(facts: Facts) -> Iterator[Cause]:
    if facts.failure and _code_of(facts) == _BAD_INPUT:
        lines = [
            told(host, line)
            for host, line in facts.said()
            if "trainer: " in line or "gate: " in line
        ]
        yield Cause(
            95,
            "the trainer refused what it was given",
            tuple(dict.fromkeys(lines))[:3],
            f"change the setting that it names: {facts.resume} --set NAME=VALUE",
        )


def _asked_to_end(facts: Facts) -> Iterator[Cause]:
    if facts.failure and _code_of(facts) == _ASKED_TO_END:
        node = str(facts.failure.get("node", ""))
        yield Cause(
            93,
            f"a process on {node} was asked to end (SIGTERM) by somebody else: the machine going"
            " down, or by hand",
            (f"{node}: {facts.failure.get('what')}", f"it saved first, at step {facts.step}"),
            facts.resume,
        )


def _disk(facts: Facts) -> Iterator[Cause]:
    for host, said in facts.nodes.items():
        disk = said.get("disk", {})
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
    for host, said in facts.nodes.items():
        lines = [told(host, line) for line in said.get("kernel", {}).get("lines", ())]
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
        f"{host}: {said['reason']}" for host, said in facts.keepers.items() if said.get("reason")
    ]
    lines = [f"{node}: {facts.failure['what']}"] if facts.failure else reasons[:2]
    lines += [told(node, line) for line in tail[-5:]]
    where = node or next(iter(facts.keepers), "")
    return Cause(
        30,
        f"it is {facts.state}, and nothing that is known explains it",
        tuple(lines),
        facts.logs(where),
    )


def _nothing_wrong(facts: Facts) -> Cause:
    if facts.state == "finished":
        return Cause(
            0, f"nothing is wrong: it finished at step {facts.step}", (), "invoke train.status"
        )
    gets_on = (
        f"last step {facts.step}, {facts.silence:.1f} s ago; usually a line every"
        f" {facts.usual_gap:.1f} s"
    )
    return Cause(
        0,
        "nothing is wrong: it gets on as usual",
        (gets_on,),
        f"invoke train.logs --name {facts.name} --follow",
    )


def _launch(facts: Facts) -> str:
    return f"invoke train.launch --profile {facts.job.get('profile', 'P')} --name {facts.name}"


def _link_lines(facts: Facts, node: str) -> list[str]:
    if node in facts.silent:
        return [f"{node} does not answer over SSH either"]
    if node in facts.nodes:
        return [
            f"{node} answers over SSH, and is up for {facts.nodes[node].get('uptime', 0):.0f} s"
        ]
    return []


def _code_of(facts: Facts) -> int:
    """The code that a rank ended with; a launcher tells it in its own words and ends with 1 itself."""
    code = int(facts.failure.get("code", 0))
    if code == 1 and not re.match(r"rank \d+ ", str(facts.failure.get("what", ""))):
        for line in facts.failure.get("tail", ()):
            match = _CODE.search(line)
            if match:
                return int(next(filter(None, match.groups())))
    return code


def _signal_of(facts: Facts) -> int:
    """The signal that ended a process; 0 for none. DeepSpeed's launcher ends with 256 less the
    number, shells with 128 more."""
    code = _code_of(facts)
    if code < 0:
        return -code
    return {247: signal.SIGKILL, 137: signal.SIGKILL, 245: signal.SIGSEGV, 139: signal.SIGSEGV}.get(
        code, 0
    )
