"""A copy of this checkout with the files that a section of CONTRIBUTING.md adds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.runner import REPOSITORY, Outcome

COPIED = ("playrunner", "trainer", "roles", "manifests", "playbooks", "inventories", "tests")
FILE = re.compile(
    r"^`(?P<path>[\w./-]+)`(?:, (?P<where>after|instead of) `(?P<line>[^`]+)`)?:\n\n"
    r"```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LIMIT_SECONDS = 240


class Copy:
    """A checkout of its own, in which commands are typed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder / "checkout", folder / "state"
        ignored = shutil.ignore_patterns("cases", "recorded")
        for part in COPIED:
            shutil.copytree(REPOSITORY / part, self.folder / part, ignore=ignored)
        for part in ("tasks.py", "pyproject.toml"):
            shutil.copy(REPOSITORY / part, self.folder / part)

    def follow(self, section: str) -> list[str]:
        """Do what a section says; returns the paths it names."""
        text = (REPOSITORY / "CONTRIBUTING.md").read_text()
        steps = list(FILE.finditer(text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]))
        for step in steps:
            file = self.folder / step["path"]
            if step["where"] is None:
                assert not file.exists(), file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(step["text"])
                continue
            before, line = file.read_text(), step["line"] + "\n"
            assert before.count(line) == 1, f"{step['path']}: {line}"
            kept = line if step["where"] == "after" else ""
            file.write_text(before.replace(line, kept + step["text"]))
        return [step["path"] for step in steps]

    def playrunner(self, *words: object) -> Outcome:
        return self.python("-m", "playrunner", *words)

    def python(self, *words: object) -> Outcome:
        own = {"PYTHONPATH": str(self.folder), "PLAYRUNNER_STATE_HOME": str(self.state)}
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "NO_COLOR": "1", **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)
