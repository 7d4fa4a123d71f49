"""A stage for tests of images: steps are played by the real runner, with the real buildah and a
real registry on loopback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.images.platform import PLATFORM
from playrunner.lifecycle.delete import Deletion, removable, remove
from playrunner.options import Options
from playrunner.playbook import load_playbook
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from playrunner.sandbox import registry
from playrunner.sandbox.registry import Registry
from tests.support.aws.module_stage import Run

CLUSTER = "demo"


def storage(folder: Path) -> Iterator[dict[str, str]]:
    """An environment in which buildah keeps its images in a folder of the tests' own; skips where
    it cannot work."""
    yield _environment(folder)
    for line in reversed(
        Path("/proc/self/mounts").read_text().splitlines()
    ):  # what it mounts there outlives it
        if line.split()[1].startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", line.split()[1]], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: Path) -> dict[str, str]:
    for driver in ("overlay", "vfs"):  # the second works anywhere, and copies everything
        settings = folder / f"{driver}.conf"
        places = f'graphroot = "{folder}/{driver}"\nrunroot = "{folder}/{driver}-run"\n'
        settings.write_text(f'[storage]\ndriver = "{driver}"\n{places}')
        environment = {"CONTAINERS_STORAGE_CONF": str(settings), "BUILDAH_ISOLATION": "chroot"}
        if _works(folder, environment):
            return environment
    pytest.skip("buildah cannot build here: it needs root, or user namespaces")


def _works(folder: Path, environment: dict[str, str]) -> bool:
    trial = folder / "trial"
    trial.mkdir(exist_ok=True)
    (trial / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    ran = subprocess.run(
        ["buildah", "build", "-q", "-t", "localhost/trial", str(trial)],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    return ran.returncode == 0


def real_registry(folder: Path) -> Iterator[Registry]:
    if not registry.installed():
        pytest.skip("docker-registry is not installed")
    yield registry.up(folder)
    registry.down(folder)


def required(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


class ImageStage:
    """Plays steps on localhost, in this process, in a repository of the test's own."""

    def __init__(self, kept: Registry, folder: Path, own: str) -> None:
        self.registry, self.folder = kept, folder
        self.repository = f"{kept.address}/{own}"
        self.variables: dict[str, Any] = {
            "cluster_name": CLUSTER,
            "image_auth_file": kept.auth_file,
            "image_builder": "buildah",
        }
        self.hosts: dict[str, Any] = {}
        self.source = folder / "code"
        self.source.mkdir()
        (self.source / "loop.py").write_text("print('training')\n")
        self.template("FROM scratch\nCOPY code /code\n")

    def template(self, text: str) -> None:
        """The Dockerfile that the steps of this stage build from."""
        (self.folder / "Dockerfile.j2").write_text(text)

    def steps(self, name: str = "cpu", push: bool = True, **recipe: Any) -> list[dict[str, Any]]:
        """An image from its recipe to its registry."""
        given = {
            "name": name,
            "repository": self.repository,
            "dockerfile": str(self.folder / "Dockerfile.j2"),
            "context": {"code": str(self.source)},
            **recipe,
        }
        return [
            {"name": "recipe", "image.recipe": given, "register": "made"},
            {"name": "built", "image.built": {"recipe": "{{ made }}"}, "register": "built"},
            *(
                [
                    {
                        "name": "pushed",
                        "image.pushed": {"recipe": "{{ made }}", "after": "{{ built }}"},
                    }
                ]
                if push
                else []
            ),
        ]

    def play(self, steps: Sequence[dict[str, Any]], check: bool = False, **variables: Any) -> Run:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = run_plays(
                self._plays(steps),
                Options((self._inventory(variables),), check=check, json=True),
                "test",
            )
        return Run(code, json.loads(out.getvalue())["results"], out.getvalue())

    def delete(self, steps: Sequence[dict[str, Any]], **variables: Any) -> Run:
        survey, gone = Survey(), list[Deletion]()

        def go(shared: Any) -> int:
            gone.extend(remove(survey, removable(survey, with_kept=True), lambda one: None))
            return 2 if any(one.status == "failed" for one in gone) else 0

        code = run_plays(
            self._plays(steps),
            Options((self._inventory(variables),), quiet=True),
            "test delete",
            survey=survey,
            then=go,
        )
        return Run(
            code,
            [],
            "\n".join(f"{one.resource.title}: {one.status} {one.reason}" for one in gone),
            {one.resource.title: one for one in gone},
        )

    def skopeo(self, reference: str, auth_file: str = "") -> dict[str, Any]:
        """What another program says of an image in the registry."""
        said = subprocess.run(
            [
                "skopeo",
                "inspect",
                "--tls-verify=false",
                "--authfile",
                auth_file or self.registry.auth_file,
                f"docker://{reference}",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        found: dict[str, Any] = json.loads(said)
        return found

    def buildah(self, *words: str) -> str:
        return subprocess.run(
            ["buildah", *words], capture_output=True, text=True, check=True, timeout=300
        ).stdout

    def foreign(self, tag: str, platform: str = PLATFORM) -> str:
        """An image that somebody else pushed, for some platform."""
        place = self.folder / f"foreign-{tag}"
        place.mkdir()
        (place / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
        reference = f"{self.repository}:{tag}"
        self.buildah("build", "-q", "--platform", platform, "-t", reference, str(place))
        self.buildah(
            "push", "-q", "--tls-verify=false", "--authfile", self.registry.auth_file, reference
        )
        self.buildah("rmi", reference)
        return reference

    def logs(self) -> str:
        """All that builders said in the runs of this stage."""
        state = Path(os.environ["PLAYRUNNER_STATE_HOME"])
        return "\n".join(file.read_text() for file in sorted(state.glob("runs/*/images/*.log")))

    def _plays(self, steps: Sequence[dict[str, Any]]) -> Any:
        file = self.folder / "steps.yaml"
        file.write_text(
            yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": list(steps)}])
        )
        return load_playbook(file)

    def _inventory(self, variables: dict[str, Any]) -> str:
        file = self.folder / "inventory.yaml"
        file.write_text(
            yaml.safe_dump({"all": {"vars": {**self.variables, **variables}, "hosts": self.hosts}})
        )
        return str(file)
