"""`python -m trainer.node.pod_script PROGRAM...`: a pod's ranks that run a script of the user's
own.

Prepares the pod with TRAINER_SETUP first. The program's output is passed on as it comes; what a
line of rank 0 says of a step is added as a line of metrics, and to the metrics file of RUN_DIR,
since a pod has no supervisor that reads them. Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from trainer.node.metric_lines import metrics_of

EXIT_SETUP = 5  # it would fail in the same way again


def main(program: list[str]) -> int:
    if code := _prepare():
        return code
    metrics = metrics_of(Path(os.environ["RUN_DIR"]), Path(os.environ.get("TRAINER_WORK") or "."))
    child = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGTERM))
    assert child.stdout
    for data in child.stdout:
        line = data.decode(errors="replace").rstrip("\n")
        _say(_without_bar_states(line))
        for record in metrics.records([line]):
            _say(f"[0] metrics {json.dumps(record)}")
        if metrics.news:
            _say(f"[0] {metrics.news}")
    for record in metrics.take_events():  # of a script that prints no loss
        _say(f"[0] metrics {json.dumps(record)}")
    code = child.wait()
    return code if code >= 0 else 128 - code


def _prepare() -> int:
    """Each pod has a file system of its own, so each is prepared."""
    command = os.environ.get("TRAINER_SETUP", "")
    if not command:
        return 0
    print(f"pod: setup: {command}", flush=True)
    programs = os.path.dirname(sys.executable)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"}
    code = subprocess.call(
        ["sh", "-ec", command],
        cwd=os.environ["TRAINER_WORK"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    if code:
        print(f"pod: setup ended with code {code}", flush=True)
    return EXIT_SETUP if code else 0


def _without_bar_states(line: str) -> str:
    """Of a progress bar the last state; the rank that it belongs to stays in front."""
    rank = line[: line.index("] ") + 2] if line.startswith("[") and "] " in line else ""
    last = line.rpartition("\r")[2]
    return last if last == line or last.startswith(rank) else rank + last


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
