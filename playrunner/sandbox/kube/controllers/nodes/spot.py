"""A spot notice: a machine is taken back soon. Its node is closed and emptied, as AWS's termination
handler does, and goes."""

from __future__ import annotations

import threading
import time

from playrunner.sandbox.kube.controllers.framework.client import ApiError, Unreachable
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    NODES,
    PODS,
    Object,
    controller_of,
    is_leaving,
    key_of,
)
from playrunner.sandbox.kube.controllers.machines.machines import Machines

NOTICE_SECONDS = 120.0  # between the notice and the end, on AWS
TAINT = "aws-node-termination-handler/spot-itn"
_PAUSE_SECONDS = 0.2


def give_notice(context: ControllerContext, name: str, seconds: float = NOTICE_SECONDS) -> None:
    """Returns at once; the machine is lost after so many seconds, whatever is still there."""
    threading.Thread(
        target=_take_back,
        args=(context, name, time.monotonic() + seconds),
        name=f"spot-{name}",
        daemon=True,
    ).start()


def _take_back(context: ControllerContext, name: str, until: float) -> None:
    closed = False
    while time.monotonic() < until:
        try:
            closed = closed or _close(context, name)
            _empty(context, name)
        except (ApiError, Unreachable):
            # The pod changed, a budget forbids it now, or the API is away: try again until the
            # time is over
            pass
        threading.Event().wait(min(_PAUSE_SECONDS, max(0.0, until - time.monotonic())))
    context.the(Machines).lose(name)


def _close(context: ControllerContext, name: str) -> bool:
    node = context.see(NODES).get("", name)
    if node is None:
        return False
    taint = {"key": TAINT, "value": str(int(time.time())), "effect": "NoSchedule"}
    others = [one for one in (node.get("spec") or {}).get("taints") or () if one["key"] != TAINT]
    version = {"resourceVersion": node["metadata"]["resourceVersion"]}
    context.patch(
        NODES,
        node,
        {"metadata": version, "spec": {"unschedulable": True, "taints": [*others, taint]}},
    )
    context.event(
        node,
        "Warning",
        "SpotInterruption",
        f"the instance of {name} will be terminated",
        "aws-node-termination-handler",
    )
    return True


def _empty(context: ControllerContext, name: str) -> None:
    for pod in context.see(PODS).all():
        if (
            pod["spec"].get("nodeName") == name
            and not is_over(pod)
            and not is_leaving(pod)
            and not _is_of_daemon_set(pod)
        ):
            _evict(context, pod)


def _evict(context: ControllerContext, pod: Object) -> None:
    namespace, name = key_of(pod)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
    }
    try:
        context.api.call("POST", PODS.path(namespace, name, "eviction"), eviction)
    except ApiError as error:
        if error.code != 400:
            raise
        # Servers before 1.22 know only this one.
        context.api.call(
            "POST",
            PODS.path(namespace, name, "eviction"),
            {**eviction, "apiVersion": "policy/v1beta1"},
        )


def _is_of_daemon_set(pod: Object) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner["kind"] == "DaemonSet"
