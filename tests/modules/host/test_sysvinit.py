"""host.sysvinit, with a script of the test in place of /etc/init.d."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.modules.host import sysvinit
from playrunner.modules.host.sysvinit import Sysvinit
from tests.support.host.performing import done, failure

SCRIPT = """#!/bin/sh
cd $(dirname $0); echo "$*" >> log
case $1 in
    start) touch running ;;
    stop) rm -f running ;;
    status) [ -f running ] && echo it is running || { echo it is stopped; exit 3; } ;;
esac
"""
UPDATE = """#!/bin/sh
cd {folder}
mkdir -p rc3.d; rm -f rc3.d/*
[ "$2" = disable ] || touch rc3.d/S01$1
"""


@pytest.fixture(autouse=True)
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "web").write_text(SCRIPT)
    (tmp_path / "update-rc.d").write_text(UPDATE.format(folder=tmp_path))
    for name in ("web", "update-rc.d"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sysvinit, "SCRIPTS", str(tmp_path))
    monkeypatch.setattr(sysvinit, "LEVELS", (str(tmp_path),))
    found = {"update-rc.d": str(tmp_path / "update-rc.d")}
    monkeypatch.setattr(sysvinit, "program", lambda name: found.get(name))
    return tmp_path


def test_it_starts_once_and_stops_once(scripts: Path) -> None:
    assert done(Sysvinit(name="web", state="started"), check=True)["changed"]
    assert not (scripts / "running").exists()
    first = done(Sysvinit(name="web", state="started", arguments="now"))
    assert first["changed"] and first["status"]["started"]["rc"] == 0
    assert not done(Sysvinit(name="web", state="started"))["changed"]
    assert done(Sysvinit(name="web", state="stopped"))["changed"]
    assert "start now" in (scripts / "log").read_text()


def test_a_restart_stops_and_starts(scripts: Path) -> None:
    assert done(Sysvinit(name="web", state="restarted", sleep=0))["changed"]
    assert (scripts / "log").read_text().splitlines() == ["status", "stop", "start"]


def test_it_is_enabled_once(scripts: Path) -> None:
    assert done(Sysvinit(name="web", enabled=True))["status"]["enabled"]["changed"]
    assert not done(Sysvinit(name="web", enabled=True, runlevels=["3"]))["changed"]
    assert done(Sysvinit(name="web", enabled=False))["changed"]


def test_a_missing_script_is_a_failure() -> None:
    assert "Could not find the requested service no: " in str(
        failure(Sysvinit(name="no", state="started"))
    )
