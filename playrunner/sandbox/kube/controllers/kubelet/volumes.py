"""The volumes of a pod as folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import CLAIMS, VOLUMES, Object, uid_of
from playrunner.sandbox.kube.controllers.kubelet import environment, exports
from playrunner.sandbox.kube.controllers.kubelet.environment import ConfigMissing, Sources
from playrunner.sandbox.kube.controllers.kubelet.folders import (
    NotMounted,
    disk_folder,
    host_folder,
    shared_folder,
)


class Volumes:
    """Prepares a pod's volumes below its folder, and finds those that outlive it."""

    def __init__(self, context: ControllerContext, sources: Sources) -> None:
        self.context, self.sources = context, sources

    def prepare(self, pod: Object, folder: Path, address: str) -> dict[str, Path]:
        """Where each volume is, by name; called again, what changed in a ConfigMap or Secret is
        there."""
        return {
            one["name"]: self._one(pod, one, folder / one["name"], address)
            for one in pod["spec"].get("volumes") or ()
        }

    def _one(self, pod: Object, volume: Object, place: Path, address: str) -> Path:
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            named = (
                volume.get("persistentVolumeClaim", {}).get("claimName")
                or f"{pod['metadata']['name']}-{volume['name']}"
            )
            return self._kept(pod, self._claimed(pod["metadata"]["namespace"], named))
        if "hostPath" in volume:
            return host_folder(
                self.context.folder, pod["spec"].get("nodeName", ""), volume["hostPath"]["path"]
            )
        if "nfs" in volume:
            return self._exported(volume["nfs"]["server"], volume["nfs"]["path"])
        if "gcePersistentDisk" in volume:
            return disk_folder(
                self.context, pod["spec"].get("nodeName", ""), volume["gcePersistentDisk"]["pdName"]
            )
        place.mkdir(parents=True, exist_ok=True, mode=0o777)
        try:
            for name, (data, mode) in self._files(pod, volume, address).items():
                _write(place / name, data, mode)
        except ConfigMissing as missing:
            raise NotMounted(
                f'MountVolume.SetUp failed for volume "{volume["name"]}" : {missing}'
            ) from None
        return place

    def _files(self, pod: Object, volume: Object, address: str) -> dict[str, tuple[bytes, int]]:
        namespace = pod["metadata"]["namespace"]
        if "configMap" in volume:
            source = volume["configMap"]
            values = self.sources.config_map(
                namespace, source["name"], bool(source.get("optional"))
            )
            return _chosen(values, source, source.get("defaultMode", 0o644))
        if "secret" in volume:
            source = volume["secret"]
            values = self.sources.secret(
                namespace, source.get("secretName") or source["name"], bool(source.get("optional"))
            )
            return _chosen(values, source, source.get("defaultMode", 0o600))
        if "downwardAPI" in volume:
            return _downward(pod, volume["downwardAPI"], address)
        found: dict[str, tuple[bytes, int]] = {}
        for source in (volume.get("projected") or {}).get("sources") or ():
            found |= self._files(pod, {"name": volume["name"], **source}, address)
        return found

    def _claimed(self, namespace: str, name: str) -> Object:
        claim = self.context.see(CLAIMS).get(namespace, name)
        volume = self.context.see(VOLUMES).get(
            "", ((claim or {}).get("spec") or {}).get("volumeName", "")
        )
        if volume is None:
            raise NotMounted(f'persistentvolumeclaim "{name}" not bound')
        return volume

    def _kept(self, pod: Object, volume: Object) -> Path:
        """Where a persistent volume keeps its files."""
        spec = volume["spec"]
        if "nfs" in spec:
            return self._exported(spec["nfs"]["server"], spec["nfs"]["path"])
        if "gcePersistentDisk" in spec:
            return disk_folder(
                self.context, pod["spec"].get("nodeName", ""), spec["gcePersistentDisk"]["pdName"]
            )
        return volume_folder(self.context.folder, volume)

    def _exported(self, server: str, path: str) -> Path:
        """The same folder for every volume on the same server, whatever address it has now."""
        if not exports.is_inside(server):
            return shared_folder(self.context.folder, f"nfs-{server}{path}")
        found = exports.export_of(self.context, server, path)
        own = self.context.folder / "pods" / uid_of(found.pod) / "volumes" / found.volume["name"]
        place = self._one(found.pod, found.volume, own, "") / found.part
        if not place.is_dir():
            raise NotMounted(
                f"mounting {server}:{path} failed, reason given by server: No such file or"
                " directory"
            )
        return place


def volume_folder(folder: Path, volume: Object) -> Path:
    """Where a volume of a driver, or of a node, keeps its files: the same for every volume on the
    same file system."""
    spec = volume["spec"]
    if "hostPath" in spec or "local" in spec:
        return host_folder(folder, "", (spec.get("hostPath") or spec.get("local"))["path"])
    return shared_folder(
        folder, str((spec.get("csi") or {}).get("volumeHandle") or volume["metadata"]["name"])
    )


def _chosen(values: dict[str, bytes], source: Object, mode: int) -> dict[str, tuple[bytes, int]]:
    if not source.get("items"):
        return {key: (value, mode) for key, value in values.items()}
    files = {}
    for item in source["items"]:
        if item["key"] in values:
            files[item["path"]] = (values[item["key"]], item.get("mode", mode))
        elif not source.get("optional"):
            raise ConfigMissing(f"references non-existent config key: {item['key']}")
    return files


def _downward(pod: Object, source: Object, address: str) -> dict[str, tuple[bytes, int]]:
    mode, files = source.get("defaultMode", 0o644), {}
    for item in source.get("items") or ():
        if "fieldRef" in item:
            value = environment.field(pod, item["fieldRef"]["fieldPath"], address)
        else:
            value = environment.resource_field(
                pod, pod["spec"]["containers"][0], item["resourceFieldRef"]
            )
        files[item["path"]] = (value.encode(), item.get("mode", mode))
    return files


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_bytes() == data:
        return
    draft = path.with_name(f".{path.name}.new")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as out:
        out.write(data)
    draft.replace(path)
