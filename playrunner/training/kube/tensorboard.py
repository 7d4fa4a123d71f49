"""train.tensorboard for clusters: served by a pod beside the run, reached through the API server on
this machine's loopback."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import trainer.node.tensorboard_server
from playrunner.errors import PlayrunnerError
from playrunner.kube.client.errors import KubeError
from playrunner.kube.streams.port_stream import PodStream
from playrunner.kube.watch.explain import PODS
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.port_forward import PortForward
from playrunner.text.documents import json_object
from playrunner.training.kube.one_off.side_pod import helper
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import ClusterSession, open_session

START_SECONDS = 120.0  # importing tensorboard takes a few; on a busy node many
LOOK_SECONDS = 2.0


class BoardFailed(PlayrunnerError):
    """TensorBoard does not run in its pod."""

    exit_code = 6


def serve_board(options: Options, name: str, port: int) -> int:
    """Until Ctrl-C; its pod goes, whichever way this ends."""
    session = open_session(options)
    run = the_run(session, name)
    forward = PortForward(port)  # first, since a port that is taken is said at once
    try:
        with helper(session, run, "board", board_command(run)) as pod:
            server = _first_word(session, run, pod)
            forward.serve(lambda: PodStream(session.kube, run.namespace, pod, server["port"]))
            _tell(options, run, pod, server, forward.url)
            _wait_until_it_ends(session, run, pod)
    except KeyboardInterrupt:
        return 0
    finally:
        forward.close()
    return 0


def board_command(run: ClusterRun) -> list[str]:
    """The board ends with its input, which a pod does not have: another program holds one open."""
    source = Path(trainer.node.tensorboard_server.__file__).read_text()
    python = str(run.summary.get("python") or "python3")
    return [
        "sh",
        "-c",
        'sleep 28800 | exec "$0" -u -c "$1" "$2"',
        python,
        source,
        str(run.summary["output"]),
    ]


def _first_word(session: ClusterSession, run: ClusterRun, pod: str) -> dict[str, Any]:
    """The port that it serves on, once it does."""
    deadline = time.monotonic() + START_SECONDS
    text = ""
    while time.monotonic() < deadline:
        text = _log(session, run, pod)
        line = next((line for line in text.splitlines() if line.startswith("{")), "")
        if line:
            server = json_object(line) or {"error": f"it printed {line[:100]!r}"}
            if "error" in server:
                raise BoardFailed(
                    f"pod {run.namespace}/{pod}: {server['error']};"
                    " train_image must have tensorboard"
                )
            return server
        time.sleep(0.5)
    raise BoardFailed(
        f"pod {run.namespace}/{pod}: tensorboard did not start within {START_SECONDS:g} s:"
        f" {text[-300:]}"
    )


def _wait_until_it_ends(session: ClusterSession, run: ClusterRun, pod: str) -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        session.kube.refresh()
        found = session.kube.get(PODS, run.namespace, pod)
        if found is None or (found.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            raise BoardFailed(
                f"pod {run.namespace}/{pod} has ended: {_log(session, run, pod)[-300:]}"
            )


def _log(session: ClusterSession, run: ClusterRun, pod: str) -> str:
    try:
        return session.kube.text(f"{PODS.path(run.namespace, pod)}/log", tailLines=50)
    except KubeError:
        return ""


def _tell(options: Options, run: ClusterRun, pod: str, server: dict[str, Any], url: str) -> None:
    if options.json:
        print_json(
            {
                "name": run.name,
                "pod": pod,
                "url": url,
                "folder": server["folder"],
                "made": server["made"],
            }
        )
    else:
        print(f"{run.name}: {url} (Ctrl-C ends)")
        if server["made"]:
            print(
                "shown from its metrics; --set train.log.tensorboard=true makes a run write event"
                " files itself"
            )
    sys.stdout.flush()
