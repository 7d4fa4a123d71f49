"""The tools side by side: how each is installed, called, and read."""

from __future__ import annotations

import compileall
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.runner.stage import Stage

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
VENVS = REPOSITORY / ".bench" / "venvs"
PLAY = HERE / "play.yaml"
FORKS = "50"


@dataclass(frozen=True)
class Tool:
    """One way to bring the twenty steps about."""

    name: str
    title: str
    command: Callable[[Stage, bool], list[str]]  # (stage, check only)
    changes: Callable[[str], int]
    settings: Mapping[str, str] = field(default_factory=dict)
    venv: str | None = None
    slow: bool = False  # measured once unless asked otherwise

    def environment(self, stage: Stage) -> dict[str, str]:
        """The user's environment without settings for any of the tools, so that defaults are
        defaults."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANSIBLE_", "PYINFRA_"))
        }
        own = {
            "ANSIBLE_HOME": str(stage.folder / "ansible"),
            "ANSIBLE_CONFIG": str(
                stage.folder / "ansible.cfg"
            ),  # empty: a user's own file must not count
            "ANSIBLE_NOCOLOR": "1",
            "BENCH_STAGE": str(stage.description),
            "PLAYRUNNER_STATE_HOME": str(stage.folder / "state"),
        }
        return {**inherited, **own, **self.settings}

    def install(self) -> None:
        """Make the tool's own virtual environment, with the versions of its requirements file."""
        if self.venv is None:
            # As pip does when it installs the others: none of them compiles its source at every
            # start.
            for package in ("playrunner", "roles", "benchmarks"):
                compileall.compile_dir(HERE.parents[1] / package, quiet=1)
            return
        wanted = (HERE / f"requirements-{self.venv}.txt").read_text()
        marker = VENVS / self.venv / "installed.txt"
        if marker.exists() and marker.read_text() == wanted:
            return
        print(f"installing {self.venv} into {VENVS / self.venv}", file=sys.stderr)
        venv.create(VENVS / self.venv, clear=True, symlinks=True, with_pip=True)
        pip = [_program(self.venv, "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run(
            [*pip, "--requirement", str(HERE / f"requirements-{self.venv}.txt")], check=True
        )
        marker.write_text(wanted)


def tools() -> dict[str, Tool]:
    """Every tool by name, ours last."""
    strategies = (
        VENVS
        / "mitogen"
        / "lib"
        / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        / "site-packages"
    )
    mitogen = {
        "ANSIBLE_STRATEGY_PLUGINS": str(strategies / "ansible_mitogen" / "plugins" / "strategy"),
        "ANSIBLE_STRATEGY": "mitogen_linear",
        "ANSIBLE_FORKS": FORKS,
    }
    pipelined = {
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_FORKS": FORKS,
        "ANSIBLE_SSH_ARGS": "-C -o ControlMaster=auto -o ControlPersist=60s",
    }
    ansible = _ansible_playbook("ansible")
    every = [
        Tool(
            "ansible", "ansible-core, defaults", ansible, _recap_changes, {}, "ansible", slow=True
        ),
        Tool(
            "pipelined",
            f"ansible-core, pipelining, {FORKS} forks",
            ansible,
            _recap_changes,
            pipelined,
            "ansible",
            True,
        ),
        Tool(
            "mitogen",
            "ansible-core, Mitogen",
            _ansible_playbook("mitogen"),
            _recap_changes,
            mitogen,
            "mitogen",
            True,
        ),
        Tool("pyinfra", "pyinfra", _pyinfra, _pyinfra_changes, {}, "pyinfra"),
        Tool("floor", "the floor, by hand", _floor, _recap_changes),
        Tool("ours", "playrunner", _ours, _recap_changes),
    ]
    return {tool.name: tool for tool in every}


def _ansible_playbook(venv_name: str) -> Callable[[Stage, bool], list[str]]:
    def command(stage: Stage, check: bool) -> list[str]:
        program = _program(venv_name, "ansible-playbook")
        return [
            program,
            "--inventory",
            str(stage.inventory),
            str(PLAY),
            *(["--check"] if check else []),
        ]

    return command


def _pyinfra(stage: Stage, check: bool) -> list[str]:
    files = [str(HERE / "pyinfra_peer" / name) for name in ("inventory.py", "deploy.py")]
    return [_program("pyinfra", "pyinfra"), "--dry" if check else "--yes", *files]


def _floor(stage: Stage, check: bool) -> list[str]:
    return [
        sys.executable,
        str(HERE / "floor.py"),
        str(stage.description),
        *(["--check"] if check else []),
    ]


def _ours(stage: Stage, check: bool) -> list[str]:
    program = Path(sys.executable).with_name("invoke")
    return [
        str(program),
        "play",
        str(PLAY),
        "--inventory",
        str(stage.inventory),
        *(["--check"] if check else []),
    ]


def _program(venv_name: str, program: str) -> str:
    return str(VENVS / venv_name / "bin" / program)


def _recap_changes(output: str) -> int:
    counts = re.findall(r"\bchanged=(\d+)", output)
    return sum(map(int, counts)) if counts else -1


def _pyinfra_changes(output: str) -> int:
    """Changes made, from the last line of its results; with --dry, those it foresees, from its
    table of them."""
    total = re.search(r"Grand total +\d+ +(\d+|-)", output)
    if total:
        return int(total[1].replace("-", "0"))
    foreseen = re.findall(
        r" +(\d+|-) +(\d+|-) *$", output.partition("Detected changes:")[2], re.MULTILINE
    )
    return (
        sum(int(count.replace("-", "0")) for row in foreseen for count in row) if foreseen else -1
    )
