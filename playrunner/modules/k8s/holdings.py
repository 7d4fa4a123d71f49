"""k8s.holdings: what a cluster's objects hold in the cloud outside it, to be let go before the
cluster itself.

A load balancer, or a disk that was made for a claim, is deleted by the cluster that made it; once
that is gone, they stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.state import Change, State
from playrunner.modules.k8s._base import KubeModule, answers

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Holdings(KubeModule):
    """Services with a load balancer, ingresses, and claims whose volumes are deleted with them.

    Nothing on the way in, all of them on the way out. A cluster that does not answer is left to the
    sweep that follows.
    """

    identity = ()
    settle_seconds = 900  # a load balancer's interfaces take minutes to go

    def observe(self, ctx: Context) -> State | None:
        if not answers(ctx):
            return None
        kube = ctx.kube
        objects = [
            body
            for kind in (
                ("v1", "Service"),
                ("networking.k8s.io/v1", "Ingress"),
                ("v1", "PersistentVolumeClaim"),
            )
            for body in kube.listing(kube.known(*kind)).items
        ]
        disks = {
            volume["metadata"]["name"]
            for volume in kube.listing(kube.known("v1", "PersistentVolume")).items
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        }
        holders = [_key(body) for body in objects if _holds(body, disks)]
        volumes = sorted(
            {
                body["spec"]["volumeName"]
                for body in objects
                if body["kind"] == "PersistentVolumeClaim"
                and body["spec"].get("volumeName") in disks
            }
        )
        # A volume outlives its claim for a moment; it is waited for, since its disk goes with it.
        going = [f"PersistentVolume {name}" for name in sorted(disks - set(volumes))]
        return {"holders": holders, "going": going} if holders or going else None

    def desired(self, ctx: Context, current: State | None) -> State | None:
        return current

    def apply(self, ctx: Context, change: Change) -> None:
        for holder in (change.observed or {}).get("holders", ()):
            kind, place = holder.split(" ")
            namespace, name = place.split("/")
            version = "networking.k8s.io/v1" if kind == "Ingress" else "v1"
            ctx.kube.delete(ctx.kube.known(version, kind), namespace, name)

    def moving(self, state: State) -> str | None:
        return None if state["holders"] else f"waiting for {', '.join(state['going'])}"

    def ours(self, ctx: Context, state: State) -> bool:
        return True  # the step stands in a role that made the cluster

    def label(self, state: State) -> str:
        return ", ".join([*state["holders"], *state["going"]])


def _holds(body: dict[str, Any], disks: set[str]) -> bool:
    if body["kind"] == "Service":
        return bool(body["spec"].get("type") == "LoadBalancer")
    return body["kind"] == "Ingress" or body["spec"].get("volumeName") in disks


def _key(body: dict[str, Any]) -> str:
    return f"{body['kind']} {body['metadata']['namespace']}/{body['metadata']['name']}"
