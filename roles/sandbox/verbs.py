"""sandbox: a pretend world on this machine, to rehearse a runbook with no account and no root."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from playrunner.commands.flags import verb

_JSON = {"json": (False, "print JSON on stdout, and nothing else there")}


@verb(
    flags=_JSON,
    help={
        "nodes": "how many SSH nodes",
        "aws": "wait until the pretend AWS answers (it is started anyway)",
        "gcp": "a pretend Google Cloud, too",
        "kube": (
            "a Kubernetes cluster (its API is a real one where kube-apiserver and etcd are found)"
        ),
        "registry": "insist on a registry (if installed it is started anyway)",
    },
)
def up(
    context: Any,
    flags: dict[str, Any],
    nodes: int = 2,
    aws: bool = False,
    gcp: bool = False,
    kube: bool = True,
    registry: bool = False,
) -> int:
    """Start the sandbox: SSH nodes, a Kubernetes cluster, a pretend AWS, a registry; what is
    already up is left as it is."""
    also = [
        "--aws" if aws else "--aws-later",
        "--registry" if registry else "--registry-if-installed",
    ]
    also += [*(["--gcp"] if gcp else []), *(["--kube"] if kube else [])]
    return _sandbox("up", "--nodes", str(nodes), *also, *_as_json(flags))


@verb(flags=_JSON)
def status(context: Any, flags: dict[str, Any]) -> int:
    """What of the sandbox is up."""
    return _sandbox("status", *_as_json(flags))


@verb(flags=_JSON)
def down(context: Any, flags: dict[str, Any]) -> int:
    """End the sandbox and remove everything it made."""
    return _sandbox("down", *_as_json(flags))


def _sandbox(*words: str) -> int:
    # The sandbox is a stage kept apart: the product reaches it as a program, never as a library.
    return subprocess.run(
        [sys.executable, "-m", "playrunner.sandbox", *words], check=False
    ).returncode


def _as_json(flags: dict[str, Any]) -> list[str]:
    return ["--json"] if flags["json"] else []
