"""host.stat, host.slurp, host.find and host.tempfile look without touching; tempfile makes what
nobody else has."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.slurp import Slurp
from playrunner.modules.host.stat import Stat
from playrunner.modules.host.tempfile import Tempfile


def test_a_file_is_described(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text("hi\n")
    (folder / "f").chmod(0o4640)
    found = perform(Stat(path=str(folder / "f")), ctx)["stat"]
    expected = {
        "exists": True,
        "mode": "4640",
        "isreg": True,
        "isdir": False,
        "size": 3,
        "isuid": True,
        "rgrp": True,
        "woth": False,
        "mimetype": "text/plain",
        "charset": "us-ascii",
        "path": str(folder / "f"),
        "uid": os.geteuid(),
        "checksum": hashlib.sha1(b"hi\n").hexdigest(),
    }
    assert {key: found[key] for key in expected} == expected


def test_what_is_not_there_does_not_exist(ctx: Any, folder: Path) -> None:
    assert perform(Stat(path=str(folder / "gone")), ctx) == {
        "changed": False,
        "stat": {"exists": False},
    }


def test_a_link_is_told_from_what_it_points_to(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text("hi\n")
    (folder / "l").symlink_to("f")
    link = perform(Stat(path=str(folder / "l")), ctx)["stat"]
    assert link["islnk"] and link["lnk_target"] == "f" and link["lnk_source"] == str(folder / "f")
    assert perform(Stat(path=str(folder / "l"), follow=True), ctx)["stat"]["isreg"]


def test_other_checksums_can_be_asked_for(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text("hi\n")
    found = perform(Stat(path=str(folder / "f"), checksum_algorithm="sha256"), ctx)["stat"]
    assert found["checksum"] == hashlib.sha256(b"hi\n").hexdigest()
    assert "checksum" not in perform(Stat(path=str(folder / "f"), get_checksum=False), ctx)["stat"]
    with pytest.raises(Failed, match="algorithm 'sha0'"):
        perform(Stat(path=str(folder / "f"), checksum_algorithm="sha0"), ctx)


def test_slurp_returns_the_content_in_base64(ctx: Any, folder: Path) -> None:
    (folder / "f").write_bytes(b"\0hi")
    result = perform(Slurp(src=str(folder / "f")), ctx)
    assert (
        base64.b64decode(result["content"]) == b"\0hi"
        and result["encoding"] == "base64"
        and not result["changed"]
    )


@pytest.mark.parametrize(
    "name, words", [("gone", "File not found: .*gone"), ("", "is a directory")]
)
def test_slurp_names_what_it_cannot_read(ctx: Any, folder: Path, name: str, words: str) -> None:
    with pytest.raises(Failed, match=words):
        perform(Slurp(src=str(folder / name)), ctx)


def test_every_temporary_file_is_a_new_one(host: Callable[..., Any], folder: Path) -> None:
    assert perform(Tempfile(path=str(folder)), host(check=True))["unknown"] and not list(
        folder.iterdir()
    )
    first, second = (perform(Tempfile(path=str(folder), suffix=".x"), host()) for _ in range(2))
    assert first["path"] != second["path"] and first["path"].endswith(".x")
    assert first["mode"] == "0600" and first["changed"]
    made = perform(Tempfile(path=str(folder), state="directory", prefix="build."), host())["path"]
    assert os.path.isdir(made) and os.path.basename(made).startswith("build.")


def test_a_temporary_file_in_a_missing_folder_is_refused(ctx: Any, folder: Path) -> None:
    with pytest.raises(Failed, match=f"{folder}/gone"):
        perform(Tempfile(path=str(folder / "gone")), ctx)
