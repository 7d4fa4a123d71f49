"""The pretend AWS: started once, made new for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playrunner.sandbox.aws.api import process
from tests.support.aws.sandbox import PretendAws


@pytest.fixture(scope="session")
def aws_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendAws]:
    pytest.importorskip(
        "moto", reason="the pretend AWS needs moto: pip install playrunner[sandbox]"
    )
    pytest.importorskip(
        "flask", reason="the pretend AWS needs flask: pip install playrunner[sandbox]"
    )
    root = tmp_path_factory.mktemp("aws") / "sandbox"
    try:
        yield PretendAws(root)
    finally:
        process.down(root)


@pytest.fixture
def aws(aws_server: PretendAws) -> PretendAws:
    """Quicker than a rehearsal, but still with every state in between."""
    aws_server.control("POST", "reset")
    aws_server.control("POST", "settings", {"delays": {"*": 0.15}})
    return aws_server
