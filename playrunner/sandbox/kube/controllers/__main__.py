"""`python -m playrunner.sandbox.kube.controllers --kubeconfig FILE --folder FOLDER`: all
controllers of a cluster, until it is ended."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from playrunner.sandbox.kube.controllers import token_reviews
from playrunner.sandbox.kube.controllers.egress import Egress
from playrunner.sandbox.kube.controllers.framework import process
from playrunner.sandbox.kube.controllers.framework.client import Api
from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import NODES
from playrunner.sandbox.kube.controllers.framework.world import World
from playrunner.sandbox.kube.controllers.machines.machines import Machines
from playrunner.sandbox.kube.controllers.roster import controllers
from playrunner.sandbox.kube.controllers.steering import Steering
from playrunner.sandbox.state import await_that, write_file

LOOK_SECONDS = 2.0
NODES_SECONDS = 30.0  # as long as whoever starts us is kept waiting for nodes


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.sandbox.kube.controllers",
        description="What makes the cluster move.",
    )
    parser.add_argument("--kubeconfig", type=Path, required=True, help="the API, and the way in")
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="certificates of the API; pods and volumes are kept there",
    )
    asked = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process.end_pods(asked.folder)  # of a process before this one
    world = World(Api(asked.kubeconfig), asked.folder)
    for controller in controllers(world):
        controller.start()
    Egress(world).start()
    token_reviews.start(asked.folder)
    address = Steering(world).start()
    await_that(lambda: _nodes_ready(world), NODES_SECONDS)
    write_file(process.ready_file(asked.folder), json.dumps({"steering": address}) + "\n")
    while asked.folder.is_dir():  # whoever removes it has no more use for us
        time.sleep(LOOK_SECONDS)
    process.end_pods(asked.folder)
    return 0


def _nodes_ready(world: World) -> bool:
    ready = {
        node["metadata"]["name"]
        for node in world.see(NODES).all()
        if condition(node, "Ready") == "True"
    }
    return set(world.the(Machines).all()) <= ready


if __name__ == "__main__":
    sys.exit(main())
