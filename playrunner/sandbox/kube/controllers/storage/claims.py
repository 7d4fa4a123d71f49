"""Claims: bound to a volume that is there, or to one that is made for them where a driver can."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.injected_faults import InjectedFaults
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    CSI_DRIVERS,
    DEPLOYMENTS,
    PODS,
    STORAGE_CLASSES,
    VOLUMES,
    Key,
    Object,
    annotations_of,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.scheduling.free_capacity import claims_of
from playrunner.sandbox.kube.controllers.scheduling.scheduler import SELECTED_NODE
from playrunner.sandbox.kube.controllers.storage import drivers
from playrunner.sandbox.kube.schema.quantities import value_of
from playrunner.sandbox.kube.wire.selectors import by_selector

COMPONENT = "persistentvolume-controller"
PROTECTION = "kubernetes.io/pvc-protection"
RETRY_SECONDS = 0.5
_NO_DRIVER = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the"
    " system administrator. If volume creation is delayed, please verify that the provisioner is"
    " running and correctly registered."
)


class ClaimController(Controller):
    name = "claims"

    def watches(self) -> Iterable[Watch]:
        return (
            (CLAIMS, by_itself),
            (VOLUMES, self._open_ones),
            (STORAGE_CLASSES, self._open_ones),
            (DEPLOYMENTS, self._open_ones),
            (CSI_DRIVERS, self._open_ones),
            (PODS, _used),
        )

    def _open_ones(self, one: Object) -> Iterable[Key]:
        """Claims that are not bound, or bound to this volume."""
        name = one["metadata"]["name"]
        return [
            key_of(claim)
            for claim in self.context.see(CLAIMS).all()
            if (claim.get("status") or {}).get("phase") != "Bound"
            or claim["spec"].get("volumeName") == name
        ]

    def reconcile(self, key: Key) -> float | None:
        claim = self.context.see(CLAIMS).get(*key)
        if claim is None:
            return None
        if is_leaving(claim):
            self._let_go(claim)
            return None
        named = claim["spec"].get("volumeName")
        if named:
            volume = self.context.see(VOLUMES).get("", named)
            return self._bind(claim, volume) if volume is not None else self._lost(claim)
        volume = self._fitting(claim)
        if volume is not None:
            return self._bind(claim, volume)
        return self._provision(claim)

    def _let_go(self, claim: Object) -> None:
        """A claim that a pod still uses stays until that pod is gone."""
        finalizers = claim["metadata"].get("finalizers") or []
        used = any(
            claim["metadata"]["name"] in claims_of(pod)
            for pod in self.context.see(PODS).all(claim["metadata"]["namespace"])
            if not is_over(pod)
        )
        if PROTECTION in finalizers and not used:
            left = [one for one in finalizers if one != PROTECTION]
            self.context.patch(CLAIMS, claim, {"metadata": {"finalizers": left or None}})

    def _fitting(self, claim: Object) -> Object | None:
        """The smallest free volume that does."""
        if self._waits_for_pod(claim):
            return None
        volumes = [
            volume
            for volume in self.context.see(VOLUMES).all()
            if not is_leaving(volume) and fits(claim, volume)
        ]
        return min(
            volumes,
            key=lambda volume: value_of(volume["spec"]["capacity"]["storage"]),
            default=None,
        )

    def _bind(self, claim: Object, volume: Object) -> float | None:
        holder = volume["spec"].get("claimRef") or {}
        if holder and (
            holder.get("uid") not in (None, "", uid_of(claim))
            or holder_key(holder) != key_of(claim)
        ):
            self.context.event(
                claim,
                "Warning",
                "FailedBinding",
                f'volume "{volume["metadata"]["name"]}" already bound to a different claim.',
                COMPONENT,
            )
            return None
        if holder.get("uid") != uid_of(claim):
            reference = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim["metadata"]["namespace"],
                "name": claim["metadata"]["name"],
                "uid": uid_of(claim),
            }
            as_seen = {"resourceVersion": volume["metadata"]["resourceVersion"]}
            volume = self.context.patch(
                VOLUMES, volume, {"metadata": as_seen, "spec": {"claimRef": reference}}
            )
        self.context.patch_status(VOLUMES, volume, {"phase": "Bound"})
        if claim["spec"].get("volumeName") != volume["metadata"]["name"]:
            marks = {
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
            }
            spec = {"volumeName": volume["metadata"]["name"]}
            claim = self.context.patch(
                CLAIMS, claim, {"metadata": {"annotations": marks}, "spec": spec}
            )
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"].get("accessModes"),
            "capacity": volume["spec"]["capacity"],
        }
        self.context.patch_status(CLAIMS, claim, status)
        return None

    def _lost(self, claim: Object) -> float | None:
        if (claim.get("status") or {}).get("phase") == "Bound":
            self.context.patch_status(CLAIMS, claim, {"phase": "Lost"})
            said = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self.context.event(claim, "Warning", "ClaimLost", said, COMPONENT)
        return None

    def _provision(self, claim: Object) -> float | None:
        """Have a volume made, or say what is missing."""
        name = claim["spec"].get("storageClassName")
        storage_class = self.context.see(STORAGE_CLASSES).get("", name or "")
        self.context.patch_status(CLAIMS, claim, {"phase": "Pending"})
        if storage_class is None:
            none = "no persistent volumes available for this claim and no storage class is set"
            missing = (
                "Warning",
                "ProvisioningFailed",
                f'storageclass.storage.k8s.io "{name}" not found',
            )
            self._say(claim, *(missing if name else ("Normal", "FailedBinding", none)))
        elif self._waits_for_pod(claim):
            self._say(
                claim,
                "Normal",
                "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding",
            )
        elif storage_class["provisioner"] != drivers.NONE and not drivers.is_there(
            self.context, storage_class["provisioner"]
        ):
            self._say(
                claim,
                "Normal",
                "ExternalProvisioning",
                _NO_DRIVER.format(storage_class["provisioner"]),
            )
        elif storage_class["provisioner"] != drivers.NONE:
            return self._make(claim, storage_class)
        return None

    def _make(self, claim: Object, storage_class: Object) -> float | None:
        name, speaker = (
            storage_class["metadata"]["name"],
            drivers.component(storage_class["provisioner"]),
        )
        fault = self.context.the(InjectedFaults).for_claim(claim)
        refusal = (
            (fault.message or "rpc error: code = Internal desc = injected fault")
            if fault
            else drivers.refusal(storage_class)
        )
        if refusal:
            message = f'failed to provision volume with StorageClass "{name}": {refusal}'
            self._say(
                claim, "Warning", fault.reason if fault else "ProvisioningFailed", message, speaker
            )
            return RETRY_SECONDS
        message = (
            f'External provisioner is provisioning volume for claim "{"/".join(key_of(claim))}"'
        )
        self._say(claim, "Normal", "Provisioning", message, speaker)
        return self._bind(claim, self.context.create(VOLUMES, drivers.volume(claim, storage_class)))

    def _waits_for_pod(self, claim: Object) -> bool:
        found = self.context.see(STORAGE_CLASSES).get(
            "", claim["spec"].get("storageClassName") or ""
        )
        waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
        return waits and SELECTED_NODE not in annotations_of(claim)

    def _say(
        self, claim: Object, kind: str, reason: str, message: str, component: str = COMPONENT
    ) -> None:
        """Once for each claim, unless it changes."""
        if self._said.get(uid_of(claim)) != message:
            self._said[uid_of(claim)] = message
            self.context.event(claim, kind, reason, message, component)

    def prepare(self) -> None:
        self._said: dict[str, str] = {}


def fits(claim: Object, volume: Object) -> bool:
    """Whether a volume that is free or reserved for this claim has what the claim asks
    for."""
    spec, claimed = volume["spec"], claim["spec"]
    holder = spec.get("claimRef")
    if holder and (
        holder_key(holder) != key_of(claim) or holder.get("uid") not in (None, "", uid_of(claim))
    ):
        return False
    size = value_of(((claimed.get("resources") or {}).get("requests") or {}).get("storage", "0"))
    return (
        (spec.get("storageClassName") or "") == (claimed.get("storageClassName") or "")
        and set(claimed.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and value_of(spec["capacity"]["storage"]) >= size
        and (claimed.get("selector") is None or by_selector(claimed["selector"])(volume))
    )


def holder_key(holder: Object) -> Key:
    return holder.get("namespace", ""), holder.get("name", "")


def _used(pod: Object) -> Iterable[Key]:
    return [(pod["metadata"]["namespace"], name) for name in claims_of(pod)]
