"""k8s.exec: a program inside a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Action, Failed
from playrunner.kube.streams.exec import run_in_pod
from playrunner.modules.k8s._pods import one_of, pods_of

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Exec(Action):
    """Run a program in a container and give its output; one that ends with another code than 0
    fails the step."""

    in_background: ClassVar[bool] = True

    command: Any  # a list of words, or a line for /bin/sh
    pod: str = ""  # its name
    selector: Any = ""  # or labels: the first ready pod that carries them
    namespace: str = ""  # by default the context's
    container: str = ""  # by default the pod's first
    stdin: str = ""  # what the program reads
    timeout: float = 300  # seconds
    after: Any = None  # values of steps that must be there first

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        return one_of(arguments)

    def act(self, ctx: Context) -> dict[str, Any]:
        namespace = self.namespace or ctx.kube.namespace
        pod = pods_of(ctx, namespace, self.pod, self.selector)[0]
        container = self.container or pod["spec"]["containers"][0]["name"]
        argv = (
            [str(word) for word in self.command]
            if isinstance(self.command, list)
            else ["/bin/sh", "-c", str(self.command)]
        )
        ran = run_in_pod(
            ctx.kube,
            namespace,
            pod["metadata"]["name"],
            container,
            argv,
            self.stdin,
            self.timeout,
        )
        values = {
            "rc": ran.rc,
            "stdout": ran.out,
            "stderr": ran.err,
            "stdout_lines": ran.out.splitlines(),
            "pod": pod["metadata"]["name"],
            "container": container,
        }
        if ran.rc:
            raise Failed(
                f"the program ended with code {ran.rc}: {(ran.err or ran.out).strip()[-500:]}",
                **values,
            )
        return values
