"""The way to a cluster, from what an inventory says of it."""

from __future__ import annotations

from urllib.parse import urlsplit

from playrunner.errors import BadInput
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.transport import Transport
from playrunner.ssh.connection import connect
from playrunner.ssh.port_forward import Tunnel
from playrunner.ssh.targets import target_of
from playrunner.variables.scope import Scope


def open_transport(settings: KubeSettings, scope: Scope) -> Transport:
    """Straight to the API server, or through the host that `kube_via` names."""
    found = access(settings)
    if not settings.via:
        return Transport(found)
    if settings.via not in scope.world.inventory.hosts:
        raise BadInput(f'kube_via names the host "{settings.via}", which is not in the inventory')
    split = urlsplit(found.server)
    port = split.port or (443 if split.scheme == "https" else 80)
    tunnel = Tunnel(
        connect(target_of(Scope(scope.world, settings.via))), split.hostname or "", port
    )
    return Transport(found, tunnel.end)
