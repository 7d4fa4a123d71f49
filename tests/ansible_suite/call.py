"""Stands for ansible-playbook in a target's script: notes each call and how it ended.

With Playrunner, a call that ends differently than it did with ansible-core is made once more with
ansible-core, so that the script goes on and its later calls count, too. So is a call that
ended the script in an earlier run of it, by its output or by what it had left behind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SHOWN = 6000  # characters of output that are kept


def main() -> int:
    """The environment names the files of calls and the two programs; argv is the call itself."""
    record, expected, playrunner, ansible = (os.environ[f"SUITE_{name}"] for name in _NAMES)
    words = sys.argv[1:]
    if not playrunner:
        code = subprocess.call([ansible, *words])
        _note(Path(record), {"words": words, "code": code})
        return code
    answers = json.loads(Path(expected).read_text())
    number = len(_notes(Path(record)))
    known = answers[number]["code"] if number < len(answers) else None
    if number < len(answers) and answers[number].get("differs"):
        given = {name: answers[number][name] for name in ("differs", "as")}
        _note(Path(record), {"words": words, "code": known, **given})
        return subprocess.call([ansible, *words])
    if sys.stdin.isatty():
        code = subprocess.call([*playrunner.split("\n"), *words])
        _note(Path(record), {"words": words, "code": code, "known": known, "output": ""})
        return code
    own = subprocess.run([*playrunner.split("\n"), *words], capture_output=True, check=False)
    output = (own.stdout + own.stderr).decode(errors="replace")
    note = {"words": words, "code": own.returncode, "known": known}
    _note(Path(record), {**note, "output": output[:SHOWN] + output[-SHOWN:]})
    if known is None or own.returncode == known:
        sys.stdout.buffer.write(own.stdout)
        sys.stderr.buffer.write(own.stderr)
        return own.returncode
    return subprocess.call([ansible, *words])


_NAMES = ("RECORD", "EXPECTED", "PLAYRUNNER", "ANSIBLE")


def _notes(record: Path) -> list[str]:
    return record.read_text().splitlines() if record.exists() else []


def _note(record: Path, entry: dict[str, Any]) -> None:
    with record.open("a") as file:
        file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
