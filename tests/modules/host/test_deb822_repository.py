"""host.deb822_repository, with its two folders in one of the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host import deb822_repository
from playrunner.modules.host.deb822_repository import Deb822Repository
from tests.support.host.contract import keeps_its_promise, tree_of
from tests.support.host.performing import done

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc\n-----END PGP PUBLIC KEY BLOCK-----\n"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SOURCES", "KEYRINGS"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(deb822_repository, name, str(tmp_path / name))
    (tmp_path / "key").write_text(KEY)
    return tmp_path


def repository(folders: Path, **more: Any) -> Deb822Repository:
    given = {"uris": ["http://example.org"], "suites": ["stable"], "enabled": True, **more}
    return Deb822Repository(name="My Repo", signed_by=f"file://{folders}/key", **given)


def test_a_source_and_its_key_keep_their_promise(host: Callable[..., Any], folders: Path) -> None:
    keeps_its_promise(
        host,
        lambda: repository(folders),
        lambda: tree_of(folders),
        lambda: (folders / "SOURCES" / "my-repo.sources").unlink(),
    )


def test_the_file_names_its_key(folders: Path) -> None:
    result = done(repository(folders, components=["main", "contrib"]))
    assert result["key_filename"] == f"{folders}/KEYRINGS/my-repo.asc"
    assert (
        (folders / "SOURCES" / "my-repo.sources").read_text()
        == result["repo"]
        == (
            "Components: main contrib\nEnabled: yes\nX-Repolib-Name: My Repo\n"
            f"Signed-By: {folders}/KEYRINGS/my-repo.asc\n"
            "Suites: stable\nTypes: deb\nURIs: http://example.org\n"
        )
    )


def test_absent_takes_source_and_key_away(folders: Path) -> None:
    done(repository(folders))
    assert done(Deb822Repository(name="My Repo", state="absent"))["changed"]
    assert not list((folders / "SOURCES").iterdir()) + list((folders / "KEYRINGS").iterdir())


def test_a_key_as_text_stands_in_the_file() -> None:
    result = done(Deb822Repository(name="x", uris=["http://u"], signed_by=KEY))
    assert (
        "Signed-By:\n    -----BEGIN PGP PUBLIC KEY BLOCK-----\n    .\n    abc\n" in result["repo"]
    )
