"""A container of a pod over all its runs: what it waits for, how it ended, how often it was
restarted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.kubelet.container import ContainerRun, Ended
from playrunner.sandbox.kube.controllers.kubelet.images import is_placeholder
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import MountNamespace
from playrunner.sandbox.kube.controllers.kubelet.probes import Probe

MOST_PAUSE_SECONDS = 5.0  # five minutes in the real world
LASTED_SECONDS = 30.0  # a run this long makes the next pause short again
PROBES = ("startup", "readiness", "liveness")


@dataclass
class ContainerHistory:
    """One container."""

    container: Object
    run: ContainerRun | None = None
    last: Ended | None = None  # the run before, or the only one when it is over
    restarts: int = 0
    over: bool = False  # it will not be restarted
    waiting: tuple[str, str] = ("ContainerCreating", "")
    not_before: float = 0.0
    began: float = 0.0
    crashes: int = 0
    probes: dict[str, Probe] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.container["name"])

    def begin(self, run: ContainerRun, mounts: MountNamespace, address: str) -> None:
        """A run has started."""
        self.run, self.began = run, time.monotonic()
        command = list(self.container.get("command") or self.container.get("args") or ())
        # A placeholder runs nothing that could answer.
        asked = () if is_placeholder(self.container.get("image", ""), command) else PROBES
        found = {kind: Probe.of(self.container, kind, mounts, address) for kind in asked}
        self.probes = {kind: probe for kind, probe in found.items() if probe is not None}

    def end(self, again: bool) -> None:
        """The run is over; `again`: there will be another after a pause, longer each time."""
        assert self.run is not None and self.run.ended is not None
        self.last, self.run = self.run.ended, None
        self.over = not again
        if not again:
            return
        self.crashes = 1 if time.monotonic() - self.began > LASTED_SECONDS else self.crashes + 1
        pause = (
            0.0 if self.crashes == 1 else min(0.5 * 2.0 ** (self.crashes - 2), MOST_PAUSE_SECONDS)
        )
        self.not_before = time.monotonic() + pause
        self.restarts += 1
        said = f"back-off {pause:g}s restarting failed container={self.name}"
        self.waiting = ("CrashLoopBackOff", said) if pause else ("ContainerCreating", "")

    def wait(self, reason: str, message: str, seconds: float) -> None:
        """It cannot begin now; look again later."""
        self.waiting, self.not_before = (reason, message), time.monotonic() + seconds

    @property
    def runs(self) -> bool:
        return self.run is not None and self.run.ended is None

    @property
    def started(self) -> bool:
        startup = self.probes.get("startup")
        return self.runs and (startup is None or startup.holds)

    @property
    def ready(self) -> bool:
        readiness = self.probes.get("readiness")
        return self.started and (readiness is None or readiness.holds)

    def ask(self) -> None:
        """Its probes, those that are due; one that went without an answer for too long ends the
        run."""
        if not self.runs:
            return
        for kind in PROBES if self.started else ("startup",):
            probe = self.probes.get(kind)
            if probe is None or (kind == "startup" and probe.holds):
                continue
            probe.ask()
            if kind != "readiness" and probe.failed and self.run is not None:
                self.run.kill("Error")

    def next_look(self) -> float | None:
        """When something is due by itself."""
        if self.runs:
            kinds = [
                kind for kind in self.probes if not (kind == "startup" and self.probes[kind].holds)
            ]
            return min((self.probes[kind].due for kind in kinds), default=None)
        return None if self.over else self.not_before


def take_over(pod: Object, inits: list[ContainerHistory], mains: list[ContainerHistory]) -> None:
    """Fill in what an earlier worker reported: what ran under it, before the controllers were
    restarted, is restarted."""
    known = {one["name"]: one for name in ("containerStatuses", "initContainerStatuses")
             for one in (pod.get("status") or {}).get(name) or ()}  # fmt: skip
    for history in [*inits, *mains]:
        status = known.get(history.name) or {}
        history.restarts = int(status.get("restartCount", 0))
        ended = (status.get("state") or {}).get("terminated")
        if ended:
            moments = ended.get("startedAt") or "", ended.get("finishedAt") or ""
            history.last = Ended(ended.get("exitCode", 0), ended.get("reason", ""), *moments)
            history.over = is_over(pod) or history in inits
        elif (status.get("state") or {}).get("running"):
            history.last = Ended(
                137, "Error", status["state"]["running"].get("startedAt", ""), now()
            )
            history.restarts += 1
