"""A base image made of this machine's own files: a Python with some installed packages, the
libraries they need, and a shell."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Iterable
from importlib import metadata, util
from pathlib import Path

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
# Half a gigabyte of PyTorch's own libraries is lent to containers instead of copied, packed and
# unpacked for each test.
LENT = (
    str(Path(str(metadata.distribution("torch").locate_file("torch/lib"))))
    if util.find_spec("torch")
    else "",
    f"/usr/local/lib/{VERSION}/site-packages/torch/lib",
)
_LEFT_OUT = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "lib2to3",
    "ensurepip",
    "include",
    "site-packages",
    "turtledemo",
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def lay_out(root: Path, packages: Iterable[str], whole: Collection[str]) -> None:
    """A file system with `python` and `pip` in /usr/local. Of these packages and what they need,
    some are there as a whole, of the others only what tells pip that they are installed."""
    library = root / "usr/local/lib" / VERSION
    _link_tree(Path(sysconfig.get_path("stdlib")), library)
    _link(Path(sys.executable).resolve(), root / "usr/local/bin" / VERSION)
    for file in Path(sys.base_prefix, "lib").glob("libpython*.so*"):
        _link(file, root / "usr/lib" / file.name)
    for package in _with_needs(packages):
        _link_package(package, library / "site-packages", package in whole)
    _link(Path("/bin/sh").resolve(), root / "bin/sh")
    (root / LENT[1].lstrip("/")).mkdir(parents=True)
    for file in _libraries(root):
        _link(file, root / str(file).lstrip("/"))
    for name in ("python", "python3"):
        (root / "usr/local/bin" / name).symlink_to(VERSION)
    start = "from pip._internal.cli.main import main\nraise SystemExit(main())\n"
    _write(root / "usr/local/bin/pip", f"#!/usr/local/bin/{VERSION}\n{start}", 0o755)
    _write(root / "etc/pip.conf", "[global]\ndisable-pip-version-check = true\n")
    _write(root / "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    _write(root / "etc/group", "root:x:0:\n")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)


def _with_needs(packages: Iterable[str]) -> set[str]:
    """The packages and all they need here, by name."""
    found, ahead = set[str](), [*packages]
    while ahead:
        name = re.sub(r"[-_.]+", "-", ahead.pop()).lower()
        if name in found:
            continue
        try:
            needs = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:
            continue  # for another system, or optional
        found.add(name)
        ahead += [
            match[0] for need in needs if "extra ==" not in need and (match := _NAME.match(need))
        ]
    return found


def _link_package(name: str, target: Path, whole: bool) -> None:
    distribution = metadata.distribution(name)
    for file in distribution.files or ():
        first, second = (*file.parts, "")[:2]
        if (
            first == ".."
            or {"include", "test", "tests"} & set(file.parts)
            or (second == "bin" and "manager" not in file.name)
        ):
            continue
        if (first, second) == ("torch", "lib"):
            continue
        source = Path(str(distribution.locate_file(file)))
        if (whole or first.endswith(".dist-info")) and source.is_file():
            _link(source, target / file)


def _link_tree(source: Path, target: Path) -> None:
    for top, folders, files in os.walk(source):
        folders[:] = [
            name for name in folders if name not in _LEFT_OUT and not name.startswith("config-")
        ]
        for name in files:
            if not name.endswith(".pyc") or "opt-" not in name:
                _link(Path(top, name), target / Path(top, name).relative_to(source))


def _link(source: Path, target: Path) -> None:
    """The same file under another name where that can be, otherwise a copy."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copy2(source, target)


def _libraries(root: Path) -> set[Path]:
    """The system's libraries that the programs in there are linked with."""
    programs = [
        root / "usr/local/bin" / VERSION,
        root / "bin/sh",
        *root.rglob("lib-dynload/*.so"),
        *Path(LENT[0]).glob("*.so*"),
    ]
    said = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    ).stdout
    named = {Path(match) for match in re.findall(r"(?:=> |^\t)(/\S+) \(0x", said, re.MULTILINE)}
    return {
        path
        for path in named
        if not path.is_relative_to(root) and str(path).startswith(("/lib", "/usr/lib"))
    }


def _write(
    path: Path, text: str, mode: int = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
