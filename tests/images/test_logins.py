"""docker's file of logins: merged into, never overwritten, readable by nobody else, and helpers are
asked through pipes."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from playrunner.hostside.module import Failed
from playrunner.images import logins
from playrunner.images.logins import Login
from playrunner.images.settings import settings_of

HELPER = """#!/bin/sh
# A docker-credential helper that keeps what it is told in a file.
case "$1" in
  store) cat > "$STORE" ;;
  get)
    read -r asked
    grep -q "\\"$asked\\"" "$STORE" 2>/dev/null || { echo "credentials not found"; exit 1; }
    cat "$STORE" ;;
esac
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "docker" / "config.json"


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "docker-credential-box"
    program.parent.mkdir()
    program.write_text(HELPER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def test_a_login_is_added_once_and_read_back(file: Path) -> None:
    login = Login("me", "s:ecret")

    assert [
        logins.merge(file, "r.example.org", login),
        logins.merge(file, "r.example.org", login),
    ] == [True, False]
    assert logins.read(file, "r.example.org") == login
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert logins.read(file, "other.example.org") is None


def test_what_others_keep_in_the_file_stays(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(
        json.dumps(
            {
                "auths": {"a": {"auth": "eDp5", "email": "z"}},
                "proxies": {"default": {}},
                "psFormat": "table",
            }
        )
    )

    logins.merge(file, "b", Login("me", "x"))

    found = json.loads(file.read_text())
    assert found.pop("auths")["a"] == {"auth": "eDp5", "email": "z"}
    assert found == {"proxies": {"default": {}}, "psFormat": "table"}


def test_logins_of_many_at_once_are_all_kept(file: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda number: logins.merge(file, f"r{number}", Login("me", str(number))), range(24)
            )
        )

    assert {logins.read(file, f"r{number}") for number in range(24)} == {
        Login("me", str(number)) for number in range(24)
    }


def test_a_registry_with_a_helper_of_its_own_is_left_to_it(file: Path, helper: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({"credHelpers": {"r": "box"}}))
    helper.write_text('{"ServerURL": "r", "Username": "AWS", "Secret": "t"}')

    assert logins.merge(file, "r", Login("me", "x")) is False
    assert logins.read(file, "r") == Login("AWS", "t")


def test_a_store_is_told_the_login_and_the_file_holds_none(file: Path, helper: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({"credsStore": "box"}))

    assert logins.read(file, "r") is None
    assert logins.merge(file, "r", Login("me", "hidden")) is True

    assert logins.read(file, "r") == Login("me", "hidden")
    assert "hidden" not in file.read_text()


def test_docker_hub_is_called_as_docker_calls_it(file: Path) -> None:
    logins.merge(file, "docker.io", Login("me", "x"))

    assert list(json.loads(file.read_text())["auths"]) == ["https://index.docker.io/v1/"]


def test_a_file_that_cannot_be_read_is_not_replaced(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("{ half")

    with pytest.raises(Failed, match="cannot be read as docker's configuration"):
        logins.merge(file, "r", Login("me", "x"))
    assert file.read_text() == "{ half"


def test_a_login_never_shows_its_secret() -> None:
    assert "hidden" not in repr(Login("me", "hidden"))
    assert "hidden" not in repr(settings_of({"image_password": "hidden"}.get))
