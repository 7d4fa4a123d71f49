"""ansible-core 2.19.14: its sdist with the integration targets, and an environment with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import platformdirs

VERSION = "2.19.14"


def cache() -> Path:
    """Where everything downloaded and every result is kept; never a folder of the repository."""
    own = os.environ.get("PLAYRUNNER_SUITE_CACHE")
    return Path(own or Path(platformdirs.user_cache_dir("playrunner")) / "ansible-suite")


def integration() -> Path:
    return cache() / f"ansible_core-{VERSION}" / "test" / "integration"


def ansible(program: str) -> Path:
    """A program of the environment that has ansible-core."""
    return cache() / "venv" / "bin" / program


def prepare() -> None:
    """Download and install what is not there yet."""
    cache().mkdir(parents=True, exist_ok=True)
    if not integration().is_dir():
        _download()
    if not ansible("ansible-playbook").exists():
        shutil.rmtree(cache() / "venv", ignore_errors=True)
        subprocess.run([_python(), "-m", "venv", str(cache() / "venv")], check=True)
        _pip("install", f"ansible-core=={VERSION}", "passlib", "pexpect")


def _python() -> str:
    """A Python that every user may run: targets become other users."""
    system = "/usr/bin/python3"
    words = [system, "-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"]
    usable = Path(system).exists() and not subprocess.run(words, check=False).returncode
    return system if usable else sys.executable


def _download() -> None:
    folder = cache() / "download"
    words = ["download", "--no-deps", "--no-binary", ":all:", f"ansible-core=={VERSION}"]
    _pip(*words, "-d", str(folder), python=sys.executable)
    with tarfile.open(folder / f"ansible_core-{VERSION}.tar.gz") as archive:
        archive.extractall(cache(), filter="tar")
    shutil.rmtree(folder)


def _pip(*words: str, python: str = "") -> None:
    command = [python or str(ansible("python")), "-m", "pip", "-q", *words]
    subprocess.run([*command, "--disable-pip-version-check"], check=True)
