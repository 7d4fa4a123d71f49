"""How a cluster is reached: a kubeconfig's context, or the service account of the pod this program
runs in.

Certificates, tokens and token commands are read here, without the `kubernetes` package: importing
that takes longer than applying a hundred objects. Its own loader is called only for the older
`auth-provider` entries, which it knows how to refresh.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen
from playrunner.kube.client import kubeconfig_shape
from playrunner.kube.client.credentials import AuthProvider, Credentials, ExecCommand, TokenFile
from playrunner.text.documents import Located

if TYPE_CHECKING:
    from playrunner.kube.client.transport import Transport
    from playrunner.variables.scope import Scope

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@frozen
class KubeSettings:
    """What an inventory says of its cluster; empty fields are found as kubectl finds them."""

    kubeconfig: str = ""
    context: str = ""
    via: str = ""  # the host of the inventory through which the API server is reached


@frozen
class Access:
    """Everything needed to call one API server."""

    server: str
    name: str = ""  # the context, for messages
    user: str = ""
    namespace: str = "default"
    authority: bytes = b""  # PEM; empty: what this machine trusts
    verify: bool = True
    server_name: str = ""  # the name its certificate must carry, when it is not the address
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    proxy: str = ""
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    file: str = ""  # where the cluster was written down, for messages


def settings_of(lookup: Callable[[str], Any]) -> KubeSettings:
    """From the variables of an inventory: kubeconfig, kube_context, kube_via."""
    return KubeSettings(
        str(lookup("kubeconfig") or ""),
        str(lookup("kube_context") or ""),
        str(lookup("kube_via") or ""),
    )


def access(settings: KubeSettings) -> Access:
    """The context that is meant; BadInput says what is missing."""
    files = _files(settings)
    if not any(file.is_file() for file in files):
        if (
            not settings.kubeconfig
            and (SERVICE_ACCOUNT / "token").is_file()
            and os.environ.get("KUBERNETES_SERVICE_HOST")
        ):
            return _in_cluster()
        raise BadInput(
            f"there is no kubeconfig {' or '.join(map(str, files))}; name one with the variable"
            " kubeconfig (or $KUBECONFIG), or make one with aws.kubeconfig or gcp.kubeconfig"
        )
    merged = _Kubeconfig.read([file for file in files if file.is_file()])
    return merged.access(settings.context)


def open_transport(settings: KubeSettings, scope: Scope) -> Transport:
    """Straight to the API server, or through the host that `kube_via` names."""
    from playrunner.kube.client.transport import Transport
    from playrunner.ssh.connection import connect
    from playrunner.ssh.port_forward import forward_through
    from playrunner.ssh.targets import target_of
    from playrunner.variables.scope import Scope

    cluster = access(settings)
    if not settings.via:
        return Transport(cluster)
    if settings.via not in scope.run_vars.inventory.hosts:
        raise BadInput(f'kube_via names the host "{settings.via}", which is not in the inventory')
    split = urlsplit(cluster.server)
    port = split.port or (443 if split.scheme == "https" else 80)
    connection = connect(target_of(Scope(scope.run_vars, settings.via)))
    return Transport(cluster, forward_through(connection, split.hostname or "", port).address)


def _files(settings: KubeSettings) -> list[Path]:
    listed = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part] or [
        "~/.kube/config"
    ]
    try:
        return [
            Path(part).expanduser()
            for part in ([settings.kubeconfig] if settings.kubeconfig else listed)
        ]
    except RuntimeError as error:
        raise BadInput(
            f"the kubeconfig {settings.kubeconfig or ' '.join(listed)} cannot be found: {error}"
        ) from None


def _in_cluster() -> Access:
    host, port = (
        os.environ["KUBERNETES_SERVICE_HOST"],
        os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    namespace = SERVICE_ACCOUNT / "namespace"
    return Access(
        f"https://{f'[{host}]' if ':' in host else host}:{port}",
        "in-cluster",
        "the pod's service account",
        namespace.read_text().strip() if namespace.is_file() else "default",
        (SERVICE_ACCOUNT / "ca.crt").read_bytes(),
        credentials=TokenFile(SERVICE_ACCOUNT / "token"),
    )


@frozen
class _Kubeconfig:
    """One file, or several as one: of two entries of the same name the first counts."""

    clusters: dict[str, tuple[Mapping[str, Any], Path]]
    users: dict[str, tuple[Mapping[str, Any], Path]]
    contexts: dict[str, tuple[Mapping[str, Any], Path]]
    current: str
    files: tuple[Path, ...]

    @classmethod
    def read(cls, files: list[Path]) -> _Kubeconfig:
        entries_by_kind: dict[str, dict[str, tuple[Mapping[str, Any], Path]]] = {
            "clusters": {},
            "users": {},
            "contexts": {},
        }
        current = ""
        for file in files:
            content = kubeconfig_shape.read(file)
            current = current or str(content.get("current-context") or "")
            for kind, entries in entries_by_kind.items():
                for entry in content.get(kind) or ():
                    entries.setdefault(str(entry.get("name")), (entry.get(kind[:-1]) or {}, file))
        return cls(
            entries_by_kind["clusters"],
            entries_by_kind["users"],
            entries_by_kind["contexts"],
            current,
            tuple(files),
        )

    def access(self, wanted: str) -> Access:
        name = wanted or self.current
        place = Place(", ".join(map(str, self.files)))
        if name not in self.contexts:
            contexts = ", ".join(sorted(self.contexts)) or "none"
            raise BadInput(
                (
                    f'there is no context "{name}"; there are: {contexts}'
                    if name
                    else (
                        "no current-context is set; set the variable kube_context to one of:"
                        f" {contexts}"
                    )
                ),
                place,
            )
        context, file = self.contexts[name]
        cluster, cluster_file = self._part(self.clusters, "cluster", context, name, file)
        user, user_file = self._part(self.users, "user", context, name, file)
        server = str(cluster.get("server") or "")
        at = _place(cluster, "server", cluster_file)
        if not server:
            raise BadInput(f'the cluster of the context "{name}" has no server address', at)
        proxy, named = (
            str(cluster.get("proxy-url") or ""),
            str(cluster.get("tls-server-name") or ""),
        )
        return Access(
            kubeconfig_shape.address(server, "server", at),
            name,
            str(context.get("user", "")),
            str(context.get("namespace") or "default"),
            _data(cluster, "certificate-authority", cluster_file),
            not cluster.get("insecure-skip-tls-verify"),
            kubeconfig_shape.server_name(named, _place(cluster, "tls-server-name", cluster_file)),
            _data(user, "client-certificate", user_file),
            _data(user, "client-key", user_file),
            (
                kubeconfig_shape.address(
                    proxy, "proxy-url", _place(cluster, "proxy-url", cluster_file)
                )
                if proxy
                else ""
            ),
            _credentials(user, user_file, name, cluster),
            str(cluster_file),
        )

    def _part(
        self,
        entries: dict[str, tuple[Mapping[str, Any], Path]],
        kind: str,
        context: Mapping[str, Any],
        name: str,
        file: Path,
    ) -> tuple[Mapping[str, Any], Path]:
        referred = str(context.get(kind) or "")
        if referred not in entries:
            if kind == "user" and not referred:
                return {}, file
            raise BadInput(
                f'the context "{name}" speaks of the {kind} "{referred}", which is not there',
                Place(str(file)),
            )
        return entries[referred]


def _place(entry: Mapping[str, Any], key: str, file: Path) -> Place:
    return entry.place(key) if isinstance(entry, Located) else Place(str(file))


def _data(entry: Mapping[str, Any], name: str, file: Path) -> bytes:
    """A certificate or key, in the file itself or beside it."""
    inline, path = entry.get(f"{name}-data"), entry.get(name)
    try:
        if inline:
            return base64.b64decode("".join(str(inline).split()), validate=True)
        return (file.parent / Path(str(path)).expanduser()).read_bytes() if path else b""
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # also bad base64, a path with a zero byte, a home that is not there
        given = f"{name}-data" if inline else name
        raise BadInput(f"the {given} cannot be read: {error}", _place(entry, given, file)) from None


def _credentials(
    user: Mapping[str, Any], file: Path, context: str, cluster: Mapping[str, Any]
) -> Credentials:
    if user.get("exec"):
        return ExecCommand(user["exec"], file, cluster)
    if user.get("auth-provider"):
        return AuthProvider(file, context)
    if user.get("tokenFile"):
        return TokenFile(file.parent / str(user["tokenFile"]))
    if user.get("token"):
        return Credentials(
            "Bearer "
            + kubeconfig_shape.header(str(user["token"]), "token", _place(user, "token", file))
        )
    if user.get("username"):
        plain = f"{user['username']}:{user.get('password', '')}"
        return Credentials("Basic " + base64.b64encode(plain.encode()).decode())
    return Credentials()
