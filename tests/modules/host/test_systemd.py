"""host.systemd, with a stand-in for systemctl that keeps its unit in files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playrunner.modules.host.systemd import Systemd
from tests.support.host.performing import done, failure

SYSTEMCTL = """#!/bin/sh
cd {folder}
echo "$*" >> log
for word; do case $word in --*) ;; *) verb=$word; break ;; esac; done
case $verb in
    show)
        echo "LoadState=$([ -f masked ] && echo masked || cat load)"
        echo "ActiveState=$([ -f active ] && echo active || echo inactive)"
        echo "UnitFileState=$([ -f enabled ] && echo enabled || echo disabled)" ;;
    start|restart) touch active ;;
    stop) rm active ;;
    enable) touch enabled ;;
    disable) rm enabled ;;
    mask) touch masked ;;
    unmask) rm masked ;;
    reload) [ -f active ] ;;
    daemon-reload) echo loaded > load ;;
esac
"""


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "systemctl"
    program.write_text(SYSTEMCTL.format(folder=tmp_path))
    program.chmod(0o755)
    (tmp_path / "load").write_text("loaded\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def asked(unit: Path) -> list[str]:
    """What was asked of systemctl, apart from looking."""
    return [line for line in (unit / "log").read_text().splitlines() if "show" not in line.split()]


def test_it_is_started_and_enabled_once(unit: Path) -> None:
    step = Systemd(name="tiny", state="started", enabled=True)
    assert done(step, check=True)["changed"] and asked(unit) == []
    result = done(step)
    assert (result["changed"], result["state"], result["enabled"]) == (True, "started", True)
    assert result["status"]["ActiveState"] == "active"
    assert not done(step)["changed"] and asked(unit) == ["enable tiny", "start tiny"]


def test_it_is_stopped_disabled_and_masked(unit: Path) -> None:
    done(Systemd(name="tiny", state="started", enabled=True))
    assert done(Systemd(name="tiny", state="stopped", enabled=False, masked=True))["changed"]
    assert not done(Systemd(name="tiny", state="stopped", enabled=False, masked=True))["changed"]
    assert done(Systemd(name="tiny", masked=False))["changed"]


def test_restarting_always_changes(unit: Path) -> None:
    assert done(Systemd(name="tiny", state="restarted"))["changed"]
    assert done(Systemd(name="tiny", state="restarted", no_block=True))["changed"]
    assert done(Systemd(name="tiny", state="reloaded"))["changed"]
    assert asked(unit) == ["start tiny", "--no-block restart tiny", "reload tiny"]


def test_reading_unit_files_again_is_no_change(unit: Path) -> None:
    assert not done(Systemd(daemon_reload=True))["changed"]
    assert not done(Systemd(daemon_reload=True), check=True)["changed"]
    assert asked(unit) == ["daemon-reload"]


def test_a_unit_may_appear_only_after_reading_unit_files(unit: Path) -> None:
    (unit / "load").write_text("not-found\n")
    assert "Could not find the requested service tiny" in str(
        failure(Systemd(name="tiny", state="started"))
    )
    assert done(Systemd(name="tiny", state="started", daemon_reload=True))["changed"]
    assert asked(unit) == ["daemon-reload", "start tiny"]


def test_a_users_own_units(unit: Path) -> None:
    done(Systemd(name="tiny", state="started", scope="user"))
    assert asked(unit) == ["--user start tiny"]


def test_a_systemctl_that_cannot_look_is_a_failure(unit: Path) -> None:
    (unit / "systemctl").write_text(
        "#!/bin/sh\necho 'System has not been booted with systemd' >&2\nexit 1\n"
    )
    assert "not been booted with systemd" in str(
        failure(Systemd(name="tiny", state="started"), check=True)
    )
