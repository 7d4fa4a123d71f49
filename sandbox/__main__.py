"""`python -m sandbox up [--nodes N] [--aws] [--kube] | status | env | down`: bring the stage up, look at it, take it away."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from sandbox import nodes
from sandbox.aws import process as aws_process
from sandbox.aws.process import Aws
from sandbox.kube import process as kube_process
from sandbox.kube.process import Kube
from sandbox.state import SandboxError, default_root

PARTS = ("nodes", "aws", "kube")


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    root = default_root()
    try:
        if asked.verb == "down":
            _down(root, asked.only)
            return 0
        if asked.verb == "env":
            return _environment(root)
        found, aws, kube = _up(root, asked) if asked.verb == "up" else _status(root)
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return error.exit_code
    _show(found, aws, kube, as_json=asked.json, inventory=str(nodes.inventory_file(root)))
    healthy = all(node.alive for node in found) and all(part is None or part.alive for part in (aws, kube))
    return 0 if asked.verb == "status" or healthy else 1


def _up(root: Path, asked: argparse.Namespace) -> tuple[tuple[nodes.Node, ...], Aws | None, Kube | None]:
    wants_aws = asked.aws or asked.only == "aws"
    if asked.aws_later:
        aws_process.up_later(root)
    aws = aws_process.up(root) if wants_aws else aws_process.status(root)
    found = nodes.up(root, asked.nodes) if asked.only in (None, "nodes") else nodes.status(root)
    kube = kube_process.up(root) if asked.kube or asked.only == "kube" else kube_process.status(root)
    return found, aws, kube


def _status(root: Path) -> tuple[tuple[nodes.Node, ...], Aws | None, Kube | None]:
    return nodes.status(root), aws_process.status(root), kube_process.status(root)


def _down(root: Path, only: str | None) -> None:
    if only in (None, "aws"):
        aws_process.down(root)
    if only in (None, "kube"):
        kube_process.down(root)
    if only in (None, "nodes"):
        nodes.down(root)


def _environment(root: Path) -> int:
    aws, kube = aws_process.status(root), kube_process.status(root)
    values = aws.environment() if aws is not None and aws.alive else {}
    if kube is not None and kube.alive:
        values |= {"KUBECONFIG": kube.kubeconfig}
    if not values:
        raise SandboxError("the pretend AWS is not up; start it with: python -m sandbox up --aws (or --kube for Kubernetes)")
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _show(found: tuple[nodes.Node, ...], aws: Aws | None, kube: Kube | None, *, as_json: bool, inventory: str) -> None:
    if as_json:
        parts = {"nodes": [node.summary() for node in found], "aws": aws.summary() if aws else None}
        parts |= {"kube": kube.summary()} if kube else {}
        print(json.dumps({"inventory": inventory if found else None, **parts}, indent=2))
        return
    for node in found:
        print(f"{node.name}  {node.address}:{node.port}  {_health(node.pid, node.alive)}  {node.scratch}")
    if aws is not None:
        print(f"aws    {aws.endpoint_url}  {_health(aws.pid, aws.alive)}  {aws.region}")
    if kube is not None:
        print(f"kube   {kube.server}  {_health(kube.pid, kube.alive)}  {kube.flavour}  KUBECONFIG={kube.kubeconfig}")
    if found:
        print(f"inventory: {inventory}")
    elif aws is None and kube is None:
        print("nothing is up; start with: python -m sandbox up")


def _health(pid: int | None, alive: bool) -> str:
    return f"pid {pid}" if alive else "not running"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(5, f"sandbox: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m sandbox", description="SSH nodes on loopback, a pretend AWS and a Kubernetes API to rehearse on."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="up|status|env|down")
    up = verbs.add_parser("up", help="start the nodes (and the pretend AWS); what is healthy is kept")
    up.add_argument("--nodes", type=int, default=nodes.DEFAULT_COUNT, help="how many nodes (default: %(default)s)")
    up.add_argument("--aws", action="store_true", help="the pretend AWS too; waits until it answers")
    up.add_argument("--aws-later", action="store_true", help="the pretend AWS too, where moto is installed; does not wait")
    up.add_argument("--kube", action="store_true", help="a Kubernetes API too; a real one where its programs are found")
    status = verbs.add_parser("status", help="say what is up")
    for verb in (up, status):
        verb.add_argument("--json", action="store_true", help="print one JSON object")
    verbs.add_parser("env", help='what boto3 and the aws CLI need: eval "$(python -m sandbox env)"')
    down = verbs.add_parser("down", help="end what is up and remove everything of it")
    for verb in (up, down):
        verb.add_argument("--only", choices=PARTS, help="this part alone")
    return parser


if __name__ == "__main__":
    sys.exit(main())
