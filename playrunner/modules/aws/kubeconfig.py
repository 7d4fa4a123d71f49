"""aws.kubeconfig: a context for kubectl, with a fresh token for every call and none stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.hostside.state import State
from playrunner.kube.kubeconfig.context_module import KubeContext

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Kubeconfig(KubeContext):
    """A context of an EKS cluster in kubectl's file. It becomes the current one when it is made;
    others are left alone."""

    token_command: ClassVar[str] = "playrunner.eks_token"

    name: str  # the context's name
    cluster: str  # the EKS cluster's name
    endpoint: str  # the API server's address (endpoint of aws.eks_cluster)
    certificate_authority: str  # its authority, in base64 (certificateAuthority.data)
    region: str = ""  # the cluster's region; by default the run's
    # The AWS profile that tokens are made with; by default whatever is set when kubectl is called
    profile: str = ""
    namespace: str = ""  # the namespace that kubectl takes by default
    path: str = ""  # the file; by default the first of $KUBECONFIG, or ~/.kube/config

    def ours(self, ctx: Context, state: State) -> bool:
        return super().ours(ctx, state) and _region(state) in ("", self._region(ctx))

    def whose(self, ctx: Context, state: State) -> str:
        if super().ours(ctx, state):
            return f"is for a cluster in {_region(state)}, and this run is about {ctx.aws.region}"
        return super().whose(ctx, state)

    def _region(self, ctx: Context) -> str:
        return self.region or ctx.aws.region

    def desired(self, ctx: Context, current: State | None) -> State:
        words = ["--cluster", self.cluster, "--region", self._region(ctx)]
        words += ["--profile", self.profile] if self.profile else []
        # A profile that only the inventory's own file of credentials has is not found otherwise.
        credentials = ctx.aws.account_session.settings.credentials_file
        words += ["--credentials-file", credentials] if credentials else []
        return self.declared(self.endpoint, self.certificate_authority, words, self.namespace)


def _region(state: State) -> str:
    """The region that a context's token command is for."""
    words = list(((state.get("user") or {}).get("exec") or {}).get("args") or ())
    place = words.index("--region") + 1 if "--region" in words else len(words)
    return str(words[place]) if place < len(words) else ""
