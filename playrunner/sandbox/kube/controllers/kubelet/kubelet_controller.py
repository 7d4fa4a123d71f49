"""The workers: one for each pod that has one of our machines as its node."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, for_reading
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    CONFIG_MAPS,
    ENDPOINTS,
    PODS,
    SECRETS,
    SERVICES,
    VOLUMES,
    Key,
    Object,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.framework.world import World
from playrunner.sandbox.kube.controllers.kubelet.hosts import Hosts
from playrunner.sandbox.kube.controllers.kubelet.pod_worker import PodWorker
from playrunner.sandbox.kube.controllers.machines.machines import Machines

_NAMES = ("", "names")


class Crew:
    """Shared as `world.the(Crew)`."""

    def __init__(self, world: World) -> None:
        self.workers: dict[str, PodWorker] = {}

    def get(self, uid: str) -> PodWorker | None:
        return self.workers.get(uid)

    def of(self, namespace: str, name: str) -> list[PodWorker]:
        return [
            worker
            for worker in list(self.workers.values())
            if key_of(worker.pod) == (namespace, name)
        ]


class KubeletController(Controller):
    """Hires and dismisses workers, and has the names in pods kept up."""

    name = "kubelet"

    def watches(self) -> Iterable[Watch]:
        return ((PODS, _pod_and_names), (CLAIMS, for_reading), (VOLUMES, for_reading), (SERVICES, _names), (ENDPOINTS, _names),
                (CONFIG_MAPS, self._mounted), (SECRETS, self._mounted))  # fmt: skip

    def prepare(self) -> None:
        self.crew = self.world.the(Crew)
        self.world.the(Machines).listen(self._machine_changed)

    def reconcile(self, key: Key) -> float | None:
        if key == _NAMES:
            self.world.the(Hosts).refresh()
            return None
        pod = self.world.see(PODS).get(*key)
        for stale in self.crew.of(*key):
            if pod is None or uid_of(pod) != stale.uid:
                stale.lose()
                self._dismiss(stale)
        node = (pod or {}).get("spec", {}).get("nodeName")
        if pod is None or not node:
            return None
        machine = self.world.the(Machines).get(node)
        worker = self.crew.get(uid_of(pod))
        if worker is not None:
            worker.update(pod)
            if machine is None:
                worker.lose()
                self._dismiss(worker)
            else:
                worker.machine_down(not machine.up)
        elif machine is not None:
            self._hire(pod, not machine.up)
        return None

    def _hire(self, pod: Object, down: bool) -> None:
        worker = PodWorker(self.world, pod, self.world.folder / "pods" / uid_of(pod))
        self.crew.workers[worker.uid] = worker
        worker.machine_down(down)
        worker.start()

    def _dismiss(self, worker: PodWorker) -> None:
        self.crew.workers.pop(worker.uid, None)
        self.world.the(Hosts).leave(worker.uid)

    def _mounted(self, one: Object) -> Iterable[Key]:
        """Has pods that mount it look again; nothing of it is done under a key."""
        namespace, name = key_of(one)
        for worker in list(self.world.the(Crew).workers.values()):
            if worker.pod["metadata"]["namespace"] == namespace and name in mounted_by(worker.pod):
                worker.refresh()
        return ()

    def _machine_changed(self, name: str) -> None:
        for pod in self.world.see(PODS).all():
            if pod["spec"].get("nodeName") == name:
                self.queue.add(key_of(pod))


def mounted_by(pod: Object) -> set[str]:
    """The names of the ConfigMaps and Secrets among its volumes."""
    found: set[str] = set()
    for volume in pod["spec"].get("volumes") or ():
        for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
            for kind, field in (
                ("configMap", "name"),
                ("secret", "secretName"),
                ("secret", "name"),
            ):
                found.add((source.get(kind) or {}).get(field) or "")
    return found - {""}


def _pod_and_names(pod: Object) -> Iterable[Key]:
    return (key_of(pod), _NAMES)


def _names(one: Object) -> Iterable[Key]:
    return (_NAMES,)
