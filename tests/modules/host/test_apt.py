"""host.apt, with a real package too small to hurt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.modules.host import _apt_cache
from playrunner.modules.host.apt import Apt
from playrunner.modules.host.package import Package
from tests.support.host.performing import context, done, failure, undone

LISTS = Path("/var/lib/apt/lists")
# It has no manual page: with one, the index of all pages is made anew each time.
SMALL = "libjs-inherits"
needs_apt = pytest.mark.skipif(
    not shutil.which("apt-get") or not list(LISTS.glob("*_Packages*")),
    reason="needs apt with package lists",
)


@pytest.fixture
def small() -> Iterator[str]:
    """A package that is not installed, and can be."""
    if os.geteuid() != 0:
        pytest.skip("installing needs root")
    if _apt_cache.installed(context(), [SMALL])[SMALL]:
        pytest.skip(f"{SMALL} is installed here already")
    if subprocess.run(
        ["apt-get", "-qq", "-d", "-y", "install", SMALL], capture_output=True
    ).returncode:
        pytest.skip(f"{SMALL} cannot be downloaded here")
    yield SMALL
    subprocess.run(["apt-get", "-qq", "-y", "purge", SMALL], capture_output=True)


@needs_apt
def test_a_package_comes_and_goes(small: str) -> None:
    assert done(Apt(name=[small]), check=True)["changed"]
    assert _apt_cache.installed(context(), [small])[small] is None
    result = done(Apt(name=[small]))
    assert result["changed"] and f"Setting up {small}" in result["stdout"]
    version = _apt_cache.installed(context(), [small])[small]
    for asked in (small, f"{small}={version}", f"{small}=2*", f"{small}>=1.0"):
        assert not done(Apt(name=[asked]))["changed"], asked
    assert not done(Apt(name=[small], state="latest"))["changed"]
    assert not done(Package(name=[small]))["changed"]
    assert done(Apt(name=[small], state="absent", purge=True), check=True)["changed"]
    assert done(Package(name=[small], state="absent"))["changed"]
    assert not done(Apt(name=[small], state="absent"))["changed"]


@needs_apt
def test_an_installation_can_be_taken_back(small: str) -> None:
    undone(Apt(name=[small]), done(Apt(name=[small]))["diff"]["before"])
    assert _apt_cache.installed(context(), [small])[small] is None


@needs_apt
def test_a_package_file_is_installed(small: str, tmp_path: Path) -> None:
    subprocess.run(
        ["apt-get", "-qq", "download", small], cwd=tmp_path, check=True, capture_output=True
    )
    file = str(next(tmp_path.glob("*.deb")))
    assert done(Apt(deb=file))["changed"] and not done(Apt(deb=file))["changed"]


@needs_apt
def test_what_cannot_be_had_is_said_before_anything_happens() -> None:
    assert "No package matching 'nosuchpackage'" in str(
        failure(Apt(name=["nosuchpackage"]), check=True)
    )
    assert (
        str(failure(Apt(name=["dpkg=0.0.1"])))
        == "no available installation candidate for dpkg=0.0.1"
    )


@needs_apt
def test_removing_what_never_was_is_fine() -> None:
    assert not done(Apt(name=["nosuchpackage", "alsonot"], state="absent"))["changed"]


@needs_apt
def test_lists_that_are_fresh_enough_are_not_fetched() -> None:
    result = done(Apt(name=["dpkg"], update_cache=True, cache_valid_time=10**9))
    assert not result["changed"] and not result["cache_updated"] and result["cache_update_time"] > 0


@needs_apt
def test_fetching_lists_alone_would_be_a_change_but_not_beside_packages() -> None:
    assert done(Apt(update_cache=True), check=True)["changed"]
    assert not done(Apt(name=["dpkg"], update_cache=True), check=True)["changed"]


@needs_apt
def test_a_name_that_an_installed_package_provides_is_there_already() -> None:
    names = _apt_cache.provided(context(), ["awk", "c-compiler", "editor"])
    if not names:
        pytest.skip("nothing here provides another name")
    assert not done(Apt(name=sorted(names)))["changed"]


@needs_apt
def test_a_package_not_installed_is_left_alone_when_only_upgrading() -> None:
    assert (
        not done(Apt(name=["sl"], only_upgrade=True), check=True)["changed"]
        or _apt_cache.installed(context(), ["sl"])["sl"]
    )


@needs_apt
def test_an_upgrade_of_everything_tells_what_is_pending() -> None:
    pending = subprocess.run(
        ["apt-get", "-s", "-qq", "dist-upgrade"], capture_output=True, text=True
    ).stdout
    result = done(Apt(upgrade="dist"), check=True)
    assert result["changed"] == ("Inst " in pending or "Remv " in pending)


def test_a_version_is_split_from_its_package() -> None:
    assert _apt_cache.split_version("a=1.2*") == ("a", "=", "1.2*")
    assert _apt_cache.split_version("a>=1.2") == ("a", ">=", "1.2")
    assert _apt_cache.split_version("a:amd64") == ("a:amd64", "", "")
