"""host.hostname; the name itself is never changed, other tests live on this machine too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playrunner.modules.host import hostname
from playrunner.modules.host.hostname import Hostname
from tests.support.host.performing import done, undone


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(hostname, "FILE", str(tmp_path / "hostname"))
    return tmp_path / "hostname"


def test_the_name_it_has_needs_nothing(file: Path) -> None:
    file.write_text(os.uname().nodename + "\n")
    result = done(Hostname(name=os.uname().nodename))
    assert not result["changed"] and result["ansible_facts"]["nodename"] == os.uname().nodename


def test_another_name_would_change_both(file: Path) -> None:
    file.write_text("old\n")
    result = done(Hostname(name="new.example"), check=True)
    assert result["changed"] and result["diff"]["after"] == {
        "now": "new.example",
        "kept": "new.example",
    }
    assert result["ansible_facts"] == {
        "hostname": "new",
        "nodename": "new.example",
        "fqdn": "new.example",
        "domain": "example",
    }
    assert file.read_text() == "old\n"


@pytest.mark.skipif(
    os.path.isdir("/run/systemd/system"), reason="hostnamectl would write the real file"
)
def test_only_what_differs_is_written(file: Path) -> None:
    file.write_text("# mine\nold\n")
    before = done(Hostname(name=os.uname().nodename))["diff"]["before"]
    assert before["kept"] == "old" and file.read_text() == os.uname().nodename + "\n"
    undone(Hostname(name=os.uname().nodename), before)
    assert file.read_text() == "old\n"
