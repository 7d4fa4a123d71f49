"""jumphost.project: this project as one archive on this machine, named by its content, to be sent
to hosts that lack it."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.jumphost._here import HereModule, folder, remove, write

# What verbs need; tests and benchmarks stay at home.
PARTS = (
    "tasks.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "playrunner",
    "roles",
    "playbooks",
    "inventories",
    "manifests",
    "sandbox",
    "trainer",
)
LEFT_OUT = ("__pycache__", ".egg-info")


class Project(HereModule):
    """This project as an archive; only the newest one is kept."""

    extras: list[str] = []  # the extras of pyproject.toml whose packages are needed, too
    also: list[str] = []  # more files and folders of the project that should go with it

    def observe(self, ctx: Any) -> State | None:
        kept = sorted(_place(ctx).glob("*.tar.gz"))
        if not kept:
            return None
        name = kept[-1].name.removesuffix(".tar.gz") if len(kept) == 1 else ""
        return {
            "path": str(kept[-1]),
            "name": name,
            "requirements": requirements(self.extras or []),
        }

    def desired(self, ctx: Any, found: State | None) -> State:
        return {"name": _named(self._files())}

    def apply(self, ctx: Any, change: Change) -> None:
        place = _place(ctx)
        earlier = list(place.glob("*.tar.gz"))
        if change.after is None:
            remove(*earlier)
            return
        wanted = place / f"{change.after['name']}.tar.gz"
        if not wanted.exists():
            write(wanted, _packed(self._files()))
        for file in earlier:
            if file != wanted:
                file.unlink()

    def _files(self) -> list[Path]:
        root = _root()
        files: set[Path] = set()
        for part in (*PARTS, *self.also):
            place = root / part
            if part in self.also and not place.exists():
                raise Failed(f"{place} is not there, and jumphost.project is told to take it along")
            files.update(_below(place))
        return sorted(files)


def requirements(extras: Iterable[str]) -> list[str]:
    """The packages that the project needs with these extras, as pip takes them."""
    told = tomllib.loads((_root() / "pyproject.toml").read_text())["project"]
    known = told.get("optional-dependencies", {})
    for extra in extras:
        if extra not in known:
            raise Failed(
                f'the project has no extra "{extra}"; there are {", ".join(sorted(known))}'
            )
    needed = [*told["dependencies"], *(package for extra in extras for package in known[extra])]
    return list(dict.fromkeys(needed))


def _root() -> Path:
    root = Path(__file__).resolve().parents[3]
    if not (root / "tasks.py").is_file():
        raise Failed(
            f"{root} is not a checkout of the project (no tasks.py), so there is nothing to send to"
            " a jump host"
        )
    return root


def _place(ctx: Any) -> Path:
    return folder(ctx) / "project"


def _below(place: Path) -> Iterable[Path]:
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*")):
        inside = path.relative_to(place).parts
        # Hidden files are a program's or an editor's own, and may hold what should not travel.
        if path.is_file() and not any(
            part.startswith(".") or part.endswith(LEFT_OUT) for part in inside
        ):
            yield path


def _named(files: Iterable[Path]) -> str:
    root, digest = _root(), hashlib.sha256()
    for path in files:
        data = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:16]


def _packed(files: Iterable[Path]) -> bytes:
    """The same bytes for the same files, whoever packs them and when."""
    root, out = _root(), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in files:
            member, data = tarfile.TarInfo(str(path.relative_to(root))), path.read_bytes()
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), 6, mtime=0)
