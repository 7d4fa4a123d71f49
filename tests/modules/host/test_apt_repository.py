"""host.apt_repository, with lists in a folder of the test (APT_CONFIG)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.apt_repository import AptRepository
from tests.support.host.contract import keeps_its_promise, tree_of
from tests.support.host.performing import done, failure

pytestmark = pytest.mark.skipif(not shutil.which("apt-config"), reason="needs apt")
OURS = "deb [arch=arm64] http://example.org/debian stable main"


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "apt" / "sources.list.d"
    folder.mkdir(parents=True)
    (tmp_path / "apt" / "sources.list").write_text("#deb http://off.example.org x\n# a remark\n")
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{tmp_path}/apt";')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    return folder


def test_a_source_keeps_its_promise(host: Callable[..., Any], lists: Path) -> None:
    keeps_its_promise(
        host, lambda: AptRepository(repo=OURS, update_cache=False), lambda: tree_of(lists)
    )


def test_a_source_is_named_after_its_address_and_removed_with_its_file(lists: Path) -> None:
    added = done(AptRepository(repo=OURS, update_cache=False))
    path = lists / "example_org_debian.list"
    assert path.read_text() == OURS + "\n" and added["sources_added"] == [str(path)]
    gone = done(AptRepository(repo=OURS, state="absent", update_cache=False))
    assert gone["sources_removed"] == [str(path)] and not path.exists()


def test_a_source_that_is_off_is_turned_on_where_it_is(lists: Path) -> None:
    done(AptRepository(repo="deb http://off.example.org x", update_cache=False))
    assert (lists.parent / "sources.list").read_text() == (
        "deb http://off.example.org x\n# a remark\n"
    )


def test_lists_that_cannot_be_fetched_take_the_source_back(lists: Path) -> None:
    step = AptRepository(repo="deb http://localhost:1/x y z", update_cache_retries=1)
    assert "Failed to update apt cache after 1 retries" in str(failure(step))
    assert list(lists.iterdir()) == []


def test_a_ppa_is_a_source_of_launchpad(lists: Path) -> None:
    result = done(AptRepository(repo="ppa:ada/tools", codename="noble"), check=True)
    assert result["sources_added"] == [str(lists / "ppa_ada_tools_noble.list")]
    assert "https://ppa.launchpadcontent.net/ada/tools/ubuntu noble main" in str(result["diff"])


def test_anything_else_is_refused(lists: Path) -> None:
    assert "Invalid repository string: rpm x" in str(failure(AptRepository(repo="rpm x")))
