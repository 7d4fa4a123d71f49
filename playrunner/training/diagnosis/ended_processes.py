"""Why a process ended: killed, out of memory, a loss that is not a number, or input it refused."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from playrunner.project import program
from playrunner.training.diagnosis.evidence import Cause, Facts, quoted
from trainer.node.failure import LAUNCHER, RANK

_BAD_INPUT, _UNHEALTHY, _ASKED_TO_END = 5, 6, 75
_CODE = re.compile(r"exitcode\s*:\s*(-?\d+)|return code = (-?\d+)|ended with code (\d+)")


def killed(facts: Facts) -> Iterator[Cause]:
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
    if code == signal.SIGBUS:
        yield Cause(
            87,
            f"a process on {node} lost a part of its memory: a file that it had mapped became"
            " shorter, or /dev/shm is full",
            (f"{node}: {what}",),
            f"df -h /dev/shm on {node}; {facts.resume}",
        )
    if code != signal.SIGKILL or facts.failure.get("kind") not in (RANK, LAUNCHER):
        return
    vitals = facts.nodes.get(node, {})
    kernel = vitals.get("kernel", {})
    lines = [
        quoted(node, line)
        for line in kernel.get("lines", ())
        if "memory" in line.lower() or "oom" in line.lower()
    ]
    if lines:
        yield Cause(
            98,
            f"{node} ran out of memory and its kernel killed the process",
            (f"{node}: {what}", *lines[-3:]),
            f"{facts.smaller_batch}, or a node with more memory",
        )
        return
    hints = [f"{node}: {what}"]
    if vitals.get("memory", {}).get("killed_in_group"):
        hints.append(
            f"{node}: its control group has killed {vitals['memory']['killed_in_group']} processes"
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


def loss(facts: Facts) -> Iterator[Cause]:
    lines = [
        quoted(host, line)
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
        lines = [quoted(host, line) for host, line in facts.said() if "gate:" in line]
        yield Cause(
            84,
            "the network or the training was not healthy (code 6)",
            tuple(dict.fromkeys(lines))[:3],
            f"{program()} train.bench",
        )


def bad_input(facts: Facts) -> Iterator[Cause]:
    if facts.failure and _code_of(facts) == _BAD_INPUT:
        lines = [
            quoted(host, line)
            for host, line in facts.said()
            if "trainer: " in line or "gate: " in line
        ]
        yield Cause(
            95,
            "the trainer refused what it was given",
            tuple(dict.fromkeys(lines))[:3],
            f"change the setting that it names: {facts.resume} --set NAME=VALUE",
        )


def asked_to_end(facts: Facts) -> Iterator[Cause]:
    if facts.failure and _code_of(facts) == _ASKED_TO_END:
        node = str(facts.failure.get("node", ""))
        yield Cause(
            93,
            f"a process on {node} was asked to end (SIGTERM) by another process: the machine going"
            " down, or by hand",
            (f"{node}: {facts.failure.get('what')}", f"it saved first, at step {facts.step}"),
            facts.resume,
        )


def _code_of(facts: Facts) -> int:
    """The code that a rank ended with; a launcher tells it in its own words and ends with 1
    itself."""
    code = int(facts.failure.get("code", 0))
    if code == 1 and facts.failure.get("kind") == LAUNCHER:
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
    ends = (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS)
    return next((each for each in ends if code in (256 - each, 128 + each)), 0)
