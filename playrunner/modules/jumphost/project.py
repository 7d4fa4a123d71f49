"""jumphost.project: this project as one archive on this machine, named by its content, to be sent
to hosts that lack it."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from playrunner import project
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.jumphost._here import HereModule, folder, remove, write

if TYPE_CHECKING:
    from playrunner.run.context import Context

# What verbs need, laid out as in a checkout; tests and benchmarks are left out.
CODE_PARTS = ("playrunner", "trainer")
CONTENT_PARTS = (
    "tasks.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "roles",
    "playbooks",
    "inventories",
    "manifests",
)
PARTS = (*CODE_PARTS, *CONTENT_PARTS)
LEFT_OUT = ("__pycache__", ".egg-info")


class Project(HereModule):
    """This project as an archive; only the newest one is kept."""

    extras: list[str] = []  # the extras of pyproject.toml whose packages are needed
    also: list[str] = []  # more files and folders of the project that should go with it

    def observe(self, ctx: Context) -> State | None:
        kept = sorted(_place(ctx).glob("*.tar.gz"))
        if not kept:
            return None
        name = kept[-1].name.removesuffix(".tar.gz") if len(kept) == 1 else ""
        return {
            "path": str(kept[-1]),
            "name": name,
            "requirements": requirements(self.extras or []),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"name": _named(self._files())}

    def apply(self, ctx: Context, change: Change) -> None:
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

    def _files(self) -> dict[str, Path]:
        """Each file by its name in the archive; the project's own replace the package's."""
        root, own = project.bundled(), Path.cwd()
        members: dict[str, Path] = {}
        for base, part in (
            *((project.CODE, part) for part in CODE_PARTS),
            *((root, part) for part in CONTENT_PARTS),
            *((own, part) for part in CONTENT_PARTS if (own / part).is_dir()),
            *(((own if (own / part).exists() else root), part) for part in self.also),
        ):
            if part in self.also and not (base / part).exists():
                raise Failed(f"{base / part} does not exist, but jumphost.project names it in also")
            members.update(
                (str(file.relative_to(base)), file)
                for file in _below(base / part)
                if project.PACKAGE / "content" not in file.parents or part in CONTENT_PARTS
            )
        return dict(sorted(members.items()))


def requirements(extras: Iterable[str]) -> list[str]:
    """The packages that the project needs with these extras, as pip takes them."""
    required, known = _dependencies()
    for extra in extras:
        if extra not in known:
            raise Failed(
                f'the project has no extra "{extra}"; there are {", ".join(sorted(known))}'
            )
    needed = [*required, *(package for extra in extras for package in known[extra])]
    return list(dict.fromkeys(needed))


def _dependencies() -> tuple[list[str], dict[str, list[str]]]:
    """The packages that are always needed, and those of each extra."""
    if project.is_checkout():
        text = (project.CODE / "pyproject.toml").read_text()
        table = tomllib.loads(text)["project"]
        return table["dependencies"], table.get("optional-dependencies", {})
    required: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("playrunner") or ():
        package, _, condition = line.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)", condition)
        (extras.setdefault(extra[1], []) if extra else required).append(package.strip())
    return required, extras


def _place(ctx: Context) -> Path:
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


def _named(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, path in files.items():
        data = path.read_bytes()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:16]


def _packed(files: Mapping[str, Path]) -> bytes:
    """The same bytes for the same files, on any machine at any time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, path in files.items():
            member, data = tarfile.TarInfo(name), path.read_bytes()
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), 6, mtime=0)
