"""On a machine that allows no mount namespaces: paths are exchanged for the folders behind them,
names come from a library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox.kube.controllers.kubelet import mount_namespace
from tests.support.kube.moving import Cluster, placed, raised
from tests.support.until import until


@pytest.fixture(scope="module")
def own_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(mount_namespace.WITHOUT, "off")
        yield from raised(tmp_path_factory.mktemp("plain") / "sandbox", pretend=True)


@pytest.fixture
def plain(own_root: Path) -> Iterator[Cluster]:
    yield from placed(own_root, "pretend")


def test_mounts_are_found_through_commands_environment_and_config_maps(plain: Cluster) -> None:
    plain.create("configmaps", "profile", data={"run.yaml": "output: /checkpoints/run\n"})
    volumes = [{"name": "p", "configMap": {"name": "profile"}}, {"name": "c", "emptyDir": {}}]
    mounts = [
        {"name": "p", "mountPath": "/etc/profile.d.run"},
        {"name": "c", "mountPath": "/checkpoints"},
    ]
    container = {"volumeMounts": mounts, "env": [{"name": "OUT", "value": "/checkpoints/out"}]}
    script = (
        "echo kept > /checkpoints/out; cat $OUT; cat /etc/profile.d.run/run.yaml; ls -d"
        " /checkpoints-elsewhere 2>&1 || true"
    )
    lines = plain.said(
        "paths", "sh", "-c", script, container=container, volumes=volumes
    ).splitlines()
    folder = str(plain.root / "kube" / "pods")
    assert lines[0] == "kept"
    assert lines[1].startswith(f"output: {folder}/") and lines[1].endswith("/c/run")
    assert "/checkpoints-elsewhere" in lines[2] and folder not in lines[2]


@pytest.mark.skipif(
    mount_namespace.name_wrapper() is None, reason="libnss-wrapper is not installed"
)
def test_names_are_found_through_a_library_and_followed_as_they_change(plain: Cluster) -> None:
    look = ("import socket, time\nprint(socket.gethostname(), flush=True)\nwhile True:\n  try:\n"
            "    print(socket.gethostbyname('late.ring'), flush=True)\n    break\n"
            "  except socket.gaierror: time.sleep(0.1)")  # fmt: skip
    plain.create(
        "services",
        "ring",
        spec={"clusterIP": "None", "selector": {"app": "ring"}, "publishNotReadyAddresses": True},
    )
    plain.pod("asks", "python", "-c", look)
    until(
        lambda: plain.get("pods", "asks") or {},
        lambda pod: pod.get("status", {}).get("phase") == "Running",
    )
    plain.pod("late", "sleep", "100000", labels={"app": "ring"}, hostname="late", subdomain="ring")
    plain.phase("asks", "Succeeded")
    assert plain.log("asks").splitlines() == [
        "asks",
        (plain.get("pods", "late") or {})["status"]["podIP"],
    ]
