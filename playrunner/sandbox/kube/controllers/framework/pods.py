"""Questions about a pod, answered from the object alone."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving


def phase_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def is_over(pod: Object) -> bool:
    """All its containers ended for good."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Counts as one of its owner's: neither over nor leaving."""
    return not is_over(pod) and not is_leaving(pod)


def is_ready(pod: Object) -> bool:
    return condition(pod, "Ready") == "True" and not is_leaving(pod)


def condition(one: Object, kind: str) -> str:
    """The status of a condition: True, False, Unknown, or empty when it is not there."""
    conditions: list[Object] = (one.get("status") or {}).get("conditions") or []
    return next((str(each["status"]) for each in conditions if each["type"] == kind), "")


def from_template(template: Object, metadata: Object) -> Object:
    """A pod of a template: `metadata` adds its name and owner, labels and annotations on top of the
    template's."""
    given = template.get("metadata") or {}
    merged = {**metadata}
    for name in ("labels", "annotations"):
        both = {**(given.get(name) or {}), **(metadata.get(name) or {})}
        if both:
            merged[name] = both
    return {"apiVersion": "v1", "kind": "Pod", "metadata": merged, "spec": template["spec"]}
