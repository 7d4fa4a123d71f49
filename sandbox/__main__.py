"""`python -m sandbox up [--nodes N] | status | down`: bring the stage up, look at it, take it away."""

from __future__ import annotations

import argparse
import json
import sys
from typing import NoReturn

from sandbox import nodes
from sandbox.state import SandboxError, default_root


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    root = default_root()
    try:
        if asked.verb == "up":
            found = nodes.up(root, asked.nodes)
        elif asked.verb == "down":
            nodes.down(root)
            return 0
        else:
            found = nodes.status(root)
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return error.exit_code
    _show(found, as_json=asked.json, inventory=str(nodes.inventory_file(root)))
    return 0 if asked.verb == "status" or all(node.alive for node in found) else 1


def _show(found: tuple[nodes.Node, ...], *, as_json: bool, inventory: str) -> None:
    if as_json:
        summary = {"inventory": inventory if found else None, "nodes": [node.summary() for node in found]}
        print(json.dumps(summary, indent=2))
        return
    for node in found:
        health = f"pid {node.pid}" if node.alive else "not running"
        print(f"{node.name}  {node.address}:{node.port}  {health}  {node.scratch}")
    print(f"inventory: {inventory}" if found else "nothing is up; start with: python -m sandbox up")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(5, f"sandbox: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m sandbox", description="SSH nodes on loopback addresses to rehearse on.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="up|status|down")
    up = verbs.add_parser("up", help="start the nodes; what is healthy is kept")
    up.add_argument("--nodes", type=int, default=nodes.DEFAULT_COUNT, help="how many nodes (default: %(default)s)")
    status = verbs.add_parser("status", help="say what is up")
    for verb in (up, status):
        verb.add_argument("--json", action="store_true", help="print one JSON object")
    verbs.add_parser("down", help="end the nodes and remove everything of theirs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
