"""host.authorized_key."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.authorized_key import AuthorizedKey
from tests.support.host.performing import done, failure, undone

FIRST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKbPmKnFY9MbgdMpEZHDDRqpFricj14+zX3f8WG2Ymrs"
SECOND = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINSaiT6Jh2BDitVd3uTDGvraGen0iOLyYXUWjCh+xI3L"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ssh" / "authorized_keys"


def step(file: Path, key: str, **more: Any) -> AuthorizedKey:
    return AuthorizedKey(user=getpass.getuser(), key=key, path=str(file), **more)


def test_a_key_is_added_once_with_safe_modes(file: Path) -> None:
    assert done(step(file, f"{FIRST} me@here"), check=True)["changed"] and not file.parent.exists()
    assert done(step(file, f"{FIRST} me@here"))["changed"]
    assert file.read_text() == f"{FIRST} me@here\n"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not done(step(file, f"{FIRST} me@here"))["changed"]


def test_other_lines_stay(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(f'# mine\n\nno-pty,command="a b" {SECOND} other\nnot a key at all\n')
    before = file.read_text()
    done(step(file, FIRST))
    assert file.read_text() == before + FIRST + "\n"
    done(step(file, FIRST, state="absent"))
    assert file.read_text() == before


def test_a_changed_file_gets_safe_modes_too(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(f"{SECOND}\n")
    file.chmod(0o644)
    assert not done(step(file, SECOND))["changed"] and file.stat().st_mode & 0o777 == 0o644
    done(step(file, FIRST))
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_with_another_comment_or_options_goes_to_the_end(file: Path) -> None:
    done(step(file, f"{FIRST} a\n# note\n\n{SECOND} b"))
    result = done(step(file, FIRST, key_options='no-pty,command="x y"', comment="c"))
    assert result["changed"]
    assert file.read_text() == f'{SECOND} b\nno-pty,command="x y" {FIRST} c\n'


def test_exclusive_leaves_no_other_key(file: Path) -> None:
    done(step(file, f"{FIRST} a"))
    done(step(file, f"{SECOND} b", exclusive=True))
    assert file.read_text() == f"{SECOND} b\n"


def test_an_earlier_file_is_put_back(file: Path) -> None:
    done(step(file, FIRST))
    result = done(step(file, SECOND), diff=True)
    assert result["diff"]["after"]["content"] == f"{FIRST}\n{SECOND}\n"
    undone(step(file, SECOND), result["diff"]["before"], diff=True)
    assert file.read_text() == FIRST + "\n"


def test_what_is_not_a_key_is_refused(file: Path) -> None:
    assert str(failure(step(file, "garbage"))) == "invalid key specified: garbage"
    assert not file.exists()


def test_a_user_who_does_not_exist_is_named() -> None:
    assert "nosuchuser" in str(failure(AuthorizedKey(user="nosuchuser", key=FIRST)))


def test_taking_away_what_is_not_there_changes_nothing(file: Path) -> None:
    assert not done(step(file, FIRST, state="absent"))["changed"]
    assert not file.exists()
