"""host.ping."""

from __future__ import annotations

from playrunner.modules.host.ping import Ping
from tests.support.host.performing import done, failure


def test_it_answers() -> None:
    assert done(Ping()) == {"changed": False, "ping": "pong"}
    assert done(Ping(data="here"))["ping"] == "here"


def test_it_fails_on_purpose() -> None:
    assert str(failure(Ping(data="crash"))) == "Task failed: Module failed: boom"
