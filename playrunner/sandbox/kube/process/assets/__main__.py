"""`python -m playrunner.sandbox.kube.process.assets`: the folder, complete, or what is missing."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playrunner.sandbox.kube.process.assets.commands import VERSION, CannotBuild, remove, tell
from playrunner.sandbox.kube.process.assets.debian import download, etcd, patch, tools
from playrunner.sandbox.kube.process.assets.go_build import Go, openapi, server
from playrunner.sandbox.kube.process.assets.source_tree import SourceTree, source_tree

PROGRAMS = [
    "kubectl",
    "etcd",
    "kube-apiserver",
]  # in the order they are put in place: the folder is complete with the last
DISK = 3 << 30  # what the build takes at most, in bytes; all but 120 MB goes again


def main() -> int:
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # so that what is running below ends with us
    try:
        folder = get()
    except CannotBuild as error:
        print(f"kube-assets: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(folder)
    return 0


def get() -> Path:
    """The folder with the three programs, made when it is not there yet."""
    asked = os.environ.get("KUBEBUILDER_ASSETS")
    tree = source_tree()
    version = tree.version if tree else VERSION
    folder = Path(asked).expanduser().absolute() if asked else cache() / version
    if not lacking(folder):
        return folder
    if asked and len(lacking(folder)) < len(
        PROGRAMS
    ):  # the user's own: versions must not be mixed there
        names = " and no ".join(lacking(folder))
        raise CannotBuild(
            f"KUBEBUILDER_ASSETS={folder} has no {names}: put it there, or unset the variable"
        )
    with alone(cache()):
        if lacking(folder):  # else another call made it while this one waited
            make(folder, tree)
    return folder


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (
        (Path(home) if home else Path.home() / ".cache").absolute() / "playrunner" / "kube-assets"
    )


def lacking(folder: Path) -> list[str]:
    return [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(folder: Path, tree: SourceTree | None) -> None:
    work = cache() / f"{tree.version if tree else VERSION}.build"
    # What an earlier try had compiled is kept, and makes this one shorter; Go checks it by content.
    for left in work.iterdir() if work.exists() else []:
        if left.name != "compiled":
            remove(left)
    (work / "tmp").mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(work).free < DISK:
        raise CannotBuild(
            f"{work} has less than {DISK >> 30} GiB free; set XDG_CACHE_HOME to a larger disk"
        )

    made = _of_tree(tree, work) if tree else _of_debian(work)
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        fresh = folder / f".{name}.new"
        shutil.copyfile(made[name], fresh)
        fresh.chmod(0o755)
        fresh.replace(folder / name)
    remove(work)
    tell("done")


def _of_debian(work: Path) -> dict[str, Path]:
    tools()
    root, source = download(work)
    patch(root, source)
    go = Go(root, work)
    openapi(go, source)
    server(go, source)
    return {
        "kubectl": root / "usr/bin/kubectl",
        "etcd": root / "usr/bin/etcd",
        "kube-apiserver": work / "kube-apiserver",
    }


def _of_tree(tree: SourceTree, work: Path) -> dict[str, Path]:
    """etcd is not in the tree: one of PATH or of an earlier build serves, else Debian's."""
    there = shutil.which("etcd") or shutil.which("etcd", path=str(cache() / VERSION))
    if there is None:
        tools()
    return {"etcd": Path(there) if there else etcd(work), **tree.build(work)}


if __name__ == "__main__":
    sys.exit(main())
