"""Volumes whose claim is gone: deleted with their files, or kept as released."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    VOLUMES,
    Key,
    Object,
    annotations_of,
    is_leaving,
    uid_of,
)
from playrunner.sandbox.kube.controllers.storage import drivers
from playrunner.sandbox.kube.controllers.storage.claims import holder_key

PROTECTION = "kubernetes.io/pv-protection"


class VolumeController(Controller):
    name = "volumes"

    def watches(self) -> Iterable[Watch]:
        return ((VOLUMES, by_itself), (CLAIMS, _claimed))

    def reconcile(self, key: Key) -> float | None:
        volume = self.context.see(VOLUMES).get(*key)
        if volume is None:
            return None
        holder = volume["spec"].get("claimRef") or {}
        claim = self.context.see(CLAIMS).get(*holder_key(holder)) if holder else None
        held = claim is not None and holder.get("uid") in (None, "", uid_of(claim))
        if is_leaving(volume):
            left = [one for one in volume["metadata"].get("finalizers") or () if one != PROTECTION]
            if not held and left != (volume["metadata"].get("finalizers") or []):
                self.context.patch(VOLUMES, volume, {"metadata": {"finalizers": left or None}})
        elif not holder:
            self.context.patch_status(VOLUMES, volume, {"phase": "Available"})
        elif not held and holder.get("uid"):
            if volume["spec"].get(
                "persistentVolumeReclaimPolicy"
            ) == "Delete" and drivers.MADE_BY in annotations_of(volume):
                drivers.remove_files(self.context.folder, volume)
                self.context.delete(VOLUMES, volume)
            else:
                self.context.patch_status(VOLUMES, volume, {"phase": "Released"})
        return None


def _claimed(claim: Object) -> Iterable[Key]:
    name = claim["spec"].get("volumeName")
    return (("", name),) if name else ()
