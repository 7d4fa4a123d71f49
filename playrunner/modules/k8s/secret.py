"""k8s.secret: a Secret whose values are never shown, neither in results nor in differences."""

from __future__ import annotations

import base64
import secrets
import string
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.state import Change, State
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.objects.compare import CLUSTER, DECLARED, RUN, SET, fingerprint, hidden
from playrunner.modules.k8s._base import KubeModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

SECRETS = Resource("v1", "Secret", "secrets", True)
_LETTERS = string.ascii_letters + string.digits


class Secret(KubeModule):
    """Values are compared in memory; states hold stand-ins that tell whether two are the same, and
    nothing else."""

    identity: ClassVar[tuple[str, ...]] = ("name", "namespace")
    settle_seconds: ClassVar[float] = 60

    name: str  # of the Secret
    namespace: str = ""  # by default the context's
    data: dict[str, Any] = {}  # names and plain values
    generate: dict[
        str, int
    ] = {}  # names whose values are made up once, and their lengths; one that is there stays
    type: str = "Opaque"  # its type

    def observe(self, ctx: Context) -> State | None:
        if self.stands_on_nothing(ctx):
            return None
        try:
            body = ctx.kube.get(SECRETS, self._home(ctx), self.name)
        except KubeError as error:
            if not (ctx.only_shows and error.forbidden):
                raise
            return {"name": self.name, "namespace": self._home(ctx), "unseen": True}
        if body is None:
            return None
        meta = body["metadata"]
        return {
            "name": self.name,
            "namespace": self._home(ctx),
            "type": body.get("type"),
            "uid": meta.get("uid"),
            "cluster": (meta.get("labels") or {}).get(CLUSTER, ""),
            "declared": (meta.get("annotations") or {}).get(DECLARED, ""),
            "keys": sorted(body.get("data") or {}),
            "values": {key: hidden(value) for key, value in (body.get("data") or {}).items()},
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        existing = (current or {}).get("values") or {}
        values = {key: hidden(value) for key, value in self._given().items()}
        values |= {key: existing.get(key, hidden("")) for key in self.generate or {}}
        return {"type": self.type or "Opaque", "declared": self._known_by(), "values": values}

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            ctx.kube.delete(
                SECRETS, self._home(ctx), self.name, str((change.observed or {}).get("uid") or "")
            )
            return
        # What was made up earlier is read again rather than remembered: it passes through this
        # function only.
        existing = (
            ctx.kube.call("GET", SECRETS.path(self._home(ctx), self.name))
            if change.observed
            else {}
        ).get("data") or {}
        made = {
            key: existing.get(key) or _coded(_made_up(int(length)))
            for key, length in (self.generate or {}).items()
        }
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": self.type or "Opaque",
            "data": {**self._given(), **made},
            "metadata": {
                "name": self.name,
                "namespace": self._home(ctx),
                "labels": {
                    CLUSTER: ctx.owner.cluster,
                    SET: f"secret-{self.name}"[:63].rstrip("-."),
                },
                "annotations": {DECLARED: self._known_by(), RUN: ctx.owner.run},
            },
        }
        ctx.kube.note("call", call="k8s.secret", objects=[f"Secret {self._home(ctx)}/{self.name}"])
        ctx.kube.apply(SECRETS, body)

    def ours(self, ctx: Context, state: State) -> bool:
        return bool(state.get("cluster") == ctx.owner.cluster)

    def label(self, state: State) -> str:
        unseen = ", which you may not see" if state.get("unseen") else ""
        return f"Secret {state.get('namespace', '')}/{self.name}{unseen}"

    def _home(self, ctx: Context) -> str:
        return self.namespace or str(ctx.kube.namespace)

    def _given(self) -> dict[str, str]:
        return {str(key): _coded(value) for key, value in (self.data or {}).items()}

    def _known_by(self) -> str:
        """Changes when a name comes or goes; values are compared themselves."""
        return fingerprint(
            {"keys": sorted([*(self.data or {}), *(self.generate or {})]), "type": self.type}
        )


def _coded(value: Any) -> str:
    return base64.b64encode(value if isinstance(value, bytes) else str(value).encode()).decode()


def _made_up(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))
