"""What host modules read and write: sums of contents, and files that are whole or not there."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from playrunner.hostside.host_context import HostContext
from playrunner.modules.host import _drafts
from playrunner.modules.host._content import TEXT_LIMIT, md5_of, write
from playrunner.modules.host._drafts import unnamed
from playrunner.project import CODE


@pytest.mark.parametrize("size", [0, 1, TEXT_LIMIT, TEXT_LIMIT + 1])
def test_an_md5_sum_is_that_of_hashlib(size: int) -> None:
    data = b"x" * size
    assert md5_of(data) == hashlib.md5(data).hexdigest()


def test_an_md5_sum_of_a_short_text_loads_no_openssl() -> None:
    pytest.importorskip("_md5")
    program = (
        f"import sys; sys.path.insert(0, {str(CODE)!r});"
        "from playrunner.modules.host._content import md5_of; md5_of(b'x');"
        "print('_hashlib' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-IS", "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"


KILLED = """
import os, signal, sys
sys.path.insert(0, {code!r})
from types import SimpleNamespace
from playrunner.hostside.host_context import HostContext
from playrunner.modules.host._content import write

def content():
    yield b"one" * 1000
    os.kill(os.getpid(), signal.SIGKILL)

write(HostContext(SimpleNamespace(scraps=set()), {{"id": 1}}), {path!r}, content(), {{}})
"""


def test_a_process_that_is_killed_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    if unnamed(str(tmp_path), str(tmp_path / "draft")) is None:
        pytest.skip("this file system has no files without a name")
    place = tmp_path / "place"
    place.write_text("before")
    program = KILLED.format(code=str(CODE), path=str(place))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert place.read_text() == "before"


def test_where_a_file_without_a_name_cannot_be_named_it_has_one_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(fd: int, path: str) -> None:
        raise PermissionError

    monkeypatch.setattr(_drafts, "link", refused)
    monkeypatch.setattr(_drafts, "_can_name", {})
    ctx = HostContext(SimpleNamespace(scraps=set()), {"id": 1})
    write(ctx, str(tmp_path / "place"), [b"content"], {"mode": "0640"})
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert (tmp_path / "place").read_text() == "content"
    assert (tmp_path / "place").stat().st_mode & 0o777 == 0o640
