"""The sandbox's registry: up where it is installed, behind a login, found again by others, and gone
without a trace."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox import registry
from tests.support.runner import REPOSITORY


@pytest.fixture
def state(tmp_path: Path) -> Any:
    if not registry.installed():
        pytest.skip("docker-registry is not installed")
    yield tmp_path
    registry.down(tmp_path / "sandbox")


def sandbox(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "playrunner.sandbox", *words],
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        check=False,
        timeout=180,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(state)},
    )


def test_it_comes_up_once_asks_for_a_login_and_goes(state: Path) -> None:
    first = json.loads(sandbox(state, "up", "--only", "registry", "--json").stdout)["registry"]
    again = json.loads(sandbox(state, "up", "--only", "registry", "--json").stdout)["registry"]

    assert first == again and first["alive"]
    assert first["address"].startswith("127.0.0.1:")
    assert stat.S_IMODE(Path(first["auth_file"]).stat().st_mode) == 0o600
    assert _status(first["address"]) == 401
    known = json.loads(Path(first["auth_file"]).read_text())["auths"][first["address"]]["auth"]
    assert _status(first["address"], known) == 200

    assert sandbox(state, "down", "--only", "registry").returncode == 0
    assert not (state / "sandbox").exists()
    assert sandbox(state, "status").stdout.startswith("nothing is running")


def test_one_that_was_killed_comes_back_at_the_same_address_with_its_images(state: Path) -> None:
    root = state / "sandbox"
    first = registry.up(root)
    assert first.pid
    (root / "registry" / "images").mkdir(exist_ok=True)
    (root / "registry" / "images" / "kept").write_text("x")
    os.kill(first.pid, 9)

    second = registry.up(root)

    assert (second.address, second.alive) == (first.address, True)
    assert (root / "registry" / "images" / "kept").exists()


def _status(address: str, auth: str = "") -> int:
    request = urllib.request.Request(
        f"http://{address}/v2/", headers={"Authorization": f"Basic {auth}"} if auth else {}
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=60
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code
