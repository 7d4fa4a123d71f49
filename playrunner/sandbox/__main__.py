"""`python -m playrunner.sandbox up [--nodes N] [--aws] [--gcp] [--kube] [--registry] | status | env
| down`: the stage."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from playrunner.sandbox import nodes, registry
from playrunner.sandbox.aws.api import process as aws_process
from playrunner.sandbox.aws.api.process import Aws
from playrunner.sandbox.gcp import process as gcp_process
from playrunner.sandbox.gcp.process import Gcp
from playrunner.sandbox.kube.process import process as kube_process
from playrunner.sandbox.kube.process.process import Kube
from playrunner.sandbox.registry import Registry
from playrunner.sandbox.state import SandboxError, default_root

PARTS = ("nodes", "aws", "gcp", "kube", "registry")


@dataclass(frozen=True)
class Found:
    """What of the stage is there; None for a part that was never brought up."""

    nodes: tuple[nodes.Node, ...]
    aws: Aws | None
    gcp: Gcp | None
    kube: Kube | None
    registry: Registry | None

    @property
    def healthy(self) -> bool:
        return all(node.alive for node in self.nodes) and all(
            part is None or part.alive for part in (self.aws, self.gcp, self.kube, self.registry)
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
        found = _up(root, asked) if asked.verb == "up" else _status(root)
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return error.exit_code
    _show(found, as_json=asked.json, inventory=str(nodes.inventory_file(root)))
    return 0 if asked.verb == "status" or found.healthy else 1


def _up(root: Path, asked: argparse.Namespace) -> Found:
    if asked.aws_later:
        aws_process.up_later(root)
    aws = aws_process.up(root) if asked.aws or asked.only == "aws" else aws_process.status(root)
    gcp = gcp_process.up(root) if asked.gcp or asked.only == "gcp" else gcp_process.status(root)
    found = nodes.up(root, asked.nodes) if asked.only in (None, "nodes") else nodes.status(root)
    kube = (
        kube_process.up(root, moving=True)
        if asked.kube or asked.only == "kube"
        else kube_process.status(root)
    )
    wanted = (
        asked.registry
        or asked.only == "registry"
        or (asked.registry_if_installed and registry.installed())
    )
    return Found(found, aws, gcp, kube, registry.up(root) if wanted else registry.status(root))


def _status(root: Path) -> Found:
    clouds = aws_process.status(root), gcp_process.status(root), kube_process.status(root)
    return Found(nodes.status(root), *clouds, registry.status(root))


def _down(root: Path, only: str | None) -> None:
    if only in (None, "aws"):
        aws_process.down(root)
    if only in (None, "gcp"):
        gcp_process.down(root)
    if only in (None, "kube"):
        kube_process.down(root)
    if only in (None, "registry"):
        registry.down(root)
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
            "the pretend AWS is not up; start it with: python -m playrunner.sandbox up --aws"
            f" {more}"
        )
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _show(found: Found, *, as_json: bool, inventory: str) -> None:
    aws, gcp, kube = found.aws, found.gcp, found.kube
    if as_json:
        parts: dict[str, Any] = {
            "nodes": [node.summary() for node in found.nodes],
            "aws": aws.summary() if aws else None,
        }
        parts |= {"gcp": gcp.summary()} if gcp else {}
        parts |= {"kube": kube.summary()} if kube else {}
        parts |= {"registry": found.registry.summary()} if found.registry else {}
        print(json.dumps({"inventory": inventory if found.nodes else None, **parts}, indent=2))
        return
    for node in found.nodes:
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
    if found.registry is not None:
        print(
            f"images {found.registry.address}  {_health(found.registry.pid, found.registry.alive)} "
            f" {found.registry.auth_file}"
        )
    if found.nodes:
        print(f"inventory: {inventory}")
    elif aws is None and gcp is None and kube is None and found.registry is None:
        print("nothing is up; start with: python -m playrunner.sandbox up")


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
        "up", help="start the nodes (and the pretend AWS); what is healthy is kept"
    )
    up.add_argument(
        "--nodes",
        type=int,
        default=nodes.DEFAULT_COUNT,
        help="how many nodes (default: %(default)s)",
    )
    up.add_argument(
        "--aws", action="store_true", help="the pretend AWS too; waits until it answers"
    )
    up.add_argument(
        "--aws-later",
        action="store_true",
        help="the pretend AWS too, where moto is installed; does not wait",
    )
    up.add_argument("--gcp", action="store_true", help="a pretend Google Cloud too")
    up.add_argument(
        "--kube",
        action="store_true",
        help="a Kubernetes cluster too; with a real API where its programs are found",
    )
    up.add_argument(
        "--registry",
        action="store_true",
        help="a registry for images too: docker-registry, with a login",
    )
    up.add_argument(
        "--registry-if-installed",
        action="store_true",
        help="the same, where docker-registry is installed",
    )
    status = verbs.add_parser("status", help="say what is up")
    for verb in (up, status):
        verb.add_argument("--json", action="store_true", help="print one JSON object")
    verbs.add_parser(
        "env",
        help='what boto3, the aws CLI and gcloud need: eval "$(python -m playrunner.sandbox env)"',
    )
    down = verbs.add_parser("down", help="end what is up and remove everything of it")
    for verb in (up, down):
        verb.add_argument("--only", choices=PARTS, help="this part alone")
    return parser


if __name__ == "__main__":
    sys.exit(main())
