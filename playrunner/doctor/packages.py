"""Python packages that purposes need beside the runner's own, each group an extra of
pyproject.toml."""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata
from pathlib import Path

from playrunner.doctor.finding import Finding, Remedy
from playrunner.doctor.purposes import Purposes

LEAST_PYTHON = (3, 11)

# Purpose -> extra and the names that must be importable, with the packages that bring them.
_EXTRAS: dict[str, tuple[str, dict[str, str]]] = {
    "aws": ("aws", {"boto3": "boto3"}),
    "gcp": ("gcp", {"google.auth": "google-auth", "requests": "requests"}),
    "images": ("image", {"oras": "oras"}),
    "sandbox": ("sandbox", {"moto": "moto", "flask": "flask"}),
}
TRAINS_HERE = (
    "train",
    {"torch": "torch", "yaml": "pyyaml"},
)  # where this interpreter is the nodes' own, as in a rehearsal


def examine(purposes: Purposes, trains_here: bool) -> list[Finding]:
    wanted = {purpose: _EXTRAS[purpose] for purpose in purposes if purpose in _EXTRAS}
    if trains_here and "training" in purposes:
        wanted["training"] = TRAINS_HERE
    return [
        _python(),
        *(_extra(extra, names, purposes[purpose]) for purpose, (extra, names) in wanted.items()),
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    least = ".".join(map(str, LEAST_PYTHON))
    return Finding(
        f"Python {least} or later",
        sys.version_info >= LEAST_PYTHON,
        f"{sys.executable} {version}",
        fix=f"install Python {least} or later, and make the environment with it",
    )


def _extra(extra: str, names: dict[str, str], roles: tuple[str, ...]) -> Finding:
    lacking = [package for name, package in names.items() if not _importable(name)]
    what = f"Python packages: {', '.join(names.values())}"
    if not lacking:
        return Finding(
            what,
            True,
            ", ".join(f"{package} {_version(package)}" for package in names.values()),
            roles,
        )
    remedy = Remedy("pip", extra=extra) if in_own_environment() else None
    fix = f"{sys.executable} -m pip install {source(extra)}"
    return Finding(what, False, f"no {' and no '.join(lacking)}", roles, fix, remedy)


def in_own_environment() -> bool:
    """Whether packages can be installed without touching the system's."""
    return sys.prefix != sys.base_prefix


def source(extra: str) -> str:
    """This project with an extra, as pip is told it."""
    return f'-e ".[{extra}]"' if Path("pyproject.toml").is_file() else f'"playrunner[{extra}]"'


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # the package above it is not there
        return False


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
