"""What tests of host modules stand on: a real HostContext whose wire leads nowhere."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playrunner.hostside.agent import Wire
from playrunner.hostside.host_context import HostContext


@pytest.fixture
def host() -> Iterator[Callable[..., HostContext]]:
    """Makes contexts: host(), host(check=True), host(diff=True)."""
    out = os.open(os.devnull, os.O_WRONLY)

    def make(check: bool = False, diff: bool = False) -> HostContext:
        return HostContext(Wire(io.BytesIO(), out), {"id": 1, "check": check, "diff": diff})

    yield make
    os.close(out)


@pytest.fixture
def ctx(host: Callable[..., HostContext]) -> HostContext:
    return host()


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Modes of new files must not depend on who runs the tests."""
    earlier = os.umask(0o022)
    yield
    os.umask(earlier)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to work in."""
    place = tmp_path / "host"
    place.mkdir()
    return place
