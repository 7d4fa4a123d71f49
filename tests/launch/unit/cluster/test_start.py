"""A pod's start: real processes that wait for one another as pods do, with a stand-in for
torchrun."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

import trainer.node.pod_entry

PATIENCE_SECONDS = 60
# What torchrun would be told, and where the code was put.
STANDIN = (
    "import json, os, sys; print(json.dumps({'words': sys.argv[1:], 'path':"
    " os.environ['PYTHONPATH'].split(os.pathsep)[0], 'node':"
    " os.path.isdir(os.environ['TRAINER_NODE']), 'gloo': os.environ.get('GLOO_SOCKET_IFNAME')}))"
)


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    """A package of torch's name; what begins it is in the code, and only tells how it was
    called."""
    package = tmp_path / "packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    return tmp_path / "packages"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in (("__init__", ""), ("torchrun", STANDIN)):
            member = tarfile.TarInfo(f"trainer/{name}.py")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    path = tmp_path / "code.tar.gz"
    path.write_bytes(gzip.compress(out.getvalue()))
    return path


def begun(torch: Path, code: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRAINER", "POD", "GLOO"))
    }
    return subprocess.Popen(
        [sys.executable, trainer.node.pod_entry.__file__, *words, "-m", "trainer"],
        text=True,
        stdout=subprocess.PIPE,
        cwd=code.parent,
        env={**clean, "PYTHONPATH": str(torch), "TRAINER_CODE": str(code), **environment},
    )


def told(process: subprocess.Popen[str]) -> dict[str, object]:
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, out
    found: dict[str, object] = json.loads(out.splitlines()[-1])
    return found


def test_the_first_pod_hosts_the_meeting_and_waits_for_nobody(torch: Path, code: Path) -> None:
    said = told(
        begun(
            torch,
            code,
            "--rdzv_backend=c10d",
            "--rdzv_endpoint=nowhere.invalid:29500",
            "--rdzv_conf=join_timeout=9",
            TRAINER_FIRST="POD_NAME=run-0",
            POD_NAME="run-0",
            POD_IP="10.0.0.1",
        )
    )
    assert said["words"] == [
        "--local_addr=10.0.0.1",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=nowhere.invalid:29500",
        "--rdzv_conf=join_timeout=9",
        "--rdzv_conf=join_timeout=9,is_host=1",
        "-m",
        "trainer",
    ]
    assert said["node"] is True
    assert (Path(str(said["path"])) / "trainer" / "__init__.py").exists()


def test_the_others_wait_until_it_listens(torch: Path, code: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    process = begun(
        torch,
        code,
        "--rdzv_backend=c10d",
        f"--rdzv_endpoint=127.0.0.1:{port}",
        TRAINER_FIRST="POD_NAME=run-0",
        POD_NAME="run-1",
    )
    time.sleep(1.5)
    assert process.poll() is None, "it did not wait"
    with socket.create_server(("127.0.0.1", port)):
        said = told(process)
    assert "--rdzv_conf=is_host=0" in said["words"]  # type: ignore[operator]


def test_of_two_flags_the_later_counts_as_when_a_controller_puts_its_own_before(
    torch: Path, code: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        endpoint = f"127.0.0.1:{there.getsockname()[1]}"
        said = told(
            begun(
                torch,
                code,
                "--rdzv_backend=etcd",
                f"--rdzv_endpoint={endpoint}",
                "--rdzv_backend=c10d",
                TRAINER_FIRST="POD_NAME=run-0",
                POD_NAME="run-1",
            )
        )
    assert any("is_host=0" in word for word in said["words"])  # type: ignore[attr-defined]


def test_an_interface_that_the_pod_does_not_have_is_not_used(torch: Path, code: Path) -> None:
    words = ("--rdzv_backend=c10d", "--rdzv_endpoint=x:1")
    first = {"TRAINER_FIRST": "POD_NAME=a", "POD_NAME": "a", "GLOO_SOCKET_IFNAME": "none-such0"}
    assert told(begun(torch, code, *words, POD_IP="10.0.0.1", **first))["gloo"] is None
    assert told(begun(torch, code, *words, POD_IP="127.9.9.9", **first))["gloo"] == "lo"
