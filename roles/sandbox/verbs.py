"""sandbox: SSH nodes, clouds and a cluster emulated on this machine; needs no account, no root."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import JSON_FLAG, RUN_FLAGS, verb

if TYPE_CHECKING:
    from invoke.context import Context


@verb(
    flags=JSON_FLAG,
    help={
        "nodes": "how many SSH nodes",
        "aws": "wait until the emulated AWS answers (it is started in any case)",
        "gcp": "also start an emulated Google Cloud",
        "kube": (
            "start a Kubernetes cluster (with a real kube-apiserver, if it and etcd are found)"
        ),
        "registry": "fail if docker-registry is not installed (it is started if it is)",
    },
)
def up(
    context: Context,
    flags: dict[str, Any],
    nodes: int = 2,
    aws: bool = False,
    gcp: bool = False,
    kube: bool = True,
    registry: bool = False,
) -> int:
    """Start the sandbox: SSH nodes, a cluster, an AWS API, a registry (idempotent)."""
    services = [
        "--aws" if aws else "--aws-later",
        "--registry" if registry else "--registry-if-installed",
    ]
    services += [*(["--gcp"] if gcp else []), *(["--kube"] if kube else [])]
    return _sandbox("up", "--nodes", str(nodes), *services, *_as_json(flags))


@verb(flags=JSON_FLAG)
def status(context: Context, flags: dict[str, Any]) -> int:
    """Show what of the sandbox is running."""
    return _sandbox("status", *_as_json(flags))


@verb(flags={**JSON_FLAG, "yes": RUN_FLAGS["yes"]})
def down(context: Context, flags: dict[str, Any]) -> int:
    """Stop the sandbox and delete its files; asks where runs with checkpoints are among them."""
    from playrunner.training.runs.sandbox_runs import agreed_to_delete

    if not agreed_to_delete(yes=flags["yes"], as_json=flags["json"]):
        return 0
    return _sandbox("down", *_as_json(flags))


def _sandbox(*arguments: str) -> int:
    # The product uses the sandbox as a program, never as a library.
    return subprocess.run(
        [sys.executable, "-m", "playrunner.sandbox", *arguments], check=False
    ).returncode


def _as_json(flags: dict[str, Any]) -> list[str]:
    return ["--json"] if flags["json"] else []
