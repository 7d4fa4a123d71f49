"""The workers: one for each pod that has one of our machines as its node."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, for_reading
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
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
from playrunner.sandbox.kube.controllers.kubelet.hosts import Hosts
from playrunner.sandbox.kube.controllers.kubelet.pod_worker import PodWorker
from playrunner.sandbox.kube.controllers.machines.machines import Machines

_NAMES = ("", "names")


class PodWorkers:
    """Shared as `context.the(PodWorkers)`."""

    def __init__(self, context: ControllerContext) -> None:
        self.by_uid: dict[str, PodWorker] = {}

    def get(self, uid: str) -> PodWorker | None:
        return self.by_uid.get(uid)

    def of(self, namespace: str, name: str) -> list[PodWorker]:
        return [
            worker
            for worker in list(self.by_uid.values())
            if key_of(worker.pod) == (namespace, name)
        ]


class KubeletController(Controller):
    """Starts and stops pod workers, and keeps the host names inside pods up to date."""

    name = "kubelet"

    def watches(self) -> Iterable[Watch]:
        return (
            (PODS, _pod_and_names),
            (CLAIMS, for_reading),
            (VOLUMES, for_reading),
            (SERVICES, _names),
            (ENDPOINTS, _names),
            (CONFIG_MAPS, self._mounted),
            (SECRETS, self._mounted),
        )

    def prepare(self) -> None:
        self.pod_workers = self.context.the(PodWorkers)
        self.context.the(Machines).listen(self._machine_changed)

    def reconcile(self, key: Key) -> float | None:
        if key == _NAMES:
            self.context.the(Hosts).refresh()
            return None
        pod = self.context.see(PODS).get(*key)
        for stale in self.pod_workers.of(*key):
            if pod is None or uid_of(pod) != stale.uid:
                stale.lose()
                self._stop_worker(stale)
        node = (pod or {}).get("spec", {}).get("nodeName")
        if pod is None or not node:
            return None
        machine = self.context.the(Machines).get(node)
        worker = self.pod_workers.get(uid_of(pod))
        if worker is not None:
            worker.update(pod)
            if machine is None:
                worker.lose()
                self._stop_worker(worker)
            else:
                worker.machine_down(not machine.up)
        elif machine is not None:
            self._start_worker(pod, not machine.up)
        return None

    def _start_worker(self, pod: Object, down: bool) -> None:
        worker = PodWorker(self.context, pod, self.context.folder / "pods" / uid_of(pod))
        self.pod_workers.by_uid[worker.uid] = worker
        worker.machine_down(down)
        worker.start()

    def _stop_worker(self, worker: PodWorker) -> None:
        self.pod_workers.by_uid.pop(worker.uid, None)
        self.context.the(Hosts).leave(worker.uid)

    def _mounted(self, one: Object) -> Iterable[Key]:
        """Has pods that mount it look again; nothing of it is done under a key."""
        namespace, name = key_of(one)
        for worker in list(self.context.the(PodWorkers).by_uid.values()):
            if worker.pod["metadata"]["namespace"] == namespace and name in mounted_by(worker.pod):
                worker.refresh()
        return ()

    def _machine_changed(self, name: str) -> None:
        for pod in self.context.see(PODS).all():
            if pod["spec"].get("nodeName") == name:
                self.queue.add(key_of(pod))


def mounted_by(pod: Object) -> set[str]:
    """The names of the ConfigMaps and Secrets among its volumes."""
    names: set[str] = set()
    for volume in pod["spec"].get("volumes") or ():
        for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
            for kind, field in (
                ("configMap", "name"),
                ("secret", "secretName"),
                ("secret", "name"),
            ):
                names.add((source.get(kind) or {}).get(field) or "")
    return names - {""}


def _pod_and_names(pod: Object) -> Iterable[Key]:
    return (key_of(pod), _NAMES)


def _names(one: Object) -> Iterable[Key]:
    return (_NAMES,)
