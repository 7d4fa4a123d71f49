"""host.dnf and host.yum, with stand-ins for rpm and dnf that keep their packages in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playrunner.modules.host.dnf import Dnf
from playrunner.modules.host.yum import Yum
from tests.support.host.performing import done, failure, undone

RPM = """#!/bin/sh
for name; do :; done
[ -f {there}/$name ] && cat {there}/$name || {{ echo "package $name is not installed"; exit 1; }}
"""
MANAGER = """#!/bin/sh
echo "$0 $*" >> {log}
verb=
for word; do
    case $word in
        -*) ;;
        check-update) [ -s {updates} ] && {{ cat {updates}; exit 100; }}; exit 0 ;;
        install|remove|upgrade|downgrade) verb=$word ;;
        broken) echo "Error: Unable to find a match: broken" >&2; exit 1 ;;
        *) case $verb in
            remove) rm -f {there}/$word ;;
            upgrade) echo 2.0-1.noarch > {there}/$word; : > {updates} ;;
            *) echo 1.0-1.noarch > {there}/$word ;;
           esac ;;
    esac
done
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "there").mkdir()
    (tmp_path / "bin").mkdir()
    places = {"there": tmp_path / "there", "log": tmp_path / "log", "updates": tmp_path / "updates"}
    for name, text in (("rpm", RPM), ("dnf", MANAGER), ("yum", MANAGER)):
        (tmp_path / "bin" / name).write_text(text.format(**places))
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def installed(host: Path) -> list[str]:
    return sorted(os.listdir(host / "there"))


@pytest.mark.parametrize("kind", [Dnf, Yum])
def test_packages_come_and_go(host: Path, kind: type[Dnf] | type[Yum]) -> None:
    assert done(kind(name=["a", "b"]), check=True)["changed"] and installed(host) == []
    assert done(kind(name=["a", "b"]))["changed"] and installed(host) == ["a", "b"]
    again = done(kind(name=["a,b"]))
    assert not again["changed"] and again["msg"] == "Nothing to do"
    assert done(kind(name=["a"], state="absent"))["changed"] and installed(host) == ["b"]


def test_latest_upgrades_what_is_old(host: Path) -> None:
    done(Dnf(name=["a"]))
    assert not done(Dnf(name=["a"], state="latest"))["changed"]
    (host / "updates").write_text("a.noarch   2.0-1   updates\nother.x86_64 3 updates\n")
    assert done(Dnf(name=["a"], state="latest"), check=True)["changed"]
    assert done(Dnf(name=["a"], state="latest"))["changed"]
    assert (host / "there" / "a").read_text() == "2.0-1.noarch\n"


def test_repositories_are_chosen_for_the_step(host: Path) -> None:
    done(Dnf(name=["a"], enablerepo=["epel"], disablerepo=["*"], update_cache=True))
    assert "--disablerepo=* --enablerepo=epel --refresh install a" in (host / "log").read_text()


def test_an_installation_can_be_taken_back(host: Path) -> None:
    undone(Dnf(name=["a"]), done(Dnf(name=["a"]))["diff"]["before"])
    assert installed(host) == []


def test_the_managers_complaint_is_the_failure(host: Path) -> None:
    assert "Unable to find a match: broken" in str(failure(Dnf(name=["broken"])))


def test_groups_are_refused(host: Path) -> None:
    assert "groups" in str(failure(Dnf(name=["@tools"])))
