"""Public playbooks that both programs load: `python -m tests.ansible_suite.public CHECKOUT...`.

Every playbook of the given checkouts is loaded with `ansible-playbook --syntax-check`; those that
it accepts are loaded with `playrunner-playbook --syntax-check` in the same setting. A checkout of a
single role gets a playbook of its own. Prints a table and the reason of each refusal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from . import sources
from .score import OURS, REPOSITORY

SECONDS = 180
ANSWERS = "public.json"  # what ansible-core answered, by playbook
_NO_PLAYBOOKS = {
    "tasks", "handlers", "vars", "defaults", "meta", "templates", "files", "group_vars",
    "host_vars", ".github", "library", "plugins",
}  # fmt: skip
_PLAY_WORDS = {"hosts", "import_playbook", "ansible.builtin.import_playbook"}


class _Loader(yaml.SafeLoader):
    """Reads tags such as !vault as nothing."""


_Loader.add_multi_constructor("", lambda *_: None)  # type: ignore[no-untyped-call]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--collections", type=Path, help="a folder with ansible_collections/")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=int, help="take a sample of so many of each checkout")
    parser.add_argument("--only", default="", help="take playbooks whose path has this text")
    options = parser.parse_args()
    sources.prepare()
    with tempfile.TemporaryDirectory(prefix="public-") as made:
        measure = _Measure(options.collections, Path(made))
        rows, refusals = [], []
        for checkout in (path.resolve() for path in options.checkouts):
            books = [book for book in _playbooks(checkout, Path(made)) if options.only in str(book)]
            if options.most and len(books) > options.most:
                books = random.Random(1).sample(books, options.most)
            with ThreadPoolExecutor(options.jobs) as pool:
                answers = list(pool.map(lambda book: measure.of(book, checkout), sorted(books)))  # noqa: B023
            accepted = [answer for answer in answers if answer is not None]
            lost = [answer for answer in accepted if answer]
            rows.append((checkout.name, len(books), len(accepted), len(accepted) - len(lost)))
            refusals += lost
            print(*rows[-1], flush=True)
        measure.keep()
    _show(rows, refusals)
    return 0


def _show(rows: list[tuple[str, int, int, int]], refusals: list[str]) -> None:
    print("\n| checkout | playbooks | ansible-core accepts | of these load here |")
    print("|---|---:|---:|---:|")
    rows.append(("all", *(sum(row[column] for row in rows) for column in (1, 2, 3))))  # type: ignore[arg-type]
    for row in rows:
        print("| {} | {} | {} | {} |".format(*row))
    for text, count in Counter(refusals).most_common():
        print(f"{count}: {text}")


class _Measure:
    """Loads playbooks with both programs; keeps what ansible-core said."""

    def __init__(self, collections: Path | None, made: Path) -> None:
        self._file = sources.cache() / ANSWERS
        self._known: dict[str, bool] = (
            json.loads(self._file.read_text()) if self._file.exists() else {}
        )
        self._made, self._collections = made, collections
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")},
            "ANSIBLE_LOCALHOST_WARNING": "0",
            "PYTHONPATH": str(REPOSITORY),
            "XDG_STATE_HOME": str(made / "state"),
        }

    def of(self, book: Path, checkout: Path) -> str | None:
        """Why it does not load here; empty if it does; None if ansible-core refuses it, too."""
        folder, environment = self._setting(book, checkout)
        key = f"{book} {environment.get('ANSIBLE_COLLECTIONS_PATH', '')}"
        if key not in self._known:
            real = [str(sources.ansible("ansible-playbook"))]
            self._known[key] = self._load(real, book, folder, environment)[0] == 0
        if not self._known[key]:
            return None
        own = [sys.executable, "-P", "-m", OURS["ansible-playbook"]]
        code, output = self._load(own, book, folder, environment)
        if not code:
            return ""
        reason = self._reason(output, checkout)
        print(f"{os.path.relpath(book, checkout.parent)}: {reason}", flush=True)
        return reason

    def keep(self) -> None:
        kept = {key: ok for key, ok in self._known.items() if not key.startswith(str(self._made))}
        self._file.write_text(json.dumps(kept, indent=1))

    def _setting(self, book: Path, checkout: Path) -> tuple[Path, dict[str, str]]:
        """Where its users start it: beside the nearest ansible.cfg, else in its own folder."""
        roots = [*self._own_collections(checkout), self._collections]
        paths = ":".join(str(root.resolve()) for root in roots if root)
        environment = {**self._environment, "ANSIBLE_COLLECTIONS_PATH": paths}
        for folder in book.parents:
            if (folder / "ansible.cfg").exists():
                return folder, environment
            if folder == checkout:
                break
        roles = [str(path) for path in sorted(checkout.glob("**/roles")) if path.is_dir()]
        return book.parent, {**environment, "ANSIBLE_ROLES_PATH": ":".join(roles)}

    def _own_collections(self, checkout: Path) -> list[Path]:
        """Collections of the checkout, and the one that it is, installed as its users have it."""
        roots = [path.parent for path in checkout.glob("**/ansible_collections")]
        galaxy = checkout / "galaxy.yml"
        named = yaml.safe_load(galaxy.read_text()) if galaxy.exists() else {}
        if "namespace" in named:  # else it is an old name of requirements.yml
            root = sources.cache() / "checkouts"
            link = root / "ansible_collections" / named["namespace"] / named["name"]
            link.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                link.symlink_to(checkout)
            roots.append(root)
        return roots

    @staticmethod
    def _load(
        program: list[str], book: Path, folder: Path, environment: dict[str, str]
    ) -> tuple[int, str]:
        command = [*program, "--syntax-check", "-i", "localhost,", str(book)]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS,
                stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, "[ERROR]: took too long"
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    @staticmethod
    def _reason(output: str, checkout: Path) -> str:
        lines = [line for line in output.splitlines() if line.startswith(("[ERROR]", "Origin:"))]
        text = " ".join(lines) or output.strip()[-300:] or "no output"
        return text.replace(f"{checkout.parent}/", "")[:500]


def _playbooks(checkout: Path, made: Path) -> Iterator[Path]:
    if (checkout / "tasks" / "main.yml").exists() and (checkout / "meta").is_dir():
        wrapper = made / f"{checkout.name}.yml"
        wrapper.write_text(json.dumps([{"hosts": "localhost", "roles": [str(checkout)]}]))
        yield wrapper
    for path in sorted([*checkout.rglob("*.yml"), *checkout.rglob("*.yaml")]):
        inside = path.relative_to(checkout)
        if not _NO_PLAYBOOKS & set(inside.parts) and path.is_file() and _is_playbook(path):
            yield path


def _is_playbook(path: Path) -> bool:
    try:
        content: Any = yaml.load(path.read_text(), _Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        return False
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(play, dict) and _PLAY_WORDS & set(play) for play in content)
    )


if __name__ == "__main__":
    raise SystemExit(main())
