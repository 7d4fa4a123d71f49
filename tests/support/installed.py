"""An environment with the wheel of this checkout, and a folder in which its commands are typed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.runner import LIMIT_SECONDS, REPOSITORY, Outcome


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # With the builder in this environment nothing is downloaded.
    here = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    words = ["wheel", "-q", "--no-deps", *here, "-w", str(folder), str(REPOSITORY)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    return next(folder.glob("playrunner-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; its dependencies are those of this one."""
    python, packages = _environment(wheel, tmp_path_factory.mktemp("environment"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def python_without_extras(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment as `pip install playrunner` without an extra leaves it."""
    python, packages = _environment(wheel, tmp_path_factory.mktemp("environment"))
    for name in sorted(_dependencies("playrunner")):
        for file in metadata.files(name) or ():
            top = packages / file.parts[0]
            if ".." not in file.parts and top.name != "__pycache__" and not top.exists():
                top.symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top.name)
    return python


def _environment(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """A Python with the wheel and nothing else, and the folder of its packages."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    words = ["install", "-q", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *words], check=True)
    return python, next((folder / "lib").glob("python*/site-packages"))


def _dependencies(name: str) -> set[str]:
    """The distributions that one needs without an extra, and those that they need."""
    needed: set[str] = set()
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needed |= {requirement.name, *_dependencies(requirement.name)}
    return needed


class Project:
    """A folder in which commands of the installed package are typed."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder, self.state = python, folder / "project", folder / "state"
        self.folder.mkdir()

    def playrunner(self, *words: object, **environment: str) -> Outcome:
        return self.run(self.python.with_name("playrunner"), *words, **environment)

    def run(self, *command: object, **environment: str) -> Outcome:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        own = {"PLAYRUNNER_STATE_HOME": str(self.state), "NO_COLOR": "1", **environment}
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env={**kept, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=3 * LIMIT_SECONDS,  # a command may train a model
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def project(python: Path, tmp_path: Path) -> Project:
    return Project(python, tmp_path)


@pytest.fixture
def sandbox(project: Project) -> Iterator[Project]:
    yield project
    assert project.playrunner("sandbox.down", "--yes").code == 0
