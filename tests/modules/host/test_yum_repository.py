"""host.yum_repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.modules.host.yum_repository import YumRepository
from tests.support.host.contract import keeps_its_promise, tree_of
from tests.support.host.performing import done, failure

OTHERS = "# by hand\n[old]\nname = Old\nbaseurl = http://old\n"


def repository(folder: Path, **more: Any) -> YumRepository:
    given = {"description": "One", "baseurl": ["http://a", "http://b"], "enabled": True, **more}
    return YumRepository(name="one", reposdir=str(folder), **given)


def test_a_repository_keeps_its_promise(host: Callable[..., Any], folder: Path) -> None:
    file = folder / "one.repo"
    keeps_its_promise(
        host,
        lambda: repository(folder, mode="0640"),
        lambda: tree_of(folder),
        lambda: file.write_text("[one]\nname = Two\n"),
    )


def test_other_sections_stay(folder: Path) -> None:
    (folder / "all.repo").write_text(OTHERS)
    assert done(repository(folder, file="all"))["changed"]
    text = (folder / "all.repo").read_text()
    assert "[old]" in text and "baseurl = http://a\n\thttp://b\n" in text and "enabled = 1" in text
    assert done(repository(folder, file="all", state="absent"))["changed"]
    assert "[one]" not in (folder / "all.repo").read_text()


def test_a_file_without_sections_goes(folder: Path) -> None:
    done(repository(folder))
    assert done(repository(folder, state="absent"))["changed"]
    assert list(folder.iterdir()) == []


def test_a_password_is_in_no_difference(folder: Path) -> None:
    result = done(repository(folder, username="ada", password="sesame"), diff=True)
    assert "sesame" in (folder / "one.repo").read_text() and "sesame" not in str(result)


def test_a_missing_folder_is_named(folder: Path) -> None:
    assert "does not exist" in str(failure(repository(folder / "missing")))
