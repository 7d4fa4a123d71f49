"""Debian's packages: its build tools, the mirror that apt uses, and the source of Kubernetes."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from playrunner.sandbox.kube.process.assets.commands import VERSION, CannotBuild, remove, run, tell

# The last Debian whose source package holds the whole server; later ones have kubectl only
SUITE = "bookworm"

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

SIGNED = (
    f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
)  # else by the keys that apt trusts for all

SOURCE = "kubernetes"

GO = "golang-1.19"

PACKAGES = [
    f"{GO}-go",
    f"{GO}-src",
    "etcd-server",
    "kubernetes-client",
    "golang-github-modern-go-reflect2-dev",
]


def tools() -> None:
    """Debian's own tools. All but dpkg-source are on every Debian; root gets that one installed."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise CannotBuild(
            "building needs Debian's packages, and this machine has no apt: "
            "put kube-apiserver, etcd and kubectl in a folder and name it in KUBEBUILDER_ASSETS"
        )
    if not shutil.which("dpkg-source"):
        if os.geteuid() != 0:
            raise CannotBuild("dpkg-source is missing: have root run 'apt-get install dpkg-dev'")
        tell("installing dpkg-dev")
        run("apt-get", "update", "-qq")
        run(
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            "dpkg-dev",
            env={"DEBIAN_FRONTEND": "noninteractive"},
        )


def download(work: Path) -> tuple[Path, Path]:
    """Fetch and unpack: the binary packages' root, and the source, where Go expects it."""
    apt = _listed(work)
    tell("downloading Go, etcd, kubectl and the source of Kubernetes (about 125 MB)")
    root = _unpacked(work, apt, PACKAGES)
    run(*apt, "source", "--download-only", SOURCE, cwd=work)
    source = work / "gopath/src/k8s.io/kubernetes"
    described = next(work.glob("*.dsc"))
    if VERSION not in described.name:
        raise CannotBuild(
            f"Debian {SUITE} now has {described.name}, not {VERSION}:"
            " playrunner/sandbox/kube/process/assets needs an update"
        )
    run("dpkg-source", "--no-check", "-x", str(described), str(source))  # apt has checked it
    return root, source


def etcd(work: Path) -> Path:
    """Debian's etcd alone, for a server that is built from another source."""
    apt = _listed(work)
    tell("downloading etcd")
    return _unpacked(work, apt, ["etcd-server"]) / "usr/bin/etcd"


def _unpacked(work: Path, apt: list[str], packages: list[str]) -> Path:
    run(*apt, "download", *packages, cwd=work)
    for package in sorted(work.glob("*.deb")):
        run("dpkg-deb", "-x", str(package), str(work / "root"))
    return work / "root"


def _listed(work: Path) -> list[str]:
    """The words of an apt that has read Debian's package lists."""
    for each in ("lists/partial", "archives/partial", "root", "gopath/src/k8s.io"):
        (work / each).mkdir(parents=True, exist_ok=True)
    apt = [
        "apt-get",
        "-qq",
        "-o",
        f"Dir::Etc::sourcelist={work / 'sources.list'}",
        "-o",
        "Dir::Etc::sourceparts=/dev/null",
        "-o",
        f"Dir::State::lists={work / 'lists'}",
        "-o",
        f"Dir::Cache={work}",
        "-o",
        "Dir::Cache::archives=archives",
        "-o",
        "Acquire::Languages=none",
        "-o",
        f"APT::Sandbox::User={'root' if os.geteuid() == 0 else ''}",
    ]
    tell(f"reading the package lists of Debian {SUITE}")
    refused = []
    for uri in mirrors():
        (work / "sources.list").write_text(
            f"deb {SIGNED}{uri} {SUITE} main\ndeb-src {SIGNED}{uri} {SUITE} main\n"
        )
        try:
            run(*apt, "update", "-o", "APT::Update::Error-Mode=any", cwd=work)
            break
        except CannotBuild as error:  # not Debian's, or not to be reached: the next one may be
            refused.append(str(error))
    else:
        raise CannotBuild(
            "\n".join(
                [
                    (
                        "no archive of this machine's apt has Debian's packages: add one to its"
                        " sources, or set KUBEBUILDER_ASSETS"
                    ),
                    *refused,
                ]
            )
        )
    return apt


def mirrors() -> list[str]:
    """Where this machine's apt may get Debian from; read from its settings, whether or not it has
    fetched any list yet."""
    config = run(
        "apt-get",
        "--no-release-info",
        "indextargets",
        "--format",
        "$(RELEASE) $(COMPONENT) $(REPO_URI)",
        "Created-By: Packages",
    )
    uris: dict[str, None] = {}
    for line in config.splitlines():
        release, component, uri = line.split(" ", 2)
        if component == "main" and re.fullmatch(
            r"[a-z]+", release
        ):  # neither -security nor -updates
            uris[uri] = None
    return list(uris)


def patch(root: Path, source: Path) -> None:
    """reflect2 1.0.1, which the source brings, crashes on custom resources when built by Go 1.18 or
    later; Debian has 1.0.2."""
    theirs = source / "vendor/github.com/modern-go/reflect2"
    remove(theirs)
    shutil.copytree(root / "usr/share/gocode/src/github.com/modern-go/reflect2", theirs)
