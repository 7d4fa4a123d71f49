"""The launchers, by name. A launcher is one file with a LAUNCHER in it, and one line here.

Everything that lists launchers (help texts, refusals, which backend a run belongs to) reads these
names; the file itself is imported when the launcher is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar, cast

SSH_LAUNCHERS = {
    "deepspeed": "playrunner.training.ssh.launchers.deepspeed",
    "torchrun": "playrunner.training.ssh.launchers.torchrun",
    "direct": "playrunner.training.ssh.launchers.direct",
}
CLUSTER_LAUNCHERS = {
    "job": "playrunner.training.kube.launchers.job",
    "pytorchjob": "playrunner.training.kube.launchers.pytorchjob",
    "elasticjob": "playrunner.training.kube.launchers.elasticjob",
    "vcjob": "playrunner.training.kube.launchers.vcjob",
    "deepspeedjob": "playrunner.training.kube.launchers.deepspeedjob",
    "jobset": "playrunner.training.kube.launchers.jobset",
    "trainjob": "playrunner.training.kube.launchers.trainjob",
}

_Launcher = TypeVar("_Launcher")


class Registry(Mapping[str, _Launcher]):
    """Launchers by name, imported when first looked up."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> _Launcher:
        return cast(_Launcher, import_module(self._modules[name]).LAUNCHER)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules


def listed(names: Mapping[str, str]) -> str:
    """As in `deepspeed, torchrun or direct`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
