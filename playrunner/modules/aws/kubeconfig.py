"""aws.kubeconfig: a context for kubectl, with a fresh token for every call and none stored."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from playrunner.modules.aws import _eks_kubeconfig
from playrunner.modules.aws._base import AwsModule
from playrunner.state import Change, State

TOKEN_COMMAND = "playrunner.eks_token"


class Kubeconfig(AwsModule):
    """A context of an EKS cluster in kubectl's file. It becomes the current one when it is made; others are left alone."""

    identity: ClassVar[tuple[str, ...]] = ("name", "path")
    settle_seconds: ClassVar[float] = 30

    name: str  # the context's name
    cluster: str  # the EKS cluster's name
    endpoint: str  # the API server's address (endpoint of aws.eks_cluster)
    certificate_authority: str  # its authority, in base64 (certificateAuthority.data)
    region: str = ""  # the cluster's region; by default the run's
    profile: str = ""  # the AWS profile that tokens are made with; by default whatever is set when kubectl is called
    namespace: str = ""  # the namespace that kubectl takes by default
    path: str = ""  # the file; by default the first of $KUBECONFIG, or ~/.kube/config

    def observe(self, ctx: Any) -> State | None:
        content = _eks_kubeconfig.read(_eks_kubeconfig.place(self.path))
        found = {kind: _eks_kubeconfig.entry(content, kind, self.name) for kind in ("cluster", "user", "context")}
        return {**found, "path": str(_eks_kubeconfig.place(self.path)), "name": self.name} if any(found.values()) else None

    def desired(self, ctx: Any, found: State | None) -> State:
        words = ["-m", TOKEN_COMMAND, "--cluster", self.cluster, "--region", self.region or ctx.aws.region]
        words += ["--profile", self.profile] if self.profile else []
        # Whoever calls kubectl may stand anywhere, so the token command must be found from anywhere.
        home = [{"name": "PYTHONPATH", "value": str(Path(__file__).resolve().parents[3])}]
        command = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": sys.executable, "args": words,
                   "env": home, "interactiveMode": "Never", "provideClusterInfo": False}
        context = {"cluster": self.name, "user": self.name, **({"namespace": self.namespace} if self.namespace else {})}
        return {"cluster": {"server": self.endpoint, "certificate-authority-data": self.certificate_authority},
                "user": {"exec": command}, "context": context}

    def apply(self, ctx: Any, change: Change) -> None:
        wanted = change.after or {}
        with _eks_kubeconfig.editing(_eks_kubeconfig.place(self.path)) as content:
            for kind in ("cluster", "user", "context"):
                _eks_kubeconfig.put(content, kind, self.name, wanted.get(kind))
            if change.creates:
                content["current-context"] = self.name
            elif change.removes and content.get("current-context") == self.name:
                del content["current-context"]

    def ours(self, ctx: Any, state: State) -> bool:
        """A context that asks us for its tokens is one we made; half of one belongs to nobody."""
        user = state.get("user")
        return user is None or TOKEN_COMMAND in ((user.get("exec") or {}).get("args") or ())

    def label(self, state: State) -> str:
        return f"context {self.name} in {state.get('path', '')}".removesuffix(" in ")
