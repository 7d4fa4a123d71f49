"""Which program stands for an image: the command that the pod names, run on this machine, or a
placeholder that merely lives."""

from __future__ import annotations

import shlex
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

from playrunner.sandbox.kube.controllers.kubelet.environment import expanded
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import MountNamespace

# Infrastructure: its work is done by our own controllers, or not at all; a process runs so
# that it can be seen and ended.
PLACEHOLDERS = (
    "*device-plugin*",
    "*csi-*",
    "*livenessprobe*",
    "*training-operator*",
    "*elasticjob*",
    "*elastic-job*",
    "*/jobset/*",
    "*trainer-controller-manager*",
    "*/kueue/*",
    "*volcanosh/*",
    "*torchelastic/kubernetes*",
    "*vc-controller-manager*",
    "*vc-scheduler*",
    "*vc-webhook-manager*",
    "*etcd*",
    "*tensorboard*",
    "*tensorflow*",
    "*nvidia-driver-installer*",
    "*cos-nvidia-installer*",
    "*/pause*",
    "pause:*",
    "*nfs-server*",
    "*volume-nfs*",
    "*cluster-autoscaler*",
    "*metrics-server*",
    "*aws-node*",
    "*coredns*",
    "*kube-proxy*",
    "*node-termination-handler*",
)
PLACEHOLDER = (
    "sh",
    "-c",
    'echo "a placeholder for $0"; trap "exit 0" TERM INT; sleep infinity & wait',
)
ENDING_PLACEHOLDER = ("sh", "-c", 'echo "a placeholder for $0, which has done its work"')


def is_placeholder(image: str, command: list[str]) -> bool:
    """Also where no command is given: what an image would run by itself is not known here."""
    return not command or any(fnmatch(image, pattern) for pattern in PLACEHOLDERS)


def command_in(
    container: dict[str, Any], mounts: MountNamespace, ends: bool
) -> tuple[list[str], MountNamespace]:
    """The command to run for a container, and the mounts it runs in; `ends`: the container is meant
    to end by itself."""
    image = container.get("image", "")
    command = [
        expanded(word, mounts.environment)
        for word in [*(container.get("command") or ()), *(container.get("args") or ())]
    ]
    if not is_placeholder(image, command):
        return command, mounts
    placeholder = ENDING_PLACEHOLDER if ends else PLACEHOLDER
    # It needs no volume, and would not run with an empty /dev or /.
    return [*placeholder, shlex.quote(image)], replace(mounts, binds=())
