"""gcp.kubeconfig: a context for kubectl, with a fresh token for every call and none stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.hostside.state import State
from playrunner.kube.kubeconfig.context_module import KubeContext

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Kubeconfig(KubeContext):
    """A context of a GKE cluster in kubectl's file. It becomes the current one when it is made;
    others are left alone."""

    token_command: ClassVar[str] = "playrunner.gke_token"

    name: str  # the context's name
    endpoint: str  # the API server's address (endpoint of gcp.gke_cluster)
    certificate_authority: str  # its authority, in base64 (masterAuth.clusterCaCertificate)
    namespace: str = ""  # the namespace that kubectl takes by default
    path: str = ""  # the file; by default the first of $KUBECONFIG, or ~/.kube/config

    def desired(self, ctx: Context, current: State | None) -> State:
        settings = ctx.gcp.account_session.settings
        given = {
            "--credentials-file": settings.credentials_file,
            "--impersonate": settings.impersonate,
            "--endpoint-url": settings.endpoint_url,
        }
        words = [word for flag, value in given.items() if value for word in (flag, value)]
        server = self.endpoint if "://" in self.endpoint else f"https://{self.endpoint}"
        return self.declared(server, self.certificate_authority, words, self.namespace)
