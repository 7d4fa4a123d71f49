"""host.service: an init script of our own where systemd does not run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.modules.host import service
from playrunner.modules.host.service import Service
from playrunner.modules.host.systemd import Systemd
from tests.support.host.performing import done, failure

SCRIPT = """#!/bin/sh
run={run}
case "$1" in
    start) sleep 600 & echo $! > $run; echo start >> {log} ;;
    stop) kill $(cat $run); rm $run; echo stop >> {log} ;;
    restart) $0 stop; $0 start ;;
    reload) echo reload >> {log} ;;
    status) test -f $run ;;
esac
"""
no_systemd = pytest.mark.skipif(os.path.isdir("/run/systemd/system"), reason="systemd runs here")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A service called tiny, whose script lies in a folder of ours."""
    monkeypatch.setattr(service, "SCRIPTS", str(tmp_path))
    monkeypatch.setattr(service, "program", lambda *names: None)
    (tmp_path / "tiny").write_text(SCRIPT.format(run=tmp_path / "run", log=tmp_path / "log"))
    (tmp_path / "tiny").chmod(0o755)
    yield tmp_path
    if (tmp_path / "run").exists():
        os.kill(int((tmp_path / "run").read_text()), 15)


@no_systemd
def test_it_starts_and_stops_once(script: Path) -> None:
    assert (
        done(Service(name="tiny", state="started"), check=True)["changed"]
        and not (script / "run").exists()
    )
    result = done(Service(name="tiny", state="started"))
    assert (result["changed"], result["state"]) == (True, "started")
    assert not done(Service(name="tiny", state="started"))["changed"]
    assert done(Service(name="tiny", state="stopped"))["changed"]
    assert not done(Service(name="tiny", state="stopped"))["changed"]


@no_systemd
def test_a_restart_always_changes(script: Path) -> None:
    assert done(Service(name="tiny", state="restarted"))["changed"]
    assert done(Service(name="tiny", state="restarted"))["changed"]
    assert done(Service(name="tiny", state="reloaded"))["changed"]
    assert (script / "log").read_text().split() == ["start", "stop", "start", "reload"]


@no_systemd
def test_a_service_nobody_knows_is_a_failure(script: Path) -> None:
    assert "Could not find the requested service nosuch: host" in str(
        failure(Service(name="nosuch", state="started"))
    )


@no_systemd
def test_a_script_that_fails_is_quoted(script: Path) -> None:
    (script / "tiny").write_text(
        "#!/bin/sh\n[ $1 = status ] && exit 3\necho no such port; exit 1\n"
    )
    assert str(failure(Service(name="tiny", state="started"))) == "no such port"


@no_systemd
def test_systemd_that_does_not_run_is_said_clearly() -> None:
    assert "systemd" in str(failure(Systemd(name="x", state="started")))
    assert "systemd" in str(failure(Service(name="x", state="started", use="systemd")))


def test_something_must_be_asked() -> None:
    assert "give state or enabled" in (Service.check({"name": "x"}) or "")
