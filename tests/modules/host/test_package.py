"""host.package: the host decides who manages its packages. Real installing is tested with apt."""

from __future__ import annotations

import pytest

from playrunner.modules.host.package import Package
from tests.support.host.performing import failure


@pytest.mark.parametrize("manager", ["dnf", "dnf5", "yum"])
def test_the_manager_can_be_named(manager: str) -> None:
    step = Package(name=["@group"], use=manager)
    assert "rpm" in str(failure(step)) or "groups of packages" in str(failure(step))


def test_a_host_without_a_known_manager_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playrunner.modules.host.package.program", lambda *names: None)
    assert "apt-get, dnf or yum" in str(failure(Package(name=["x"])))


def test_a_step_that_only_lists_needs_no_name() -> None:
    assert Package.check({"use": "dnf", "list": "cri-o"}) is None
    assert Package.check({"state": "latest"}) == "missing required arguments: name"
    step = Package(use="apt", list="cri-o")
    assert "Unsupported parameters for (apt) module: list" in str(failure(step))


def test_an_argument_that_the_manager_does_not_know_is_refused() -> None:
    step = Package(name=["x"], use="apt", allowerasing=True, nobest=True)
    assert "Unsupported parameters for (apt) module: allowerasing, nobest" in str(failure(step))
