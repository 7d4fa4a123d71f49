"""A sandbox of the tests' own, with training nodes in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launch.site import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nodes on loopback that all tests share; every test names its runs for itself."""
    state = tmp_path_factory.mktemp("state")
    made = Site(Path(state))
    yield made
    made.invoke("sandbox.down", "--yes")
