"""make kube-assets from a source tree: what is missing is said before anything is built."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playrunner.sandbox.kube.process.assets.commands import CannotBuild
from playrunner.sandbox.kube.process.assets.source_tree import SOURCE, source_tree


def tree(folder: Path, needs: str) -> Path:
    """As `git archive` leaves one, with a server that says hello."""
    for name in ("cmd/kube-apiserver", "cmd/kubectl", "vendor", "hack/lib"):
        (folder / name).mkdir(parents=True)
    (folder / "hack/lib/version.sh").write_text("if [[ 'tag: v1.33.13' =~ tag ]]; then\n")
    (folder / "go.mod").write_text(f"module k8s.io/kubernetes\n\ngo {needs}\n")
    return folder


def asked(source: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "playrunner.sandbox.kube.process.assets"],
        env={**os.environ, SOURCE: str(source), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_source_tree_says_its_version_and_another_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SOURCE, str(tree(tmp_path / "src", "1.24.0")))
    found = source_tree()
    assert found and found.version == "1.33.13"
    monkeypatch.setenv(SOURCE, str(tmp_path))
    with pytest.raises(CannotBuild, match=r"is no source tree of Kubernetes with its vendor/"):
        source_tree()
    monkeypatch.delenv(SOURCE)
    assert source_tree() is None


def test_a_toolchain_that_is_too_old_and_a_complete_folder_are_told_apart(tmp_path: Path) -> None:
    source, programs = tree(tmp_path / "src", "1.24.0"), tmp_path / "programs"
    programs.mkdir()
    old = programs / "go"
    old.write_text("#!/bin/sh\necho go version go1.19.8 linux/arm64\n")
    (programs / "etcd").write_text("#!/bin/sh\n")
    for one in programs.iterdir():
        one.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    refused = asked(source, PATH=path, XDG_CACHE_HOME=str(tmp_path), KUBEBUILDER_ASSETS="")
    assert refused.returncode == 1 and "is too old for 1.33.13" in refused.stderr, refused.stderr
    there = tmp_path / "playrunner/kube-assets/1.33.13"
    there.mkdir(parents=True)
    for name in ("kubectl", "etcd", "kube-apiserver"):
        (there / name).write_text("")
        (there / name).chmod(0o755)
    again = asked(source, XDG_CACHE_HOME=str(tmp_path), KUBEBUILDER_ASSETS="")
    assert (again.returncode, again.stdout.strip()) == (0, str(there)), again.stderr
