"""host.yum differs from host.dnf only in the program it runs; test_dnf tests both."""

from __future__ import annotations

from playrunner.modules.host.yum import Yum


def test_it_runs_yum() -> None:
    assert Yum.manager == "yum"
