"""`python -m trainer.node.shell RUN_FOLDER HOST RANK [COMMAND]`: a shell, or one command of it, in
a run's folder on a node, with the variables that its ranks have. What is for the ranks alone stays
away: secrets, and the marks by which a run's own processes are found, joined and ended."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from trainer.node.folder import NodeFolder, read_json

_RANKS_ALONE = ("TRAINER_", "GATE_", "PLAYRUNNER_RUN")


def main(run: str, host: str, rank: int, command: str = "") -> None:
    folder = NodeFolder(Path(run).expanduser(), host)
    start = read_json(folder.start)
    if not start:
        sys.exit(f"{folder.path} has no start order; the run has not been started there")
    work = folder.run / "work"
    os.chdir(work if work.is_dir() else folder.run)
    shell = os.environ.get("SHELL") or "/bin/sh"
    words = [shell, "-c", command] if command else [shell]
    if not command:
        sys.stderr.write(f"rank {rank} of {start['run_id']} on {host}: {os.getcwd()}\n")
    os.execvpe(shell, words, _variables(start, rank))


def _variables(start: dict[str, Any], rank: int) -> dict[str, str]:
    """Of the command that starts the rank; a launcher of its own starts all ranks of a node."""
    commands = start.get("commands") or [{"environment": {}}]
    chosen = next((each for each in commands if each.get("label") == str(rank)), commands[0])
    shared = read_json(Path(start["environment"]).expanduser())
    given = {**shared, **chosen["environment"], "RANK": str(rank)}
    kept = {name: str(value) for name, value in given.items()}
    return {
        **os.environ,
        **{name: value for name, value in kept.items() if not name.startswith(_RANKS_ALONE)},
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:5])
