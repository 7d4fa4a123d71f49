"""An image from its recipe to its registry and away again: built once, pushed once, and known by
what is in it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from playrunner.images.platform import ARCHITECTURE
from tests.support.images.image_stage import ImageStage


def test_an_image_is_built_and_pushed_once(stage: ImageStage) -> None:
    first = stage.play(stage.steps())
    assert first.code == 0, first.text
    assert first.changed == ["built", "pushed"]

    again = stage.play(stage.steps())
    assert again.code == 0, again.text
    assert again.changed == []


def test_one_byte_of_the_code_makes_another_tag(stage: ImageStage) -> None:
    before = stage.play(stage.steps()).values["recipe"]["tag"]
    file = stage.source / "loop.py"
    file.write_text(file.read_text().replace("g'", "G'"))

    after = stage.play(stage.steps())

    assert after.values["recipe"]["tag"] != before
    assert after.changed == ["built", "pushed"]


def test_another_program_sees_the_same_digest_labels_and_platform(stage: ImageStage) -> None:
    played = stage.play(stage.steps())
    pushed, recipe = played.values["pushed"], played.values["recipe"]

    seen = stage.skopeo(pushed["reference"])

    assert seen["Digest"] == pushed["digest"]
    assert (seen["Architecture"], seen["Os"]) == (ARCHITECTURE, "linux")
    assert seen["Labels"]["playrunner.content"] == recipe["content"]
    assert stage.skopeo(pushed["pinned"])["Digest"] == pushed["digest"]


def test_what_is_in_the_registry_is_not_built_again_elsewhere(stage: ImageStage) -> None:
    reference = stage.play(stage.steps()).values["pushed"]["reference"]
    stage.buildah("rmi", reference)

    again = stage.play(stage.steps())

    assert again.code == 0, again.text
    assert again.changed == []


def test_check_foresees_both_and_touches_nothing(stage: ImageStage) -> None:
    foreseen = stage.play(stage.steps(), check=True)

    assert foreseen.code == 0, foreseen.text
    assert foreseen.changed == ["built", "pushed"]
    reference = foreseen.values["recipe"]["reference"]
    assert reference not in stage.buildah("images", "--format", "{{.Name}}:{{.Tag}}")
    assert stage.play(stage.steps()).changed == ["built", "pushed"]


def test_delete_takes_our_image_from_builder_and_registry_and_leaves_others(
    stage: ImageStage,
) -> None:
    theirs = stage.foreign("latest")
    played = stage.play(stage.steps())

    gone = stage.delete(stage.steps())

    assert gone.code == 0, gone.text
    assert {title: one.status for title, one in gone.gone.items()} == {
        "built": "changed",
        "pushed": "changed",
    }
    assert played.values["recipe"]["tag"] not in stage.skopeo(theirs)["RepoTags"]
    assert stage.delete(stage.steps()).gone == {}


def test_earlier_images_of_ours_go_and_the_others_stay(stage: ImageStage) -> None:
    theirs = stage.foreign("latest")
    early = stage.play(stage.steps()).values["recipe"]["tag"]
    (stage.source / "loop.py").write_text("print('better')\n")
    late = stage.play(stage.steps()).values["recipe"]["tag"]
    step = [{"name": "earlier", "image.absent": {"repository": stage.repository, "keep": [late]}}]

    first, second = stage.play(step), stage.play(step)

    assert (first.changed, second.changed) == (["earlier"], []), first.text + second.text
    tags = stage.skopeo(theirs)["RepoTags"]
    assert early not in tags and {late, "latest"} <= set(tags)


def test_an_image_of_somebody_else_is_not_deleted_by_its_name(stage: ImageStage) -> None:
    theirs = stage.foreign("latest")

    played = stage.play(
        [{"name": "go", "image.absent": {"repository": stage.repository, "tags": ["latest"]}}]
    )

    assert played.code == 2
    assert "is not tagged playrunner:cluster=demo" in played.messages
    assert stage.skopeo(theirs)["Architecture"] == ARCHITECTURE


def test_what_a_builder_says_is_kept_with_the_run(stage: ImageStage) -> None:
    stage.play(stage.steps())

    assert "COPY code /code" in stage.logs()


@pytest.mark.parametrize("builder", ["docker", "podman"])
def test_other_builders_end_with_the_same(stage: ImageStage, builder: str) -> None:
    if (
        shutil.which(builder) is None
        or subprocess.run([builder, "info"], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"{builder} is not installed, or does not work here")

    first, again = (stage.play(stage.steps(), image_builder=builder) for _ in range(2))

    assert (first.code, first.changed) == (0, ["built", "pushed"]), first.text
    assert (again.code, again.changed) == (0, []), again.text
    assert (
        stage.skopeo(first.values["pushed"]["reference"])["Digest"]
        == first.values["pushed"]["digest"]
    )
    gone = stage.delete(stage.steps(), image_builder=builder)
    assert {title: one.status for title, one in gone.gone.items()} == {
        "built": "changed",
        "pushed": "changed",
    }
