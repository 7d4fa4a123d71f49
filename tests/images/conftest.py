"""What tests of images share: a storage of images for each process, which only some of them ask
for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.images.image_stage import required, storage


@pytest.fixture(scope="session")
def storage_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    required("buildah")
    yield from storage(tmp_path_factory.mktemp("storage"))
