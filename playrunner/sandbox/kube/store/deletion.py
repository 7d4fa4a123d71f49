"""Taking objects away: at once, after their finalizers, or after their dependents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import bad_request, conflict, forbidden, not_found
from playrunner.sandbox.kube.store import webhooks
from playrunner.sandbox.kube.store.cluster import Cluster, now
from playrunner.sandbox.kube.store.store import Moved, Object, Place
from playrunner.sandbox.kube.store.write_options import WriteOptions

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
# Kinds whose own deletion answers with the object that was there.
_SHOWN = (
    "Pod",
    "Service",
    "ServiceAccount",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceQuota",
)
_LEAVE_DEPENDENTS = (
    "batch.v1.Job",
    "core.v1.ReplicationController",
)  # unless they are asked not to


@dataclass(frozen=True)
class DeleteOptions:
    """How a removal is meant."""

    propagation: str = ""
    grace: int | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    @staticmethod
    def of(options: Any, query: dict[str, list[str]]) -> DeleteOptions:
        """From the body of a DELETE, or its query."""
        options = options if isinstance(options, dict) else {}
        first = {name: values[-1] for name, values in query.items()}
        propagation = options.get("propagationPolicy") or first.get("propagationPolicy", "")
        orphans = options.get(
            "orphanDependents",
            {"true": True, "false": False}.get(first.get("orphanDependents", "")),
        )
        if orphans is not None and not propagation:
            propagation = "Orphan" if orphans else "Background"
        if propagation not in ("", "Background", "Foreground", "Orphan"):
            raise bad_request(f'invalid propagationPolicy: Unsupported value: "{propagation}"')
        grace = options.get("gracePeriodSeconds", first.get("gracePeriodSeconds"))
        conditions = options.get("preconditions") or {}
        dry_run = bool(options.get("dryRun") or first.get("dryRun"))
        return DeleteOptions(
            propagation,
            None if grace is None else int(grace),
            conditions.get("uid", ""),
            conditions.get("resourceVersion", ""),
            dry_run,
        )


def delete(cluster: Cluster, kind: Kind, place: Place, options: DeleteOptions) -> Object:
    """Take one object away, or start to; the answer is the object, or that it is gone."""
    while True:
        live = cluster.store.get(kind.stored_as, place)
        if live is None:
            raise not_found(kind, place[1])
        _require_as_seen(kind, live, options)
        if kind.type_name == "core.v1.Namespace" and place[1] in (
            "default",
            "kube-system",
            "kube-public",
        ):
            raise forbidden(kind, place[1], "this namespace may not be deleted")
        webhooks.validate(cluster, kind, None, live, WriteOptions(dry_run=options.dry_run))
        leaving = _leaving(cluster, kind, live, options)
        if options.dry_run or leaving == live:
            return leaving or live
        try:
            final = cluster.store.put(kind.stored_as, place, live, leaving)
        except Moved:
            continue
        return final if leaving is not None or kind.kind in _SHOWN else _gone(kind, live)


def _require_as_seen(kind: Kind, live: Object, options: DeleteOptions) -> None:
    metadata = live["metadata"]
    for name, wanted, there, happened in (
        ("UID", options.uid, metadata["uid"], "deleted and then recreated"),
        ("ResourceVersion", options.version, metadata["resourceVersion"], "modified"),
    ):
        if wanted and wanted != there:
            why = (
                f"the {name} in the precondition ({wanted}) does not match the {name} in record"
                f" ({there})"
            )
            raise conflict(kind, metadata["name"], f"{why}. The object might have been {happened}")


def _leaving(cluster: Cluster, kind: Kind, live: Object, options: DeleteOptions) -> Object | None:
    """The object as it waits to go; None when nothing holds it."""
    metadata = dict(live["metadata"])
    finalizers = [
        finalizer
        for finalizer in metadata.get("finalizers") or ()
        if finalizer not in (FOREGROUND, ORPHAN)
    ]
    propagation = options.propagation or ("Orphan" if kind.type_name in _LEAVE_DEPENDENTS else "")
    asked = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
    if asked:
        finalizers.append(asked)
    elif not propagation:
        finalizers += [
            finalizer
            for finalizer in metadata.get("finalizers") or ()
            if finalizer in (FOREGROUND, ORPHAN)
        ]
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    grace = _grace(cluster, kind, live, options)
    first = "deletionTimestamp" not in metadata
    if first or grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata |= {"deletionTimestamp": _later(grace), "deletionGracePeriodSeconds": grace}
        if "generation" in metadata and first:
            metadata["generation"] += 1
    if kind.type_name == "core.v1.Namespace" and live["spec"].get("finalizers"):
        return {
            **live,
            "metadata": metadata,
            "status": {**live.get("status", {}), "phase": "Terminating"},
        }
    if grace or finalizers:
        return {**live, "metadata": metadata}
    return None


def _grace(cluster: Cluster, kind: Kind, live: Object, options: DeleteOptions) -> int:
    """Only a pod that runs somewhere is given time."""
    if kind.type_name != "core.v1.Pod" or not cluster.settings.pod_grace:
        return 0
    if not live["spec"].get("nodeName") or live.get("status", {}).get("phase") in (
        "Succeeded",
        "Failed",
    ):
        return 0
    if options.grace is not None:
        return options.grace
    return int(
        live["metadata"].get(
            "deletionGracePeriodSeconds", live["spec"].get("terminationGracePeriodSeconds", 30)
        )
    )


def _later(seconds: int) -> str:
    return (
        (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        if seconds
        else now()
    )


def _gone(kind: Kind, live: Object) -> Object:
    details = {
        "name": live["metadata"]["name"],
        "kind": kind.plural,
        "uid": live["metadata"]["uid"],
    }
    if kind.group:
        details["group"] = kind.group
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
