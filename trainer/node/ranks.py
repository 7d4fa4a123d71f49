"""`python -m trainer.node.ranks FOLDER`: the only command that a pod's sshd runs for the run's key.

The request `ranks ADDRESS` starts this pod's ranks with that master address and waits for their
end; it ends them when the connection closes. `end` tells the pod that the run is over.
FOLDER/start.json has the command, folder and environment, since an SSH session has none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from trainer.node import processes
from trainer.node.exit_with_parent import EXIT_PARENT_GONE

START, OVER = "start.json", "over"
TICK_SECONDS = 0.2
FAILED_GRACE_SECONDS = 3.0  # ranks that wait for a dead one cannot save
_output_lock = threading.Lock()


def main() -> int:
    folder = Path(sys.argv[1])
    request = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    if request == "end":
        (folder / OVER).touch()
        return 0
    verb, _, address = request.partition(" ")
    if verb != "ranks" or not address:
        print(f'ranks: unknown request "{request}"; use ranks ADDRESS or end', flush=True)
        return 64
    return run({**json.loads((folder / START).read_text()), "master": address})


def run(config: Mapping[str, Any]) -> int:
    """Until all ranks have ended, one has failed, or the connection is closed."""
    processes.end_all(
        config["mark"], FAILED_GRACE_SECONDS
    )  # left by an earlier attempt of the first pod
    parent_gone = threading.Event()
    threading.Thread(target=_watch_input, args=(parent_gone,), daemon=True).start()
    ranks = [_started(config, local) for local in range(config["slots"])]
    pumps = [
        pump(rank.stdout, f"[{config['node'] * config['slots'] + local}] ")
        for local, rank in enumerate(ranks)
        if rank.stdout
    ]
    while True:
        codes = [rank.poll() for rank in ranks]
        bad = [code for code in codes if code]
        if bad or parent_gone.is_set() or all(code == 0 for code in codes):
            break
        time.sleep(TICK_SECONDS)
    processes.end_all(config["mark"], FAILED_GRACE_SECONDS)
    for thread in pumps:
        thread.join(FAILED_GRACE_SECONDS)
    return (
        (bad[0] if bad[0] > 0 else 128 - bad[0])
        if bad
        else EXIT_PARENT_GONE
        if parent_gone.is_set()
        else 0
    )


def rank_variables(config: Mapping[str, Any], local: int) -> dict[str, str]:
    """A rank's environment, as DeepSpeed's launcher and torch name it."""
    slots, node, nodes = config["slots"], config["node"], config["nodes"]
    variables = {
        "RANK": node * slots + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": nodes * slots,
        "LOCAL_WORLD_SIZE": slots,
        "LOCAL_SIZE": slots,
        "GROUP_RANK": node,
        "CROSS_RANK": node,
        "CROSS_SIZE": nodes,
        "MASTER_ADDR": config["master"],
        "MASTER_PORT": config["port"],
    }
    return {name: str(value) for name, value in variables.items()}


def pump(pipe: IO[bytes], prefix: str = "") -> threading.Thread:
    """Copy its lines to standard output, each in one write."""

    def copy() -> None:
        for line in pipe:
            try:
                with _output_lock:
                    sys.stdout.buffer.write(prefix.encode() + line.rstrip(b"\n") + b"\n")
                    sys.stdout.buffer.flush()
            except OSError:
                pass  # the connection is closed; reading on keeps the rank from blocking

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread


def _started(config: Mapping[str, Any], local: int) -> subprocess.Popen[bytes]:
    environment = {
        **config["environment"],
        **rank_variables(config, local),
        processes.MARK: config["mark"],
    }
    return subprocess.Popen(
        [sys.executable, "-u", *config["words"]],
        env=environment,
        cwd=config["folder"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=processes.end_with_parent,
    )


def _watch_input(parent_gone: threading.Event) -> None:
    """Over SSH a program outlives its connection; its input ends with it."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    parent_gone.set()


if __name__ == "__main__":
    sys.exit(main())
