"""`python -m playrunner.sandbox up [--nodes N] [--aws] [--gcp] [--kube] [--registry] [--datasets] |
status | env | down`: the stage."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from playrunner.sandbox import node_inventory, nodes, registry
from playrunner.sandbox.aws.api import process as aws_process
from playrunner.sandbox.aws.api.process import Aws
from playrunner.sandbox.datasets import process as datasets_process
from playrunner.sandbox.datasets.process import Datasets
from playrunner.sandbox.gcp import process as gcp_process
from playrunner.sandbox.gcp.process import Gcp
from playrunner.sandbox.kube.process import process as kube_process
from playrunner.sandbox.kube.process import shared_claim
from playrunner.sandbox.kube.process.process import Kube
from playrunner.sandbox.registry import Registry
from playrunner.sandbox.state import SandboxError, default_root

PARTS = ("nodes", "aws", "gcp", "kube", "registry", "datasets")


@dataclass(frozen=True)
class Found:
    """The parts of the sandbox; None for a part that was never started."""

    nodes: tuple[node_inventory.Node, ...]
    aws: Aws | None
    gcp: Gcp | None
    kube: Kube | None
    registry: Registry | None
    datasets: Datasets | None

    @property
    def healthy(self) -> bool:
        parts = (self.aws, self.gcp, self.kube, self.registry, self.datasets)
        return all(node.alive for node in self.nodes) and all(
            part is None or part.alive for part in parts
        )


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    root = default_root()
    try:
        if asked.verb == "down":
            _down(root, asked.only)
            return 0
        if asked.verb == "env":
            return _environment(root)
        sandbox = _up(root, asked) if asked.verb == "up" else _status(root)
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return error.exit_code
    _show(sandbox, as_json=asked.json, inventory=str(node_inventory.inventory_file(root)))
    return 0 if asked.verb == "status" or sandbox.healthy else 1


def _up(root: Path, asked: argparse.Namespace) -> Found:
    if asked.aws_later:
        aws_process.up_later(root)
    aws = aws_process.up(root) if asked.aws or asked.only == "aws" else aws_process.status(root)
    gcp = gcp_process.up(root) if asked.gcp or asked.only == "gcp" else gcp_process.status(root)
    ssh_nodes = nodes.up(root, asked.nodes) if asked.only in (None, "nodes") else nodes.status(root)
    kube = _cluster_up(root) if asked.kube or asked.only == "kube" else kube_process.status(root)
    wanted = (
        asked.registry
        or asked.only == "registry"
        or (asked.registry_if_installed and registry.installed())
    )
    images = registry.up(root) if wanted else registry.status(root)
    served = asked.datasets or asked.only == "datasets"
    sets = datasets_process.up(root) if served else datasets_process.status(root)
    return Found(ssh_nodes, aws, gcp, kube, images, sets)


def _cluster_up(root: Path) -> Kube:
    kube = kube_process.up(root, moving=True)
    shared_claim.offer(Path(kube.kubeconfig), root / "data")
    return kube


def _status(root: Path) -> Found:
    clouds = aws_process.status(root), gcp_process.status(root), kube_process.status(root)
    rest = registry.status(root), datasets_process.status(root)
    return Found(nodes.status(root), *clouds, *rest)


def _down(root: Path, only: str | None) -> None:
    if only in (None, "aws"):
        aws_process.down(root)
    if only in (None, "gcp"):
        gcp_process.down(root)
    if only in (None, "kube"):
        kube_process.down(root)
    if only in (None, "registry"):
        registry.down(root)
    if only in (None, "datasets"):
        datasets_process.down(root)
    if only in (None, "nodes"):
        nodes.down(root)


def _environment(root: Path) -> int:
    values: dict[str, str] = {}
    for cloud in (aws_process.status(root), gcp_process.status(root)):
        values |= cloud.environment() if cloud is not None and cloud.alive else {}
    if "AWS_ENDPOINT_URL" in values:  # for contexts of kubectl that name the profile
        values["AWS_SHARED_CREDENTIALS_FILE"] = str(aws_process.credentials_file(root))
    kube = kube_process.status(root)
    if kube is not None and kube.alive:
        values |= {"KUBECONFIG": kube.kubeconfig}
    if not values:
        more = "(or --gcp for Google Cloud, --kube for Kubernetes)"
        raise SandboxError(
            "the pretend AWS is not running; start it with: python -m playrunner.sandbox up --aws"
            f" {more}"
        )
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _show(sandbox: Found, *, as_json: bool, inventory: str) -> None:
    aws, gcp, kube, images = sandbox.aws, sandbox.gcp, sandbox.kube, sandbox.registry
    if as_json:
        parts: dict[str, Any] = {
            "nodes": [node.summary() for node in sandbox.nodes],
            "aws": aws.summary() if aws else None,
        }
        parts |= {"gcp": gcp.summary()} if gcp else {}
        parts |= {"kube": kube.summary()} if kube else {}
        parts |= {"registry": images.summary()} if images else {}
        parts |= {"datasets": sandbox.datasets.summary()} if sandbox.datasets else {}
        print(json.dumps({"inventory": inventory if sandbox.nodes else None, **parts}, indent=2))
        return
    for node in sandbox.nodes:
        print(
            f"{node.name}  {node.address}:{node.port}  {_health(node.pid, node.alive)} "
            f" {node.scratch}"
        )
    if aws is not None:
        print(f"aws    {aws.endpoint_url}  {_health(aws.pid, aws.alive)}  {aws.region}")
    if gcp is not None:
        print(
            f"gcp    {gcp.endpoint_url}  {_health(gcp.pid, gcp.alive)}  {gcp.project}  {gcp.zone}"
        )
    if kube is not None:
        print(
            f"kube   {kube.server}  {_health(kube.pid, kube.alive)}  {kube.flavour} "
            f" KUBECONFIG={kube.kubeconfig}"
        )
    if images is not None:
        print(f"images {images.address}  {_health(images.pid, images.alive)}  {images.auth_file}")
    if sandbox.datasets is not None:
        _show_datasets(sandbox.datasets)
    if sandbox.nodes:
        print(f"inventory: {inventory}")
    elif (
        sandbox.datasets is None and aws is None and gcp is None and kube is None and images is None
    ):
        print("nothing is running; start with: python -m playrunner.sandbox up")


def _show_datasets(sets: Datasets) -> None:
    health, names = _health(sets.pid, sets.alive), ", ".join(sets.names)
    print(f"data   {sets.endpoint_url}  {health}  {names}")


def _health(pid: int | None, alive: bool) -> str:
    return f"pid {pid}" if alive else "not running"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(5, f"sandbox: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m playrunner.sandbox",
        description="SSH nodes on loopback, a pretend AWS and Google Cloud, and a Kubernetes API.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="up|status|env|down")
    up = verbs.add_parser(
        "up", help="start the SSH nodes (and other parts by flag); running parts are kept"
    )
    up.add_argument(
        "--nodes",
        type=int,
        default=nodes.DEFAULT_COUNT,
        help="number of SSH nodes (default: %(default)s)",
    )
    up.add_argument(
        "--aws", action="store_true", help="start the pretend AWS and wait until it answers"
    )
    up.add_argument(
        "--aws-later",
        action="store_true",
        help="start the pretend AWS where moto is installed; do not wait for it",
    )
    up.add_argument("--gcp", action="store_true", help="start a pretend Google Cloud")
    up.add_argument(
        "--kube",
        action="store_true",
        help="start a Kubernetes cluster (a real API server where its programs are installed)",
    )
    up.add_argument(
        "--registry",
        action="store_true",
        help="start an image registry: docker-registry, with a login",
    )
    up.add_argument(
        "--registry-if-installed",
        action="store_true",
        help="the same, where docker-registry is installed",
    )
    up.add_argument(
        "--datasets",
        action="store_true",
        help="serve small stand-ins of the data sets that profiles read",
    )
    status = verbs.add_parser("status", help="show which parts are running")
    for verb in (up, status):
        verb.add_argument("--json", action="store_true", help="print one JSON object")
    verbs.add_parser(
        "env",
        help='print variables for boto3, aws, gcloud: eval "$(python -m playrunner.sandbox env)"',
    )
    down = verbs.add_parser("down", help="stop all parts and delete everything they created")
    for verb in (up, down):
        verb.add_argument("--only", choices=PARTS, help="only this part")
    return parser


if __name__ == "__main__":
    sys.exit(main())
