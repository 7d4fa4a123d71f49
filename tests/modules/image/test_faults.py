"""What can go wrong on the way to a registry: each is said in plain words, and a second run ends
where the first should have."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.images.platform import ARCHITECTURE, PLATFORM
from tests.support.images.cutting import CuttingProxy
from tests.support.images.image_stage import ImageStage

LAYER_BYTES = 3_000_000

OTHER = "amd64" if ARCHITECTURE == "arm64" else "arm64"


@pytest.fixture
def cut(stage: ImageStage, request: pytest.FixtureRequest) -> Iterator[CuttingProxy]:
    """A way to the registry that breaks in the middle of a layer; for good, or once."""
    (stage.source / "data.bin").write_bytes(
        random.Random(7).randbytes(LAYER_BYTES)
    )  # does not get smaller when it is packed
    proxy = CuttingProxy(
        stage.registry.address, LAYER_BYTES // 2, getattr(request, "param", "") == "once"
    )
    logins = stage.folder / "config.json"
    known = json.loads(Path(stage.registry.auth_file).read_text())["auths"][stage.registry.address]
    logins.write_text(json.dumps({"auths": {proxy.address: known}}))
    stage.repository = stage.repository.replace(stage.registry.address, proxy.address)
    stage.variables["image_auth_file"] = str(logins)
    yield proxy
    proxy.close()


def test_a_push_that_was_cut_off_and_repeated_ends_with_the_right_digest(
    stage: ImageStage, cut: CuttingProxy
) -> None:
    broken = stage.play(stage.steps())
    assert cut.cuts and broken.code, broken.text
    # Either the builder says so in the end, or the registry does not answer when it is asked what
    # it has by now.
    assert broken.statuses["pushed"] in ("failed", "unreachable")

    cut.mend()
    again = stage.play(stage.steps())

    assert again.code == 0, again.text
    assert again.changed == ["pushed"]
    seen = stage.skopeo(again.values["pushed"]["reference"], stage.variables["image_auth_file"])
    assert seen["Digest"] == again.values["pushed"]["digest"]


@pytest.mark.parametrize("cut", ["once"], indirect=True)
def test_a_push_that_is_cut_off_once_is_repeated_by_itself(
    stage: ImageStage, cut: CuttingProxy
) -> None:
    played = stage.play(stage.steps())

    assert played.code == 0 and cut.cuts == 1, played.text
    seen = stage.skopeo(played.values["pushed"]["reference"], stage.variables["image_auth_file"])
    assert seen["Digest"] == played.values["pushed"]["digest"]


def test_a_base_for_another_kind_of_machine_is_refused_before_anything_is_built(
    stage: ImageStage,
) -> None:
    base = stage.foreign("other", f"linux/{OTHER}")
    stage.template("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY code /code\n")

    played = stage.play(stage.steps(build_args={"BASE_IMAGE": base}))

    assert played.code == 2
    assert f"the base {base} is for {OTHER}, and the nodes are {PLATFORM}" in played.messages
    assert "COPY" not in stage.logs()


def test_a_base_that_the_builder_has_is_looked_at_too(stage: ImageStage) -> None:
    place = stage.folder / "arm"
    place.mkdir()
    (place / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    base = f"localhost/{stage.folder.name.replace('_', '-').lower()}:arm"
    stage.buildah("build", "-q", "--platform", f"linux/{OTHER}", "-t", base, str(place))
    stage.template("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY code /code\n")

    played = stage.play(stage.steps(build_args={"BASE_IMAGE": base}))

    assert played.code == 2
    assert f"is for {OTHER}" in played.messages


def test_a_base_that_is_nowhere_is_named(stage: ImageStage) -> None:
    stage.template("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY code /code\n")

    played = stage.play(stage.steps(build_args={"BASE_IMAGE": f"{stage.repository}:gone"}))

    assert played.code == 2
    assert (
        f"the base {stage.repository}:gone is neither in its registry nor with buildah"
        in played.messages
    )


def test_wrong_credentials_are_a_clear_error_and_are_not_shown(stage: ImageStage) -> None:
    played = stage.play(stage.steps(), image_user="sandbox", image_password="guessed-it")

    assert played.code == 2
    assert f"the registry {stage.registry.address} refuses" in played.messages
    assert (
        'as "sandbox" (401)' in played.messages
        and f"docker login {stage.registry.address}" in played.messages
    )
    assert "guessed-it" not in played.text and "guessed-it" not in stage.logs()


def test_no_credentials_are_a_clear_error(stage: ImageStage) -> None:
    played = stage.play(stage.steps(), image_auth_file=str(stage.folder / "none.json"))

    assert played.code == 2
    assert "without a login (401)" in played.messages


def test_the_inventorys_login_is_merged_into_dockers_file_for_the_builder(
    stage: ImageStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = json.loads(Path(stage.registry.auth_file).read_text())["auths"][stage.registry.address][
        "auth"
    ]
    user, _, password = base64.b64decode(known).decode().partition(":")
    file = stage.folder / "docker" / "config.json"
    file.parent.mkdir()
    others = {
        "auths": {"example.org": {"auth": "eDp5"}},
        "credHelpers": {"gcr.io": "gcloud"},
        "currentContext": "mine",
    }
    file.write_text(json.dumps(others))
    words = _overheard(stage, monkeypatch)

    played = stage.play(
        stage.steps(), image_auth_file=str(file), image_user=user, image_password=password
    )

    assert played.code == 0, played.text
    merged = json.loads(file.read_text())
    assert merged["auths"] == {**others["auths"], stage.registry.address: {"auth": known}}
    assert (merged["credHelpers"], merged["currentContext"]) == (others["credHelpers"], "mine")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    said = words.read_text()
    assert "push" in said and "--authfile" in said
    for secret in (password, known):
        assert secret not in played.text and secret not in stage.logs() and secret not in said


def test_a_registry_that_does_not_answer_is_unreachable_and_not_empty(stage: ImageStage) -> None:
    silent = CuttingProxy(stage.registry.address, 0)
    silent.close()
    stage.repository = f"{silent.address}/none"

    played = stage.play(stage.steps())

    assert played.code == 4, played.text
    assert f"the registry {silent.address} does not answer" in played.messages


def test_a_tag_that_somebody_moved_is_refused(stage: ImageStage) -> None:
    tag = stage.play(stage.steps(), check=True).values["recipe"]["tag"]
    stage.foreign(tag)

    played = stage.play(stage.steps(push=True))

    assert played.code == 2
    assert "is not tagged playrunner:cluster=demo" in played.messages


def test_a_dockerfile_that_fails_says_its_last_words_and_leaves_no_image(stage: ImageStage) -> None:
    stage.template("FROM scratch\nCOPY nothing /nothing\n")

    played = stage.play(stage.steps())

    assert played.code == 2
    assert "buildah build ended with" in played.messages and "nothing" in played.messages
    assert played.values["recipe"]["reference"] not in stage.buildah(
        "images", "--format", "{{.Name}}:{{.Tag}}"
    )


def test_a_builder_whose_daemon_is_away_is_passed_over(stage: ImageStage) -> None:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    ):
        pytest.skip("there is no docker here, or its daemon is up")

    chosen = stage.play(stage.steps(), image_builder="auto")
    insisted = stage.play(stage.steps(name="other"), image_builder="docker")

    assert chosen.code == 0, chosen.text
    assert insisted.code == 2 and "its daemon does not answer" in insisted.messages


def test_a_machine_that_cannot_build_says_what_can_and_still_deletes(
    stage: ImageStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.play(stage.steps())
    (stage.source / "loop.py").write_text("print('other')\n")
    empty = stage.folder / "bin"
    empty.mkdir()
    for program in ("sh", "env", "uname", "mktemp", "test"):
        (empty / program).symlink_to(shutil.which(program) or "")
    monkeypatch.setenv("PATH", str(empty))

    played = stage.play(stage.steps(), image_builder="auto")
    gone = stage.delete(stage.steps(), image_builder="auto")

    assert played.code == 2
    assert (
        "nothing on this machine can build an image: docker, podman, buildah are missing"
        in played.messages
    )
    assert gone.code == 0, gone.text


def _overheard(stage: ImageStage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with every word that buildah is started with from now on, and its environment."""
    words, wrapper = stage.folder / "words", stage.folder / "bin" / "buildah"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\n{{ echo "$0 $@"; env; }} >> {words}\nexec {shutil.which("buildah")} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    return words
