"""What tests of image modules share: one registry and one storage of images per process, a
repository for each test."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("oras", reason="registries need oras: pip install playrunner[image]")

from playrunner.sandbox.registry import Registry
from tests.support.images.image_stage import ImageStage, real_registry, required, storage


@pytest.fixture(scope="session")
def storage_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    required("buildah", "skopeo")
    yield from storage(tmp_path_factory.mktemp("storage"))


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    yield from real_registry(tmp_path_factory.mktemp("registry"))


@pytest.fixture
def stage(
    kept: Registry,
    storage_environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ImageStage:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    for name, value in storage_environment.items():
        monkeypatch.setenv(name, value)
    return ImageStage(kept, tmp_path, f"t{secrets.token_hex(4)}")
