"""The sandbox's stand-ins of data sets: served on loopback, byte ranges included, gone with it."""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from playrunner.sandbox import state
from playrunner.sandbox.datasets import process


def got(address: str, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def test_stand_ins_are_served_with_their_checksums_and_nothing_else_is(tmp_path: Path) -> None:
    root = tmp_path / "sandbox"
    first = process.up(root)
    try:
        assert process.up(root) == first, "a second up keeps what runs"
        declared = json.loads(process.record_file(root).read_text())["datasets"]
        assert sorted(declared) == first.names
        source = declared["mnist"]["source"]
        for name, digest in declared["mnist"]["files"].items():
            code, content = got(source + name)
            assert (code, hashlib.sha256(content).hexdigest()) == (200, digest)
        assert got(source + name, Range="bytes=10-") == (206, content[10:])
        (root / "datasets" / "secret").write_text("kept")
        for path in ("../secret", "%2e%2e/secret", "../../datasets.json", ""):
            assert got(source + path)[0] == 404
    finally:
        process.down(root)
    assert not root.exists()
    assert not any(str(root) in command for command in state.commands().values())


def test_the_same_stand_ins_have_the_same_checksums_every_day(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    from playrunner.sandbox.datasets.stand_ins import make

    assert make(tmp_path / "a", "x") == make(tmp_path / "b", "x")
