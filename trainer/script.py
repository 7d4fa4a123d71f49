"""`python -m trainer.script FOLDER SCRIPT ARGUMENTS...`: a rank of a run whose program is the
user's own.

The network is checked first, as for the trainer; then the script runs as `python SCRIPT` in FOLDER
would run it, in this process, since torch is imported already. Another kind of program replaces
this process.
"""

from __future__ import annotations

import os
import runpy
import string
import sys
from pathlib import Path

# Ranks of a script may meet elsewhere, or not at all
MEETING_SECONDS = 1.0
_REPLACED = ("RUN_DIR", "CHECKPOINT_DIR", "DATA_DIR")  # in arguments


def main(words: list[str]) -> int:
    # DeepSpeed's launcher puts it in front of everything; the script expects it among its own.
    added = [word for word in words[:1] if word.startswith(("--local_rank=", "--local-rank="))]
    folder, script, *given = words[len(added) :]
    if os.environ.get("TRAINER_GATE"):
        from trainer.netcheck.in_rank import check_network

        code = check_network()
        if code or os.environ.get("TRAINER_GATE_ALONE"):
            return code
        _await_first_rank()
    os.makedirs(os.environ["CHECKPOINT_DIR"], exist_ok=True)
    os.chdir(folder)
    path = Path(script)
    if not path.is_file():
        print(f"trainer: {script} is not in the folder that was copied", file=sys.stderr)
        return 5
    arguments = [*added, *map(_replaced, given)]
    _leave_no_trace()
    if path.suffix != ".py":
        _replace_process(path, arguments)
    sys.argv = [script, *arguments]
    sys.path[0] = str(path.resolve().parent)
    runpy.run_path(script, run_name="__main__")
    return 0


def _await_first_rank() -> None:
    from trainer.distributed.store import await_listener

    if os.environ.get("RANK", "0") != "0":
        port = int(os.environ.get("MASTER_PORT") or 0)
        await_listener(os.environ.get("MASTER_ADDR", ""), port, MEETING_SECONDS)


def _replaced(argument: str) -> str:
    known = {name: os.environ[name] for name in _REPLACED if name in os.environ}
    return string.Template(argument).safe_substitute(known)


def _leave_no_trace() -> None:
    """The script may have a package of the trainer's name; only the helper for metrics stays."""
    code = str(Path(__file__).resolve().parent.parent)
    helper = os.path.join(code, "helper")
    for name in [name for name in sys.modules if name.partition(".")[0] == "trainer"]:
        del sys.modules[name]
    others = [
        each
        for each in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if each and os.path.realpath(each) != code
    ]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*others, helper]))
    sys.path[1:] = [each for each in sys.path[1:] if os.path.realpath(each) != code]
    if helper not in sys.path:
        sys.path.append(helper)


def _replace_process(path: Path, arguments: list[str]) -> None:
    sys.stdout.flush()
    program = [str(path.resolve())] if os.access(path, os.X_OK) else ["sh", str(path)]
    os.execvp(program[0], [*program, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
