"""The folder of a user's own training script: which of its files travel, and their contents by
hash."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.record.ledger import state_directory
from playrunner.text import atomic_write
from playrunner.training.ignore_file import Ignored

IGNORE_FILE = ".playrunnerignore"
MOST_MEGABYTES = 500  # code, not data: train.stage brings data to nodes
# What no run reads, where no .gitignore says so
_NEVER = (".git/", "__pycache__/", "*.pyc", ".venv/", "venv/", "node_modules/", ".mypy_cache/")


@frozen
class ScriptCode:
    """A folder's files as [path, sha256, executable], sorted; `tree` names their content."""

    folder: Path
    files: list[tuple[str, str, bool]]
    bytes: int

    @property
    def tree(self) -> str:
        text = "".join(f"{path}\0{digest}\0{flag}\n" for path, digest, flag in self.files)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def pack(self, digests: set[str]) -> Path:
        """An archive of these contents, each named by its hash, on this machine."""
        name = hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()[:16]
        archive = state_directory() / "training" / "code" / f"files-{name}.tar.gz"
        by_digest = {digest: path for path, digest, _ in self.files}
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as packed:
            for digest in sorted(digests):
                data = (self.folder / by_digest[digest]).read_bytes()
                member = tarfile.TarInfo(digest)
                member.size, member.mode = len(data), 0o644
                packed.addfile(member, io.BytesIO(data))
        archive.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write.write_bytes(archive, out.getvalue())
        return archive

    def setup_key(self, setup: str) -> str:
        """Changes with the command and with the files of the folder that it names."""
        words = setup.replace("=", " ").replace(";", " ").split()
        named = {word.removeprefix("./") for word in words}
        if named & {".", "", "-e"}:
            named |= {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}
        read = [f"{path}\0{digest}" for path, digest, _ in self.files if path in named]
        return hashlib.sha256("\n".join([setup, *read]).encode()).hexdigest()[:16]


def script_code(folder: str, script: str) -> ScriptCode:
    """The files that travel; a script that is not among them is refused."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise BadInput(f"code {folder}: there is no such folder")
    paths = _listed(root)
    if script not in paths:
        there = root / script
        if there.is_file():
            raise BadInput(
                f"script {script}: it is left out by .gitignore or {IGNORE_FILE} of {root}"
            )
        raise BadInput(f"script {script}: there is no such file in {root}; set code to its folder")
    sizes = {path: (root / path).stat().st_size for path in paths}
    total = sum(sizes.values())
    if total > MOST_MEGABYTES * 1_000_000:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:3]
        raise BadInput(
            f"{root}: {total // 1_000_000} MB of files would be copied to every node, and at most"
            f" {MOST_MEGABYTES} are; name what the script does not need in {IGNORE_FILE} (largest:"
            f" {', '.join(largest)})"
        )
    files = [(path, _digest(root / path), os.access(root / path, os.X_OK)) for path in paths]
    return ScriptCode(root, files, total)


def _listed(root: Path) -> list[str]:
    """In a git repository what git does not ignore, else all files; less what IGNORE_FILE names."""
    tracked = _by_git(root)
    patterns = [*_NEVER] if tracked is None else []
    names = [IGNORE_FILE] if tracked is not None else [".gitignore", IGNORE_FILE]
    for name in names:
        if (root / name).is_file():
            patterns += (root / name).read_text(errors="replace").splitlines()
    ignored = Ignored(patterns)
    if tracked is None:
        found = _walked(root, ignored)
    else:
        found = [path for path in tracked if not ignored.names(path)]
    return sorted(path for path in found if _inside(root, path))


def _by_git(root: Path) -> list[str] | None:
    try:
        asked = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-coz", "--exclude-standard"],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return None
    if asked.returncode:
        return None
    return list(dict.fromkeys(filter(None, os.fsdecode(asked.stdout).split("\0"))))


def _walked(root: Path, ignored: Ignored) -> list[str]:
    paths = []
    for folder, folders, files in os.walk(root):
        below = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if not ignored.names(f"{below / name}/")]
        paths += [str(below / name) for name in files if not ignored.names(str(below / name))]
    return paths


def _inside(root: Path, path: str) -> bool:
    """A plain file of the folder; a link that leads out of it stays here."""
    whole = root / path
    if not whole.is_file():
        return False  # tracked and deleted, or a submodule
    return not whole.is_symlink() or whole.resolve().is_relative_to(root.resolve())


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
