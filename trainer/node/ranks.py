"""`python -m trainer.node.ranks FOLDER`: the one command that a pod's sshd runs for the run's key,
whatever is asked for.

`ranks ADDRESS` starts this pod's ranks, which meet there, and stays until they have ended; when
whoever asked is gone, so are they. `end` tells the pod that the run is over. FOLDER/start.json says
what to run and as whom, since an SSH session has no environment of its own.
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

START, OVER = "start.json", "over"
TICK_SECONDS = 0.2
FAILED_GRACE_SECONDS = 3.0  # ranks that wait for a dead one cannot save anything
LET_GO = 143  # as if it had been asked to end
_one_at_a_time = threading.Lock()


def main() -> int:
    folder = Path(sys.argv[1])
    asked = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    if asked == "end":
        (folder / OVER).touch()
        return 0
    word, _, address = asked.partition(" ")
    if word != "ranks" or not address:
        print(f'ranks: "{asked}" is not done here: it is ranks ADDRESS or end', flush=True)
        return 64
    return run({**json.loads((folder / START).read_text()), "master": address})


def run(told: Mapping[str, Any]) -> int:
    """Until all have ended well, one has not, or the connection is gone."""
    processes.end_all(told["mark"], FAILED_GRACE_SECONDS)  # of an earlier life of the first pod
    let_go = threading.Event()
    threading.Thread(target=_listen, args=(let_go,), daemon=True).start()
    ranks = [_started(told, local) for local in range(told["slots"])]
    pumps = [
        pump(rank.stdout, f"[{told['node'] * told['slots'] + local}] ")
        for local, rank in enumerate(ranks)
        if rank.stdout
    ]
    while True:
        codes = [rank.poll() for rank in ranks]
        bad = [code for code in codes if code]
        if bad or let_go.is_set() or all(code == 0 for code in codes):
            break
        time.sleep(TICK_SECONDS)
    processes.end_all(told["mark"], FAILED_GRACE_SECONDS)
    for thread in pumps:
        thread.join(FAILED_GRACE_SECONDS)
    return (bad[0] if bad[0] > 0 else 128 - bad[0]) if bad else LET_GO if let_go.is_set() else 0


def place(told: Mapping[str, Any], local: int) -> dict[str, str]:
    """Who a rank is among all, in the words of DeepSpeed's launcher and of torch."""
    slots, node, nodes = told["slots"], told["node"], told["nodes"]
    said = {
        "RANK": node * slots + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": nodes * slots,
        "LOCAL_WORLD_SIZE": slots,
        "LOCAL_SIZE": slots,
        "GROUP_RANK": node,
        "CROSS_RANK": node,
        "CROSS_SIZE": nodes,
        "MASTER_ADDR": told["master"],
        "MASTER_PORT": told["port"],
    }
    return {name: str(value) for name, value in said.items()}


def pump(pipe: IO[bytes], prefix: str = "") -> threading.Thread:
    """Its lines to our own output, each whole."""

    def pour() -> None:
        for line in pipe:
            try:
                with _one_at_a_time:
                    sys.stdout.buffer.write(prefix.encode() + line.rstrip(b"\n") + b"\n")
                    sys.stdout.buffer.flush()
            except OSError:
                # Nobody hears it any more; it is read on, so that whoever speaks does not wait
                pass

    thread = threading.Thread(target=pour, daemon=True)
    thread.start()
    return thread


def _started(told: Mapping[str, Any], local: int) -> subprocess.Popen[bytes]:
    environment = {**told["environment"], **place(told, local), processes.MARK: told["mark"]}
    return subprocess.Popen(
        [sys.executable, "-u", *told["words"]],
        env=environment,
        cwd=told["folder"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=processes.end_with_parent,
    )


def _listen(let_go: threading.Event) -> None:
    """Over SSH a program outlives its connection; the end of its input tells."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    let_go.set()


if __name__ == "__main__":
    sys.exit(main())
