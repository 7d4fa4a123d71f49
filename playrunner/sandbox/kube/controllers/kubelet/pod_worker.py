"""One pod, from the moment it has a node until it is gone: prepared, run, looked after, ended."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.client import ApiError, Unreachable
from playrunner.sandbox.kube.controllers.framework.injected_faults import Mishaps
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    PODS,
    Object,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.framework.world import World
from playrunner.sandbox.kube.controllers.kubelet import folders, images, status
from playrunner.sandbox.kube.controllers.kubelet.addresses import Addresses
from playrunner.sandbox.kube.controllers.kubelet.container import ContainerRun
from playrunner.sandbox.kube.controllers.kubelet.container_history import Slot, take_over
from playrunner.sandbox.kube.controllers.kubelet.container_setup import Dress
from playrunner.sandbox.kube.controllers.kubelet.environment import ConfigMissing, expanded
from playrunner.sandbox.kube.controllers.kubelet.folders import NotMounted
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import Box

LOOK_AGAIN_SECONDS = 0.3  # at something that is missing
DEFAULT_GRACE_SECONDS = 30


class PodWorker:
    """Its own thread acts; everybody else only leaves word and wakes it."""

    def __init__(self, world: World, pod: Object, folder: Path) -> None:
        self.world, self.pod, self.folder = world, pod, folder
        self.uid = uid_of(pod)
        self.address = world.the(Addresses).take(self.uid)
        spec = pod["spec"]
        self.inits = [Slot(one) for one in spec.get("initContainers") or ()]
        self.mains = [Slot(one) for one in spec["containers"]]
        self.gone = False  # nothing is left of it
        self._dress: Dress | None = None
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
        slot = self.slot(name)
        if slot.run is not None:
            slot.run.kill(reason)

    def slot(self, name: str) -> Slot:
        return next(slot for slot in [*self.mains, *self.inits] if slot.name == name or not name)

    def box_of(self, slot: Slot) -> Box | None:
        return self._dress.box(slot.container) if self._dress is not None else None

    def log_of(self, slot: Slot, previous: bool) -> Path | None:
        """Where the log of its run, or of the run before, is."""
        number = slot.restarts - (1 if previous or not (slot.runs or slot.over) else 0)
        place = self._log_file(slot, number)
        return place if number >= 0 and place.exists() else None

    def _run(self) -> None:
        while not self.gone:
            try:
                pause = self._step()
            except (ApiError, Unreachable) as error:
                if not (isinstance(error, ApiError) and error.passes):
                    print(f"pod {'/'.join(key_of(self.pod))}: {error}", file=sys.stderr, flush=True)
                pause = LOOK_AGAIN_SECONDS
            except Exception:  # the edge: one pod that we fall over must not end the others
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
            self._settled = not any(slot.runs for slot in self._slots())
            self._report()
            return 0.05 if not self._settled else None
        if not self._prepare():
            self._report()
            return LOOK_AGAIN_SECONDS
        self._advance_all()
        self._report()
        self._settled = self._told.get("phase") in ("Succeeded", "Failed")
        due = [look for slot in self._slots() if (look := slot.next_look()) is not None]
        return max(0.01, min(due) - time.monotonic()) if due else None

    def _prepare(self) -> bool:
        """Its folder and volumes; whether all of it is there."""
        if self._dress is not None:
            if self._stale:
                self._stale = False
                with suppress(NotMounted):  # what was there stays
                    self._dress.refresh()
            return True
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._dress = Dress.of(self.world, self.pod, self.folder, self.address)
        except NotMounted as missing:
            self.world.event(self.pod, "Warning", "FailedMount", str(missing), "kubelet")
            return False
        return True

    def _advance_all(self) -> None:
        policy = self.pod["spec"].get("restartPolicy", "Always")
        for slot in self.inits:
            sidecar = slot.container.get("restartPolicy") == "Always"
            self._advance(
                slot, "Always" if sidecar else "Never" if policy == "Never" else "OnFailure"
            )
            if not (
                slot.started
                if sidecar
                else slot.over and slot.last is not None and slot.last.code == 0
            ):
                return
        for slot in self.mains:
            self._advance(slot, policy)
        if all(slot.over for slot in self.mains):
            for slot in self.inits:
                if slot.run is not None:
                    slot.run.kill()

    def _advance(self, slot: Slot, policy: str) -> None:
        """Bring one container on: notice an end, begin anew, ask its probes."""
        if slot.run is not None and slot.run.ended is not None:
            again = policy == "Always" or (policy == "OnFailure" and slot.run.ended.code != 0)
            slot.end(again)
            if slot.waiting[0] == "CrashLoopBackOff" and again:
                said = (
                    f"Back-off restarting failed container {slot.name} in pod"
                    f" {self.pod['metadata']['name']}_{self.uid}"
                )
                self.world.event(self.pod, "Warning", "BackOff", said, "kubelet")
        if slot.run is None and not slot.over and time.monotonic() >= slot.not_before:
            self._begin(slot)
        slot.ask()

    def _begin(self, slot: Slot) -> None:
        assert self._dress is not None
        mishap = self.world.the(Mishaps).for_container(self.pod, slot.container)
        if mishap is not None:
            if slot.waiting != (mishap.reason, mishap.message):
                self.world.event(
                    self.pod, "Warning", "Failed", mishap.message or mishap.reason, "kubelet"
                )
            slot.wait(mishap.reason, mishap.message, LOOK_AGAIN_SECONDS)
            return
        try:
            box = self._dress.box(slot.container, fresh=True)
        except ConfigMissing as missing:
            if slot.waiting[0] != "CreateContainerConfigError":
                self.world.event(self.pod, "Warning", "Failed", f"Error: {missing}", "kubelet")
            slot.wait("CreateContainerConfigError", str(missing), LOOK_AGAIN_SECONDS)
            return
        words = [expanded(word, box.environment) for word in
                 [*(slot.container.get("command") or ()), *(slot.container.get("args") or ())]]  # fmt: skip
        sidecar = slot.container.get("restartPolicy") == "Always"
        ends = not sidecar and (
            slot in self.inits or self.pod["spec"].get("restartPolicy", "Always") != "Always"
        )
        command = images.program(slot.container.get("image", ""), words, ends)
        if images.is_placeholder(slot.container.get("image", ""), words):
            box = replace(
                box, binds=()
            )  # it needs no volume, and would not live with an empty /dev or /
        log = self._log_file(slot, slot.restarts)
        log.parent.mkdir(parents=True, exist_ok=True)
        mark = f"{self.uid}/{slot.name}/{slot.restarts}"
        slot.begin(
            ContainerRun(box, command, log, mark, self.world.folder, self._wake.set),
            box,
            self.address,
        )
        self.world.event(self.pod, "Normal", "Started", f"Started container {slot.name}", "kubelet")

    def _terminate(self) -> float | None:
        """Ask, wait as long as it may take, kill; then the pod may go."""
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace
            for slot in self._slots():
                if slot.run is not None:
                    slot.run.terminate()
        self._kill_at = min(self._kill_at, time.monotonic() + grace)
        if time.monotonic() >= self._kill_at:
            self._kill_all()
        self._note_ends()
        if any(slot.runs for slot in self._slots()):
            return max(0.02, min(self._kill_at - time.monotonic(), 1.0))
        if not self._settled:
            self._report()
        self.world.delete(PODS, self.pod, grace=0)
        self._clear_away()
        return None

    def _kill_all(self) -> None:
        for slot in self._slots():
            if slot.run is not None and slot.run.ended is None:
                slot.run.kill()

    def _note_ends(self) -> None:
        """Of containers that will not begin anew."""
        for slot in self._slots():
            if slot.run is not None and slot.run.ended is not None:
                slot.end(again=False)

    def _report(self) -> None:
        """Tell the API, when there is something new."""
        wanted = status.pod_status(self.pod, self.inits, self.mains, self.address, self._failed_as)
        if wanted != self._told:
            self._saw(self.world.patch_status(PODS, self.pod, wanted))
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
        self.world.the(Addresses).give_back(self.uid)
        folders.remove(self.folder)
        self.gone = True

    def _slots(self) -> list[Slot]:
        return [*self.inits, *self.mains]

    def _log_file(self, slot: Slot, number: int) -> Path:
        return self.folder / "logs" / slot.name / f"{number}.log"
