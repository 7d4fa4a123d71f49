"""`python -m playrunner.sandbox.kube.controller_manager --kubeconfig FILE --folder FOLDER`: all
controllers of a cluster, until it is ended."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from playrunner.sandbox.kube.controller_manager.roster import controllers
from playrunner.sandbox.kube.controllers import token_reviews
from playrunner.sandbox.kube.controllers.control import ControlServer
from playrunner.sandbox.kube.controllers.egress import Egress
from playrunner.sandbox.kube.controllers.framework import process
from playrunner.sandbox.kube.controllers.framework.client import Api
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import NODES
from playrunner.sandbox.kube.controllers.machines.machines import Machines
from playrunner.sandbox.state import await_that, write_file

LOOK_SECONDS = 2.0
NODES_SECONDS = 30.0  # how long the starting process waits for nodes


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.sandbox.kube.controller_manager",
        description="Run all controllers of the sandbox's cluster.",
    )
    parser.add_argument(
        "--kubeconfig", type=Path, required=True, help="the API server and its credentials"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="where certificates of the API, pods and volumes are kept",
    )
    asked = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process.end_pods(asked.folder)  # of a process before this one
    context = ControllerContext(Api(asked.kubeconfig), asked.folder)
    for controller in controllers(context):
        controller.start()
    Egress(context).start()
    token_reviews.start(asked.folder)
    address = ControlServer(context).start()
    await_that(lambda: _nodes_ready(context), NODES_SECONDS)
    write_file(process.ready_file(asked.folder), json.dumps({"control": address}) + "\n")
    while asked.folder.is_dir():  # removed by `down`
        time.sleep(LOOK_SECONDS)
    process.end_pods(asked.folder)
    return 0


def _nodes_ready(context: ControllerContext) -> bool:
    ready = {
        node["metadata"]["name"]
        for node in context.see(NODES).all()
        if condition(node, "Ready") == "True"
    }
    return set(context.the(Machines).all()) <= ready


if __name__ == "__main__":
    sys.exit(main())
