"""What a node group's declaration means to EKS: the fields it shows, what can be changed in place,
and where to try next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _eks

# What EKS fixes when it makes a node group, in the words of the declaration.
FIXED = {
    "instanceTypes": "instance_types",
    "subnets": "subnets",
    "capacityType": "capacity_type",
    "amiType": "ami_type",
    "diskSize": "disk_gib",
    "nodeRole": "node_role",
}
_CAPACITY = (
    "Insufficient",
    "sufficient",
    "UnfulfillableCapacity",
    "not supported in your requested",
)


def observed(nodegroup: State) -> State:
    """A node group as EKS describes it, with lists in an order that can be compared."""
    return {
        **nodegroup,
        "subnets": sorted(nodegroup["subnets"]),
        "labels": nodegroup.get("labels") or {},
        "taintSet": taint_set(nodegroup.get("taints") or ()),
    }


def taint_set(taints: Any) -> list[str]:
    """Taints as kubectl writes them, key=value:effect; a key may occur once for each effect."""
    return sorted(f"{one['key']}={one.get('value') or ''}:{one['effect']}" for one in taints)


def taint(text: str) -> dict[str, str]:
    front, _, effect = text.rpartition(":")
    key, _, value = front.partition("=")
    return {"key": key, "value": value, "effect": effect}


def fixed_differences(current: State, wanted: State) -> list[str]:
    """What differs though EKS cannot change it, each as `name: found, not wanted`."""
    differing = [
        f"{word}: {current.get(key)}, not {wanted[key]}"
        for key, word in FIXED.items()
        if key in wanted and current.get(key) != wanted[key]
    ]
    template, other = current.get("launchTemplate") or {}, wanted.get("launchTemplate") or {}
    if other and template.get("id") != other.get("id"):
        differing.append(f"launch_template: {template.get('id')}, not {other.get('id')}")
    return differing


def short_of_capacity(state: State) -> bool:
    """Whether the machines were not to be had where they were asked for."""
    issues = (state.get("health") or {}).get("issues") or []
    return _eks.never_was(state) and any(
        word in str(one.get("message")) for one in issues for word in _CAPACITY
    )


def subnets_without_capacity(applied: Iterable[Change]) -> list[str]:
    """The subnets of node groups that were deleted in this run because no machines were to be had
    there."""
    failed = [change.observed for change in applied if change.observed is not None]
    return sorted(
        {subnet for state in failed if short_of_capacity(state) for subnet in state["subnets"]}
    )


def config_changes(current: State, wanted: State) -> dict[str, Any]:
    """The arguments of update_nodegroup_config that lead from what is there to what is wanted."""
    changes: dict[str, Any] = {}
    if (
        "scalingConfig" in wanted
        and {**current["scalingConfig"], **wanted["scalingConfig"]} != current["scalingConfig"]
    ):
        changes["scalingConfig"] = {**current["scalingConfig"], **wanted["scalingConfig"]}
    if "labels" in wanted and current["labels"] != wanted["labels"]:
        gone = [key for key in current["labels"] if wanted["labels"].get(key) is None]
        added = {
            key: value
            for key, value in wanted["labels"].items()
            if value is not None and current["labels"].get(key) != value
        }
        changes["labels"] = _given(addOrUpdateLabels=added, removeLabels=gone)
    if "taintSet" in wanted and current["taintSet"] != wanted["taintSet"]:
        had, have = ([taint(text) for text in state["taintSet"]] for state in (current, wanted))
        kept = {(entry["key"], entry["effect"]) for entry in have}
        changes["taints"] = _given(
            addOrUpdateTaints=[entry for entry in have if entry not in had],
            removeTaints=[entry for entry in had if (entry["key"], entry["effect"]) not in kept],
        )
    if "updateConfig" in wanted and current.get("updateConfig") != wanted["updateConfig"]:
        changes["updateConfig"] = wanted["updateConfig"]
    return changes


def _given(**parts: Any) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value}
