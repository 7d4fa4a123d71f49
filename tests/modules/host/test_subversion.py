"""host.subversion, with a real repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from playrunner.modules.host.subversion import Subversion
from tests.support.host.performing import done, failure

pytestmark = pytest.mark.skipif(not shutil.which("svnadmin"), reason="needs subversion")


@pytest.fixture
def repository(tmp_path: Path) -> str:
    subprocess.run(["svnadmin", "create", str(tmp_path / "repository")], check=True)
    url = f"file://{tmp_path}/repository"
    (tmp_path / "import").mkdir()
    (tmp_path / "import" / "a").write_text("one")
    svn("import", "-m", "1", str(tmp_path / "import"), url)
    return url


def svn(*words: str) -> None:
    subprocess.run(["svn", "-q", *words], check=True)


def test_a_copy_is_made_once_and_follows_the_repository(repository: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    step = Subversion(repo=repository, dest=str(copy))
    assert done(step, check=True)["changed"] and not copy.exists()
    assert done(step)["after"] == ["Revision: 1", f"URL: {repository}"]
    assert not done(step)["changed"]
    svn("checkout", repository, str(tmp_path / "other"))
    (tmp_path / "other" / "a").write_text("two")
    svn("commit", "-m", "2", str(tmp_path / "other"))
    assert done(step, check=True)["changed"]
    assert done(step)["after"][0] == "Revision: 2" and (copy / "a").read_text() == "two"


def test_local_changes_are_only_thrown_away_on_request(repository: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    done(Subversion(repo=repository, dest=str(copy)))
    (copy / "a").write_text("mine")
    assert "modified files exist" in str(failure(Subversion(repo=repository, dest=str(copy))))
    assert done(Subversion(repo=repository, dest=str(copy), force=True))["changed"]
    assert (copy / "a").read_text() == "one"


def test_an_export_has_no_svn_folder(repository: str, tmp_path: Path) -> None:
    assert done(Subversion(repo=repository, dest=str(tmp_path / "out"), export=True))["changed"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
