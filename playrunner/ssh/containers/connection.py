"""Containers: programs started by `docker exec` or `podman exec`, or through a cluster's API."""

from __future__ import annotations

import importlib
import shlex
import shutil
from typing import TYPE_CHECKING

from playrunner.errors import HostUnreachable
from playrunner.ssh.connection import Channel, Connection, Local, Stream

if TYPE_CHECKING:
    from playrunner.ssh.targets import Target

# By import path: the client of Kubernetes is a layer above this one
_POD_CONNECTION = "playrunner.kube.streams.pod_connection"


def open_container(target: Target) -> Connection:
    if target.kind == "kubectl":
        made: Connection = importlib.import_module(_POD_CONNECTION).PodConnection(target)
        return made
    assert target.container
    program = target.container.command[0]
    if not shutil.which(program):
        raise HostUnreachable(
            f"{target.name}: there is no program {program} on this machine; install it, or set"
            " ansible_connection to ssh"
        )
    return ContainerConnection(target)


class ContainerConnection(Local):
    """A container of this machine's engine."""

    def start(self, command: str, first: bytes = b"") -> Channel:
        assert self.target.container
        words = [*self.target.container.command, "/bin/sh", "-c", command]
        return self.start_process(
            f"exec {shlex.join(words)}", dict(self.target.container.environment)
        )

    def forward(self, address: str, port: int) -> Stream:
        raise HostUnreachable(
            f"{self.target.name}: ports are not reached through a {self.target.kind} connection"
        )
