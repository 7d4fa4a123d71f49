"""One pod, from the moment it has a node until it is gone: prepared, run, looked after, ended."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.client import ApiError, Unreachable
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.injected_faults import InjectedFaults
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    PODS,
    Object,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.kubelet import folders, images, status
from playrunner.sandbox.kube.controllers.kubelet.addresses import Addresses
from playrunner.sandbox.kube.controllers.kubelet.container import ContainerRun
from playrunner.sandbox.kube.controllers.kubelet.container_history import (
    ContainerHistory,
    take_over,
)
from playrunner.sandbox.kube.controllers.kubelet.container_setup import ContainerSetup
from playrunner.sandbox.kube.controllers.kubelet.environment import ConfigMissing
from playrunner.sandbox.kube.controllers.kubelet.folders import NotMounted
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import MountNamespace

LOOK_AGAIN_SECONDS = 0.3  # at something that is missing
DEFAULT_GRACE_SECONDS = 30


class PodWorker:
    """Its own thread acts; everybody else only leaves word and wakes it."""

    def __init__(self, context: ControllerContext, pod: Object, folder: Path) -> None:
        self.context, self.pod, self.folder = context, pod, folder
        self.uid = uid_of(pod)
        self.address = context.the(Addresses).take(self.uid)
        spec = pod["spec"]
        self.inits = [ContainerHistory(one) for one in spec.get("initContainers") or ()]
        self.mains = [ContainerHistory(one) for one in spec["containers"]]
        self.gone = False  # nothing is left of it
        self._setup: ContainerSetup | None = None
        self._settled = is_over(pod)  # it ended before this worker began: only its logs are kept
        self._down = self._lost = self._stale = False
        self._failed_as: tuple[str, str] | None = None  # evicted, for instance
        self._kill_at: float | None = None
        self._told: Object = {}
        self._wake, self._lock = threading.Event(), threading.Lock()
        take_over(pod, self.inits, self.mains)

    def start(self) -> None:
        threading.Thread(target=self._run, name="/".join(key_of(self.pod)), daemon=True).start()

    def update(self, pod: Object) -> None:
        """The pod changed."""
        self._saw(pod)
        self._wake.set()

    def refresh(self) -> None:
        """Something that it mounts has changed."""
        self._stale = True
        self._wake.set()

    def machine_down(self, down: bool) -> None:
        """Its machine crashed, or is back: whatever ran is dead, and only a machine that is up says
        so."""
        self._down = down
        self._wake.set()

    def lose(self) -> None:
        """The pod, or its machine, is no more."""
        self._lost = True
        self._wake.set()

    def fail(self, reason: str, message: str) -> None:
        """End it as failed, as a node under pressure does."""
        self._failed_as = (reason, message)
        self._wake.set()

    def kill_container(self, name: str, reason: str) -> None:
        """As the kernel does to one that takes too much memory."""
        history = self.history(name)
        if history.run is not None:
            history.run.kill(reason)

    def end_with(self, name: str, line: str) -> None:
        """As a program that prints what is wrong and ends."""
        history = self.history(name)
        place = self.log_of(history, False)
        if history.run is not None and place is not None:
            moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            with place.open("ab") as file:
                file.write(f"{moment} {line}\n".encode())
            history.run.kill("Error")

    def history(self, name: str) -> ContainerHistory:
        return next(
            history for history in [*self.mains, *self.inits] if history.name == name or not name
        )

    def mounts_of(self, history: ContainerHistory) -> MountNamespace | None:
        return self._setup.mount_namespace(history.container) if self._setup is not None else None

    def log_of(self, history: ContainerHistory, previous: bool) -> Path | None:
        """Where the log of its run, or of the run before, is."""
        number = history.restarts - (1 if previous or not (history.runs or history.over) else 0)
        place = self._log_file(history, number)
        return place if number >= 0 and place.exists() else None

    def _run(self) -> None:
        while not self.gone:
            try:
                pause = self._step()
            except (ApiError, Unreachable) as error:
                if not (isinstance(error, ApiError) and error.passes):
                    print(f"pod {'/'.join(key_of(self.pod))}: {error}", file=sys.stderr, flush=True)
                pause = LOOK_AGAIN_SECONDS
            except Exception:  # one pod that fails must not end the others
                print(
                    f"pod {'/'.join(key_of(self.pod))}:\n{traceback.format_exc()}",
                    file=sys.stderr,
                    flush=True,
                )
                pause = 5.0
            self._wake.wait(pause)
            self._wake.clear()

    def _step(self) -> float | None:
        """Whatever is due; how long nothing will be."""
        if self._lost or self._down:
            self._kill_all()
            if self._lost:
                self._clear_away()
            return None
        if is_leaving(self.pod):
            return self._terminate()
        if self._settled:
            return None
        if self._failed_as is not None:
            self._kill_all()
            self._note_ends()
            self._settled = not any(history.runs for history in self._histories())
            self._report()
            return 0.05 if not self._settled else None
        if not self._prepare():
            self._report()
            return LOOK_AGAIN_SECONDS
        self._advance_all()
        self._report()
        self._settled = self._told.get("phase") in ("Succeeded", "Failed")
        due = [look for history in self._histories() if (look := history.next_look()) is not None]
        return max(0.01, min(due) - time.monotonic()) if due else None

    def _prepare(self) -> bool:
        """Its folder and volumes; whether all of it is there."""
        if self._setup is not None:
            if self._stale:
                self._stale = False
                with suppress(NotMounted):  # what was there stays
                    self._setup.refresh()
            return True
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._setup = ContainerSetup.of(self.context, self.pod, self.folder, self.address)
        except NotMounted as missing:
            self.context.event(self.pod, "Warning", "FailedMount", str(missing), "kubelet")
            return False
        return True

    def _advance_all(self) -> None:
        policy = self.pod["spec"].get("restartPolicy", "Always")
        for history in self.inits:
            sidecar = history.container.get("restartPolicy") == "Always"
            self._advance(
                history, "Always" if sidecar else "Never" if policy == "Never" else "OnFailure"
            )
            if not (
                history.started
                if sidecar
                else history.over and history.last is not None and history.last.code == 0
            ):
                return
        for history in self.mains:
            self._advance(history, policy)
        if all(history.over for history in self.mains):
            for history in self.inits:
                if history.run is not None:
                    history.run.kill()

    def _advance(self, history: ContainerHistory, policy: str) -> None:
        """Advance one container: notice its end, restart it, run its probes."""
        if history.run is not None and history.run.ended is not None:
            again = policy == "Always" or (policy == "OnFailure" and history.run.ended.code != 0)
            history.end(again)
            if history.waiting[0] == "CrashLoopBackOff" and again:
                said = (
                    f"Back-off restarting failed container {history.name} in pod"
                    f" {self.pod['metadata']['name']}_{self.uid}"
                )
                self.context.event(self.pod, "Warning", "BackOff", said, "kubelet")
        if history.run is None and not history.over and time.monotonic() >= history.not_before:
            self._begin(history)
        history.ask()

    def _begin(self, history: ContainerHistory) -> None:
        assert self._setup is not None
        fault = self.context.the(InjectedFaults).for_container(self.pod, history.container)
        if fault is not None:
            if history.waiting != (fault.reason, fault.message):
                self.context.event(
                    self.pod, "Warning", "Failed", fault.message or fault.reason, "kubelet"
                )
            history.wait(fault.reason, fault.message, LOOK_AGAIN_SECONDS)
            return
        try:
            mounts = self._setup.mount_namespace(history.container, fresh=True)
        except ConfigMissing as missing:
            if history.waiting[0] != "CreateContainerConfigError":
                self.context.event(self.pod, "Warning", "Failed", f"Error: {missing}", "kubelet")
            history.wait("CreateContainerConfigError", str(missing), LOOK_AGAIN_SECONDS)
            return
        sidecar = history.container.get("restartPolicy") == "Always"
        ends = not sidecar and (
            history in self.inits or self.pod["spec"].get("restartPolicy", "Always") != "Always"
        )
        command, mounts = images.command_in(history.container, mounts, ends)
        log = self._log_file(history, history.restarts)
        log.parent.mkdir(parents=True, exist_ok=True)
        mark = f"{self.uid}/{history.name}/{history.restarts}"
        run = ContainerRun(mounts, command, log, mark, self.context.folder, self._wake.set)
        history.begin(run, mounts, self.address)
        started = f"Started container {history.name}"
        self.context.event(self.pod, "Normal", "Started", started, "kubelet")

    def _terminate(self) -> float | None:
        """Ask, wait as long as it may take, kill; then the pod may go."""
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace
            for history in self._histories():
                if history.run is not None:
                    history.run.terminate()
        self._kill_at = min(self._kill_at, time.monotonic() + grace)
        if time.monotonic() >= self._kill_at:
            self._kill_all()
        self._note_ends()
        if any(history.runs for history in self._histories()):
            return max(0.02, min(self._kill_at - time.monotonic(), 1.0))
        if not self._settled:
            self._report()
        self.context.delete(PODS, self.pod, grace=0)
        self._clear_away()
        return None

    def _kill_all(self) -> None:
        for history in self._histories():
            if history.run is not None and history.run.ended is None:
                history.run.kill()

    def _note_ends(self) -> None:
        """Of containers that will not be restarted."""
        for history in self._histories():
            if history.run is not None and history.run.ended is not None:
                history.end(again=False)

    def _report(self) -> None:
        """Tell the API, when there is something new."""
        wanted = status.pod_status(self.pod, self.inits, self.mains, self.address, self._failed_as)
        if wanted != self._told:
            self._saw(self.context.patch_status(PODS, self.pod, wanted))
            self._told = wanted

    def _saw(self, pod: Object) -> None:
        """Take it for the newest, unless a newer one was heard of meanwhile."""
        with self._lock:
            if int(pod["metadata"]["resourceVersion"]) >= int(
                self.pod["metadata"]["resourceVersion"]
            ):
                self.pod = pod

    def _clear_away(self) -> None:
        self._kill_all()
        self.context.the(Addresses).give_back(self.uid)
        folders.remove(self.folder)
        self.gone = True

    def _histories(self) -> list[ContainerHistory]:
        return [*self.inits, *self.mains]

    def _log_file(self, history: ContainerHistory, number: int) -> Path:
        return self.folder / "logs" / history.name / f"{number}.log"
