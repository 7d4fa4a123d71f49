"""k8s.nfs_volume: a volume and its claim on an NFS server inside the cluster, at the address that
its Service has now.

Nodes mount from outside the cluster's DNS, so a volume must name the server by its address. A
Service that was created again has another one, and a volume's address cannot be changed, so volume
and claim are then created again. The data on the server is not touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.kube.client.resource import Resource
from playrunner.kube.objects.compare import CLUSTER, RUN, SET
from playrunner.modules.k8s._base import KubeModule
from playrunner.project import program

if TYPE_CHECKING:
    from playrunner.run.context import Context

VOLUMES = Resource("v1", "PersistentVolume", "persistentvolumes", False)
CLAIMS = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims", True)
SERVICES = Resource("v1", "Service", "services", True)
PODS = Resource("v1", "Pod", "pods", True)


class NfsVolume(KubeModule):
    """Checked on every run: the address in the volume against the address of the Service."""

    identity: ClassVar[tuple[str, ...]] = ("name", "claim", "namespace")
    settle_seconds: ClassVar[float] = 600  # a claim goes when the last pod that uses it is gone

    name: str  # of the PersistentVolume
    claim: str  # of the PersistentVolumeClaim
    service: str  # of the NFS server
    capacity_gib: int  # as large as the server's disk
    namespace: str = ""  # of the claim; by default the context's
    service_namespace: str = ""  # by default the claim's
    path: str = "/"  # what of the server is mounted
    mount_options: list[str] = []  # as nfsvers=4.1

    def observe(self, ctx: Context) -> State | None:
        if self.stands_on_nothing(ctx):
            return None
        volume, claim = (
            ctx.kube.get(VOLUMES, "", self.name),
            ctx.kube.get(CLAIMS, self._home(ctx), self.claim),
        )
        if volume is None and claim is None:
            return None
        spec = (volume or {}).get("spec") or {}
        whose = {_mark(one) for one in (volume, claim) if one is not None}
        going = [
            one["kind"]
            for one in (volume, claim)
            if one is not None and one["metadata"].get("deletionTimestamp")
        ]
        bound = claim is not None and (claim.get("status") or {}).get("phase") == "Bound"
        return {
            "server": (spec.get("nfs") or {}).get("server", ""),
            "path": (spec.get("nfs") or {}).get("path", ""),
            "options": list(spec.get("mountOptions") or ()),
            "volume": volume is not None,
            "claim": claim is not None,
            "capacity": (spec.get("capacity") or {}).get("storage", ""),
            "bound": bound,
            "going": going,
            "cluster": whose.pop() if len(whose) == 1 else "",
            "used_by": self._users(ctx) if going else [],
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {
            "server": self._address(ctx),
            "path": self.path,
            "options": list(self.mount_options or ()),
            "volume": True,
            "claim": True,
            "capacity": f"{self.capacity_gib}Gi",
        }

    def apply(self, ctx: Context, change: Change) -> None:
        observed = change.observed or {}
        if change.removes or (
            observed.get("volume") and change.touches("server", "path", "options", "capacity")
        ):
            if observed["claim"]:
                ctx.kube.delete(CLAIMS, self._home(ctx), self.claim)
            if observed["volume"]:
                ctx.kube.delete(VOLUMES, "", self.name)
            return
        objects = [f"PersistentVolume {self.name}", f"PersistentVolumeClaim {self.claim}"]
        ctx.kube.note("call", call="k8s.nfs_volume", objects=objects)
        for resource, body in (
            (VOLUMES, self._volume(ctx, change.after or {})),
            (CLAIMS, self._claim(ctx)),
        ):
            ctx.kube.apply(resource, body)

    def moving(self, state: State) -> str | None:
        if state["going"]:
            users = (
                f"; it is still used by {', '.join(state['used_by'])}" if state["used_by"] else ""
            )
            return f"waiting until the claim {self.claim} is gone{users}"
        half = not (state["volume"] and state["claim"])
        return None if half or state["bound"] else f"waiting until the claim {self.claim} is bound"

    def ours(self, ctx: Context, state: State) -> bool:
        return bool(state["cluster"] == ctx.owner.cluster)

    def label(self, state: State) -> str:
        return f"{self.name} on {state['server']}"

    def _address(self, ctx: Context) -> str:
        home = self.service_namespace or self._home(ctx)
        service = ctx.kube.get(SERVICES, home, self.service)
        address = str(((service or {}).get("spec") or {}).get("clusterIP") or "")
        if service is None and ctx.check:  # the step before would make it
            return f"the address of Service {home}/{self.service}"
        if address in ("", "None"):
            raise Failed(
                f"the Service {home}/{self.service} of the NFS server"
                f' {"has no address" if service else "is not there"}; make it with "{program()}'
                ' nfs.create"'
            )
        return address

    def _volume(self, ctx: Context, target: State) -> State:
        home = self._home(ctx)
        # Bound to this claim and no other; kept when the claim goes, for what is on the server is
        # not the volume's to delete.
        spec = {
            "capacity": {"storage": target["capacity"]},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": home, "name": self.claim},
            "nfs": {"server": target["server"], "path": target["path"]},
        }
        spec |= {"mountOptions": target["options"]} if target["options"] else {}
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": self._meta(ctx, self.name),
            "spec": spec,
        }

    def _claim(self, ctx: Context) -> State:
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": self.name,
            "resources": {"requests": {"storage": f"{self.capacity_gib}Gi"}},
        }
        meta = {**self._meta(ctx, self.claim), "namespace": self._home(ctx)}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    def _meta(self, ctx: Context, name: str) -> State:
        return {
            "name": name,
            "labels": {CLUSTER: ctx.owner.cluster, SET: f"nfs-{self.name}"[:63].rstrip("-.")},
            "annotations": {RUN: ctx.owner.run},
        }

    def _users(self, ctx: Context) -> list[str]:
        def uses(pod: State) -> bool:
            claims = [
                one.get("persistentVolumeClaim") or {} for one in pod["spec"].get("volumes") or ()
            ]
            return any(one.get("claimName") == self.claim for one in claims)

        return [
            f"pod {pod['metadata']['name']}"
            for pod in ctx.kube.listing(PODS, self._home(ctx)).items
            if uses(pod)
        ]

    def _home(self, ctx: Context) -> str:
        return self.namespace or str(ctx.kube.namespace)


def _mark(one: State) -> str:
    return str((one["metadata"].get("labels") or {}).get(CLUSTER, ""))
