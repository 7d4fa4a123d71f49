"""Checks the optional Python packages; each group is an extra of pyproject.toml."""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata

from playrunner.doctor.finding import Finding, Remedy
from playrunner.doctor.purposes import Purposes
from playrunner.project import install_extra

MIN_PYTHON = (3, 11)

# Purpose -> extra and the names that must be importable, with the packages that bring them.
_EXTRAS: dict[str, tuple[str, dict[str, str]]] = {
    "aws": ("aws", {"boto3": "boto3"}),
    "gcp": ("gcp", {"google.auth": "google-auth", "requests": "requests"}),
    "images": ("image", {"oras": "oras"}),
    "sandbox": ("sandbox", {"moto": "moto", "flask": "flask"}),
}
# In a rehearsal the nodes use this interpreter
LOCAL_TRAINING = ("train", {"torch": "torch", "yaml": "pyyaml"})


def examine(purposes: Purposes, local_training: bool) -> list[Finding]:
    extras = {purpose: _EXTRAS[purpose] for purpose in purposes if purpose in _EXTRAS}
    if local_training and "training" in purposes:
        extras["training"] = LOCAL_TRAINING
    return [
        _python(),
        *(_extra(extra, names, purposes[purpose]) for purpose, (extra, names) in extras.items()),
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    least = ".".join(map(str, MIN_PYTHON))
    return Finding(
        f"Python {least} or later",
        sys.version_info >= MIN_PYTHON,
        f"{sys.executable} {version}",
        fix=f"install Python {least} or later, and create the environment with it",
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
    fix = f"{sys.executable} -m {install_extra(extra)}"
    return Finding(what, False, f"missing: {', '.join(lacking)}", roles, fix, remedy)


def in_own_environment() -> bool:
    """Whether packages can be installed without touching the system's."""
    return sys.prefix != sys.base_prefix


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # its parent package is missing
        return False


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
