"""host.modprobe: what can be told without loading anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.modules.host import modprobe
from playrunner.modules.host.modprobe import Modprobe
from tests.support.host.performing import done


def loaded() -> str:
    names = (
        [line.split()[0] for line in Path("/proc/modules").read_text().splitlines()]
        if Path("/proc/modules").exists()
        else []
    )
    if not names:
        pytest.skip("this kernel has no loadable modules")
    return names[0]


def test_a_loaded_module_needs_nothing() -> None:
    assert not done(Modprobe(name=loaded()))["changed"]
    assert done(Modprobe(name=loaded(), state="absent"), check=True)["changed"]


def test_an_unknown_module_is_not_loaded() -> None:
    assert done(Modprobe(name="nosuchmodule"), check=True)["changed"]
    assert not done(Modprobe(name="nosuchmodule", state="absent"))["changed"]


def test_loading_at_start_is_kept_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modprobe, "LOADED_AT_START", str(tmp_path))
    monkeypatch.setattr(modprobe, "OPTIONS", str(tmp_path / "options"))
    (tmp_path / "options").mkdir()
    step = Modprobe(name="nosuchmodule", state="absent", params="a=1 b=2", persistent="present")
    assert done(step, check=True)["changed"] and not (tmp_path / "nosuchmodule.conf").exists()
    assert done(step)["changed"] and not done(step)["changed"]
    assert (tmp_path / "nosuchmodule.conf").read_text() == "nosuchmodule\n"
    assert (
        tmp_path / "options" / "nosuchmodule.conf"
    ).read_text() == "options nosuchmodule a=1 b=2\n"
    assert done(Modprobe(name="nosuchmodule", state="absent", persistent="absent"))["changed"]
    assert not list(tmp_path.glob("**/*.conf"))
