"""What a pod's containers start with: its folder, its volumes, and the mounts and environment of
each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.kubelet.environment import (
    Sources,
    environment_of,
    expanded,
)
from playrunner.sandbox.kube.controllers.kubelet.hosts import Hosts
from playrunner.sandbox.kube.controllers.kubelet.identity import (
    cloud_environment,
    identify,
    role_of,
)
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import (
    Bind,
    MountNamespace,
    namespaces_allowed,
    search_path,
)
from playrunner.sandbox.kube.controllers.kubelet.volumes import Volumes

_PASSED_ON = (
    "LANG",
    "LC_ALL",
    "OMP_NUM_THREADS",
    "TZ",
)  # of our own environment; everything else is the container's affair
# Names are in files here: a question to a name server would find nothing.
# Neuron's compiler here runs what it is given, keeps two files as its graphs, and counts them as
# the real one does; a file `fail` beside its caches makes one of them fail.
_COMPILER = """#!/bin/sh
"$@" || exit $?
cache=$(printf '%s' "$NEURON_CC_FLAGS" | sed -n 's/.*--cache_dir=\\([^ ]*\\).*/\\1/p')
mkdir -p "${cache:-.}"
failed=0
if [ -e "${cache:-.}/../fail" ]; then failed=1; fi
for graph in 1 2; do
  if [ $graph -gt $failed ]; then echo compiled > "${cache:-.}/graph$graph.neff"; fi
done
echo "||PARALLEL_COMPILE||: Total graphs: 2"
echo "||PARALLEL_COMPILE||: Total successful compilations: $((2 - failed))"
echo "||PARALLEL_COMPILE||: Total failed compilations: $failed"
"""
_TOOLS = {"nslookup": '#!/bin/sh\nexec getent hosts "$1"\n', "neuron_parallel_compile": _COMPILER}


@dataclass
class ContainerSetup:
    """Made once for each pod; every run of a container gets a new mount namespace and
    environment."""

    context: ControllerContext
    pod: Object
    folder: Path
    address: str
    volumes: dict[str, Path]
    namespaces: dict[str, MountNamespace]

    @staticmethod
    def of(context: ControllerContext, pod: Object, folder: Path, address: str) -> ContainerSetup:
        """May raise NotMounted: a volume is not there yet."""
        found = Volumes(context, Sources(context.api)).prepare(pod, folder / "volumes", address)
        (folder / "home").mkdir(exist_ok=True)
        _lay_out_tools(context.folder / "tools")
        context.the(Hosts).join(pod, folder / "hosts", address)
        return ContainerSetup(context, pod, folder, address, found, {})

    def mount_namespace(self, container: Object, fresh: bool = False) -> MountNamespace:
        """May raise ConfigMissing."""
        name = container["name"]
        if fresh or name not in self.namespaces:
            given = environment_of(self.pod, container, self.address, Sources(self.context.api))
            binds = tuple(self._bind(mount, given) for mount in container.get("volumeMounts") or ())
            role = role_of(self.context, self.pod)
            if role:
                token, names = identify(self.context, self.pod, self.folder / "cloud", role)
                binds, given = (*binds, token), {**names, **given}
            mounts = MountNamespace(
                self.folder,
                hostname_of(self.pod),
                binds,
                container.get("workingDir") or "",
                {**self._basic(), **given},
            )
            if not namespaces_allowed():
                self._rewrite_texts(mounts)
            self.namespaces[name] = mounts
        return self.namespaces[name]

    def refresh(self) -> None:
        """What changed meanwhile in ConfigMaps and Secrets that it mounts."""
        Volumes(self.context, Sources(self.context.api)).prepare(
            self.pod, self.folder / "volumes", self.address
        )
        if not namespaces_allowed():
            for mounts in self.namespaces.values():
                self._rewrite_texts(mounts)

    def _bind(self, mount: Object, given: dict[str, str]) -> Bind:
        source = self.volumes[mount["name"]]
        part = mount.get("subPath") or expanded(mount.get("subPathExpr", ""), given)
        if part:
            source = source / part
            if not source.exists():
                source.mkdir(parents=True)
        return Bind(source, mount["mountPath"].rstrip("/"), bool(mount.get("readOnly")))

    def _basic(self) -> dict[str, str]:
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        path = os.pathsep.join([str(self.context.folder / "tools"), search_path()])
        host, _, port = self.context.api.server.removeprefix("https://").rpartition(":")
        service = {
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
        }
        return {
            "PATH": path,
            "HOME": str(self.folder / "home"),
            "HOSTNAME": hostname_of(self.pod),
            **passed,
            **service,
            **cloud_environment(self.context),
        }

    def _rewrite_texts(self, mounts: MountNamespace) -> None:
        """Paths that stand in ConfigMaps; what is not text is left alone."""
        ours = {
            one["name"]
            for one in self.pod["spec"].get("volumes") or ()
            if "configMap" in one or "projected" in one
        }
        for file in [
            file for name in ours for file in self.volumes[name].rglob("*") if file.is_file()
        ]:
            try:
                text = file.read_text()
            except UnicodeDecodeError:
                continue
            if mounts.rewritten(text) != text:
                file.write_text(mounts.rewritten(text))


def hostname_of(pod: Object) -> str:
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])[:63]


def _lay_out_tools(folder: Path) -> None:
    for name, text in _TOOLS.items():
        if not (folder / name).exists():
            folder.mkdir(exist_ok=True)
            draft = folder / f".{name}.{os.getpid()}"
            draft.write_text(text)
            draft.chmod(0o755)
            draft.replace(folder / name)
