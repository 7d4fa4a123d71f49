"""Runs in which one permission is denied: what they say, and what they have done by then.

A run that is denied something stops there, and the next one goes on from there. So the permissions
are denied in the order in which a whole run needs them, each starting from what the last run left;
only what was done before it could be denied waits for another round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.aws import permissions
from tests.support.aws.rehearsing import Rehearsal
from tests.support.aws.sandbox import PretendAws

Calls = dict[str, dict[str, str]]  # the calls that a permission is for, as a fault names them
Ran = dict[str, Any]


class Denials:
    """An account, the process that works in it, and which permissions were denied to it."""

    def __init__(self, aws: PretendAws, rehearsal: Rehearsal) -> None:
        self.aws, self.rehearsal = aws, rehearsal
        self.unnamed: dict[str, str] = {}  # permissions that a denied run did not name: its words

    def whole(self, ran: Ran) -> Calls:
        """The calls of a run that went well, by the permission that each needed first."""
        assert ran["code"] == 0, ran["text"]
        calls = [
            call
            for call in self.aws.calls(lease=True)
            if "playrunner" in call["agent"] and call["permission"] != "sts:GetCallerIdentity"
        ]
        self.aws.control("DELETE", "calls")
        permissions.check(calls)  # with the policies of the page nothing is denied
        found: Calls = {}
        for call in calls:
            known = found.setdefault(
                str(call["permission"]), {"service": call["service"], "action": call["action"]}
            )
            if call["action"] not in known["action"].split(","):
                known["action"] += f",{call['action']}"
        return found

    def deny(self, name: str, call: dict[str, str], run: Callable[[], Ran]) -> bool:
        """Whether the run asked for what was denied; then it must have named it."""
        self.aws.fault("deny", **call)
        ran = run()
        (fault,) = self.aws.control("GET", "faults")
        self.aws.control("DELETE", "faults")
        self.aws.control("DELETE", "calls")
        if not fault["struck"]:
            return False
        text = ran["text"].replace("\x1e", "")
        told = f"needs the permission {name} " in text or f"may not do {name}:" in text
        if not told or "Traceback" in text or ran["code"] not in (0, 2, 5, 7):
            self.unnamed[name] = f"code {ran['code']}\n{text}"
        print(f"{name}: {'named' if told else 'NOT NAMED'}, code {ran['code']}", flush=True)
        return True

    def deny_each(self, remaining: Calls, run: Callable[[], Ran]) -> None:
        """Deny one after the other, as far as this state of the account allows."""
        for name in list(remaining):
            if not self.deny(name, remaining[name], run):
                break  # the run has gone through, and nothing more will be asked for
            del remaining[name]
