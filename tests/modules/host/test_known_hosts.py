"""host.known_hosts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.known_hosts import KnownHosts
from tests.support.host.performing import done, failure

FIRST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKbPmKnFY9MbgdMpEZHDDRqpFricj14+zX3f8WG2Ymrs"
SECOND = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINSaiT6Jh2BDitVd3uTDGvraGen0iOLyYXUWjCh+xI3L"
OTHER = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


def step(file: Path, name: str = "h.example", key: str | None = None, **more: Any) -> KnownHosts:
    return KnownHosts(name=name, key=key, path=str(file), **more)


def test_a_key_is_added_once(file: Path) -> None:
    assert done(step(file, key=f"h.example {FIRST}"), check=True)["changed"] and not file.exists()
    assert done(step(file, key=f"h.example {FIRST}"))["changed"]
    assert not done(step(file, key=f"h.example {FIRST}"))["changed"]
    assert file.read_text() == f"h.example {FIRST}\n"


def test_a_new_key_of_the_same_kind_replaces_the_old_one(file: Path) -> None:
    file.write_text(f"# note\nh.example {FIRST}\nh.example {OTHER}\nelse.example {FIRST}\n")
    done(step(file, key=f"h.example,192.0.2.7 {SECOND}"))
    assert (
        file.read_text()
        == f"# note\nh.example {OTHER}\nelse.example {FIRST}\nh.example,192.0.2.7 {SECOND}\n"
    )


def test_a_hashed_name_is_recognised(file: Path) -> None:
    assert done(step(file, key=f"h.example {FIRST}", hash_host=True))["changed"]
    assert file.read_text().startswith("|1|")
    assert not done(step(file, key=f"h.example {FIRST}", hash_host=True))["changed"]
    if shutil.which("ssh-keygen"):
        assert (
            subprocess.run(
                ["ssh-keygen", "-F", "h.example", "-f", file], capture_output=True
            ).returncode
            == 0
        )
    assert done(step(file, key=f"h.example {FIRST}"))["changed"]
    assert file.read_text() == f"h.example {FIRST}\n"


def test_a_machine_is_forgotten_and_others_are_not(file: Path) -> None:
    file.write_text(f"h.example {FIRST}\n[h.example]:2222 {FIRST}\nh.example {OTHER}\n")
    assert done(step(file, state="absent"))["changed"]
    assert file.read_text() == f"[h.example]:2222 {FIRST}\n"
    assert not done(step(file, state="absent"))["changed"]


def test_only_the_key_named_is_forgotten(file: Path) -> None:
    file.write_text(f"h.example {FIRST}\nh.example {OTHER}\n")
    done(step(file, key=f"h.example {OTHER}", state="absent"))
    assert file.read_text() == f"h.example {FIRST}\n"


def test_a_line_for_another_machine_is_refused(file: Path) -> None:
    assert "does not match" in str(failure(step(file, key=f"else.example {FIRST}")))
    assert str(failure(step(file))) == "No key specified when adding a host"


def test_the_mode_of_the_file_is_kept(file: Path) -> None:
    file.touch(0o600)
    done(step(file, key=f"h.example {FIRST}"))
    assert file.stat().st_mode & 0o777 == 0o600
