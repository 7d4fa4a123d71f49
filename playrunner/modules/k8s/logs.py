"""k8s.logs: what pods have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.module import Probe
from playrunner.kube.watch.explain import PODS
from playrunner.modules.k8s._pods import one_of, pods_of

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Logs(Probe):
    """The logs of one pod, or of all that carry labels: `stdout` is all of them, `logs` each by pod
    and container."""

    pod: str = ""  # its name
    selector: Any = ""  # or the labels of several
    namespace: str = ""  # by default the context's
    container: str = ""  # by default all of the pod
    tail: int = 1000  # the last so many lines of each
    since: int | None = None  # the last so many seconds
    previous: bool = False  # of the run before, when it crashed
    after: Any = None  # values of steps that must be there first

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        return one_of(arguments)

    def look(self, ctx: Context) -> dict[str, Any]:
        namespace = self.namespace or ctx.kube.namespace
        targets = [
            (pod["metadata"]["name"], container)
            for pod in pods_of(ctx, namespace, self.pod, self.selector)
            for container in (
                [self.container]
                if self.container
                else [target["name"] for target in pod["spec"]["containers"]]
            )
        ]
        query = {
            "tailLines": self.tail,
            "sinceSeconds": self.since,
            "previous": "true" if self.previous else "",
        }
        texts = ctx.kube.together(
            lambda target: ctx.kube.text(
                f"{PODS.path(namespace, target[0])}/log", container=target[1], **query
            ),
            targets,
        )
        logs = {
            f"{pod}/{container}": text
            for (pod, container), text in zip(targets, texts, strict=True)
        }
        whole = "\n".join(text.rstrip("\n") for text in texts)
        return {"logs": logs, "stdout": whole, "stdout_lines": whole.splitlines()}
