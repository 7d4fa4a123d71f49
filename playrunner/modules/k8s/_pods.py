"""Which pod is meant: one by its name, or those that carry labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.module import Failed
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.readiness import readiness_of
from playrunner.modules.k8s._kinds import selector_text

if TYPE_CHECKING:
    from playrunner.run.context import Context


def pods_of(ctx: Context, namespace: str, name: str, selector: Any) -> list[dict[str, Any]]:
    """Running ones first; none at all is an error that says where to look."""
    if name:
        named = ctx.kube.get(PODS, namespace, name)
        pods = [named] if named else []
    else:
        pods = ctx.kube.listing(PODS, namespace, selector_text(selector)).items
    if not pods:
        raise Failed(
            f"there is no pod {name or selector_text(selector)} in the namespace {namespace};"
            f" see: kubectl get pods -n {namespace}"
        )
    return sorted(
        pods,
        key=lambda pod: (not readiness_of({**pod, "kind": "Pod"}).ready, pod["metadata"]["name"]),
    )


def one_of(arguments: dict[str, Any]) -> str | None:
    return (
        None
        if bool(arguments.get("pod")) != bool(arguments.get("selector"))
        else "give a pod by name, or a selector"
    )
