"""train.tensorboard: a run's curves in a browser, served by its first node, reached through the
connection to it."""

from __future__ import annotations

import queue
import sys
import threading
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.connection import Channel
from playrunner.ssh.port_forward import LOOPBACK, PortForward, wait_until_closed
from playrunner.text.documents import json_object
from playrunner.training.code_staging import stage_code
from playrunner.training.node_shell import in_shell
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run

START_SECONDS = 60.0  # importing tensorboard takes a few; on a busy node many


class BoardFailed(PlayrunnerError):
    """TensorBoard does not run on the node."""

    exit_code = 6


def serve_board(options: Options, name: str, port: int) -> int:
    """Until Ctrl-C; nothing is left on the node, whichever way this ends."""
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        node: dict[str, Any] = run.job["nodes"][0]
        host = node["host"]
        forward = PortForward(port)  # first: a port in use is reported at once
        code = stage_code(fleet, {host: node["root"]})[host]
        output = f"{node['root']}/runs/{run.name}/output"
        words = [node["python"], "-m", "trainer.node.tensorboard_server", output]
        channel = fleet.start(
            host, f"PYTHONPATH={in_shell(code)} exec {' '.join(map(in_shell, words))}"
        )
        try:
            said = _first_word(host, channel)
            forward.serve(
                lambda: fleet.agents.pool.get(fleet.target(host)).forward(LOOPBACK, said["port"])
            )
            _tell(options, run.name, host, said, forward.url)
            _serve(host, channel)
        except KeyboardInterrupt:
            return 0
        finally:
            forward.close()
            channel.close()
    return 0


def _tell(options: Options, name: str, host: str, server: dict[str, Any], url: str) -> None:
    if options.json:
        print_json(
            {
                "name": name,
                "host": host,
                "url": url,
                "folder": server["folder"],
                "made": server["made"],
            }
        )
    else:
        print(f"{name}: {url} (Ctrl-C ends)")
        if server["made"]:
            print(
                "shown from its metrics; --set train.log.tensorboard=true makes a run write event"
                " files itself"
            )
    sys.stdout.flush()


def _first_word(host: str, channel: Channel) -> dict[str, Any]:
    """The port that it serves on, once it does."""
    words: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: words.put(_line(channel)), daemon=True).start()
    try:
        line = words.get(timeout=START_SECONDS)
    except queue.Empty:
        raise BoardFailed(f"{host}: tensorboard did not start within {START_SECONDS:g} s") from None
    said = json_object(line) or {"error": line or _complaint(channel)}
    if "error" in said:
        raise BoardFailed(f"{host}: {said['error']}")
    return said


def _serve(host: str, channel: Channel) -> None:
    wait_until_closed(channel)
    raise BoardFailed(f"{host}: tensorboard ended: {_complaint(channel)}")


def _line(channel: Channel) -> str:
    data = b""
    try:
        while b"\n" not in data and (more := channel.receive()):
            data += more
    except (OSError, EOFError):
        pass
    return next(
        (line for line in data.decode(errors="replace").splitlines() if line.startswith("{")), ""
    )


def _complaint(channel: Channel) -> str:
    lines = [line.strip() for line in channel.stderr_text().splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
