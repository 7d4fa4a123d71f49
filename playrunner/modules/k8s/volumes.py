"""k8s.volumes: the volumes that a driver made for the claims of one class, to be gone before the
class and the driver go.

A claim that is deleted only starts the deletion of its volume, which is the driver's work; without
a driver the volume, and what is paid for behind it, would stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.kube.client.resource import Resource
from playrunner.modules.k8s._base import KubeModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

VOLUMES = Resource("v1", "PersistentVolume", "persistentvolumes", False)
CLAIMS = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims", True)


class Volumes(KubeModule):
    """Creates nothing. Before a deletion it waits until they are gone; a claim that still
    uses one stops the deletion, and is named."""

    identity: ClassVar[tuple[str, ...]] = ("storage_class",)
    settle_seconds: ClassVar[float] = 900  # a file system behind a volume takes minutes to go

    storage_class: str  # the name of the class

    def observe(self, ctx: Context) -> State | None:
        if self.stands_on_nothing(ctx):
            return None
        volumes = {
            volume["metadata"]["name"]: _claim_of(volume)
            for volume in ctx.kube.listing(VOLUMES).items
            if volume["spec"].get("storageClassName") == self.storage_class
            and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        }
        return {"volumes": volumes} if volumes else None

    def desired(self, ctx: Context, current: State | None) -> State | None:
        return current

    def apply(self, ctx: Context, change: Change) -> None:
        """They go by themselves once their claims are gone, and a claim that is still there is not
        ours to delete."""
        for volume, (namespace, name) in ((change.observed or {}).get("volumes") or {}).items():
            claim = ctx.kube.get(CLAIMS, namespace, name) if name else None
            if claim is not None and not claim["metadata"].get("deletionTimestamp"):
                raise Failed(
                    f"the claim {namespace}/{name} still uses the volume {volume} of"
                    f" {self.storage_class}; when its data is not needed any more: kubectl delete"
                    f" pvc {name} -n {namespace}"
                )

    def moving(self, state: State) -> str | None:
        return None

    def ours(self, ctx: Context, state: State) -> bool:
        return True  # whatever is left of the class that the step stands behind

    def label(self, state: State) -> str:
        return ", ".join(state["volumes"])


def _claim_of(volume: dict[str, Any]) -> list[str]:
    claim = volume["spec"].get("claimRef") or {}
    return [str(claim.get("namespace") or ""), str(claim.get("name") or "")]
