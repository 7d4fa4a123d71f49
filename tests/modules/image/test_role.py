"""The role nccl_image against a registry: it foresees, finds what is there, clears away what is
old, and deletes its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.images.image_stage import ImageStage
from tests.support.images.recipes import recipes
from tests.support.runner import Outcome, invoke


class Operator:
    """Somebody at a terminal, with an inventory that names the stage's registry."""

    def __init__(self, stage: ImageStage, **variables: Any) -> None:
        self.stage, self.state = stage, stage.folder / "state"
        self.given = {
            "nccl_image_repository": stage.repository,
            "nccl_image_names": ["cpu", "fsdp"],
            **variables,
        }
        self.inventory = stage.folder / "operator.yaml"
        self.inventory.write_text(
            yaml.safe_dump({"all": {"vars": {**stage.variables, **self.given}}})
        )

    def invoke(self, *words: str) -> Outcome:
        return invoke(*words, "--inventory", self.inventory, "--json", state=self.state)

    def recipes(self) -> dict[str, dict[str, Any]]:
        folder = self.stage.folder / "recipes"
        folder.mkdir(exist_ok=True)
        return recipes(folder, **self.given)

    def pretend_pushed(self, recipe: dict[str, Any]) -> None:
        """An image under the recipe's tag and with its labels, as an earlier run has pushed it."""
        place: Path = self.stage.folder / recipe["tag"]
        place.mkdir()
        (place / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
        labels = {"playrunner.cluster": recipe["cluster"], "playrunner.content": recipe["content"]}
        words = [f"--label={name}={value}" for name, value in labels.items()]
        self.stage.buildah("build", "-q", *words, "-t", recipe["reference"], str(place))
        self.stage.buildah(
            "push",
            "-q",
            "--tls-verify=false",
            "--authfile",
            self.stage.registry.auth_file,
            recipe["reference"],
        )
        self.stage.buildah("rmi", recipe["reference"])


@pytest.fixture
def operator(stage: ImageStage) -> Operator:
    return Operator(stage)


def test_check_foresees_every_image_and_its_base(operator: Operator) -> None:
    foreseen = operator.invoke("nccl-image.check")

    assert foreseen.code == 0, foreseen.text
    # Two images and the base of one of them, each to be built and to be pushed.
    steps = [
        result
        for result in foreseen.data["results"]
        if result["module"] in ("image.built", "image.pushed")
    ]
    changes = [
        one
        for result in steps
        for one in result["values"].get("results", [result["values"]])
        if one["changed"]
    ]
    assert len(changes) == 6, foreseen.text


def test_what_the_registry_has_is_neither_built_nor_pushed_and_delete_takes_it_away(
    operator: Operator,
) -> None:
    theirs = operator.stage.foreign("latest")
    for recipe in operator.recipes().values():
        operator.pretend_pushed(recipe)

    pushed = operator.invoke("nccl-image.push")
    assert pushed.code == 0, pushed.text
    assert pushed.counts("localhost")["changed"] == 0
    gone = operator.invoke("nccl-image.delete", "--yes")

    assert gone.code == 0, gone.text
    assert operator.stage.skopeo(theirs)["RepoTags"] == ["latest"]


def test_earlier_images_go_when_the_inventory_says_so(stage: ImageStage) -> None:
    operator = Operator(stage, nccl_image_names=["cpu"], nccl_image_prune=True)
    theirs, recipe = stage.foreign("latest"), operator.recipes()["cpu"]
    operator.pretend_pushed(recipe)
    old = {
        **recipe,
        "content": "0" * 64,
        "tag": "cpu-old",
        "reference": f"{stage.repository}:cpu-old",
    }
    operator.pretend_pushed(old)

    pushed = operator.invoke("nccl-image.push")

    assert pushed.code == 0, pushed.text
    assert sorted(stage.skopeo(theirs)["RepoTags"]) == sorted([recipe["tag"], "latest"])


def test_a_workspace_is_laid_over_an_image_of_ours(stage: ImageStage) -> None:
    operator = Operator(stage, nccl_image_names=["cpu"], nccl_image_workspace_on="cpu")
    operator.pretend_pushed(operator.recipes()["cpu"])
    work = stage.folder / "work"
    work.mkdir()
    (work / "mine.py").write_text("print('mine')\n")

    pushed = operator.invoke("nccl-image.push", "--workspace", str(work))

    assert pushed.code == 0, pushed.text
    assert pushed.counts("localhost")["changed"] == 2
    (work / "bin").mkdir()
    (work / "bin" / "sh").write_text("x")
    refused = operator.invoke("nccl-image.push", "--workspace", str(work))
    assert refused.code == 2 and "would overwrite the image's own /bin" in refused.text


def test_an_image_that_does_not_exist_is_named_with_those_that_do(operator: Operator) -> None:
    played = operator.invoke("nccl-image.build", "--images", "cpu,mnist")

    assert played.code == 2
    assert "there is no image called mnist; there are nccl-tests, fsdp, bert" in played.text
