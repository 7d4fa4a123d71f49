"""host.package: the host decides who manages its packages. Real installing is tested with apt."""

from __future__ import annotations

import pytest

from playrunner.modules.host.dnf import Dnf
from playrunner.modules.host.package import Package
from playrunner.modules.host.yum import Yum
from tests.support.host.performing import failure


def test_the_manager_can_be_named() -> None:
    assert Package(name=["x"], use="dnf")._chosen() is Dnf
    assert Package(name=["x"], use="yum")._chosen() is Yum


def test_a_host_without_a_known_manager_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playrunner.modules.host.package.program", lambda *names: None)
    assert "apt-get, dnf or yum" in str(failure(Package(name=["x"])))
