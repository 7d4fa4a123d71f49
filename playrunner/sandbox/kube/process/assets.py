"""A real kube-apiserver, etcd and kubectl in one folder, for tests: `python -m
playrunner.sandbox.kube.process.assets` (or `make kube-assets`).

Everything comes from Debian 12 (bookworm), through the mirror this machine's apt is set up with:
etcd and kubectl as they are, kube-apiserver built from Debian's source package with Debian's Go.
Nothing is installed and root is not needed: packages are unpacked in a folder of our own, which
goes again.

The folder is the one in KUBEBUILDER_ASSETS (the ecosystem's convention), else one in the user's
cache directory. It is the only thing printed on standard output; progress goes to standard error.
With all three there, it returns at once. See docs/kube-assets.md. Only the standard library: it
runs before any virtual environment is there.
"""

from __future__ import annotations

import email.utils
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The last Debian whose source package holds the whole server; later ones have kubectl only
SUITE = "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SIGNED = (
    f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
)  # else by the keys that apt trusts for all
VERSION = "1.20.2"
SOURCE = "kubernetes"
GO = "golang-1.19"
PACKAGES = [
    f"{GO}-go",
    f"{GO}-src",
    "etcd-server",
    "kubernetes-client",
    "golang-github-modern-go-reflect2-dev",
]
PROGRAMS = [
    "kubectl",
    "etcd",
    "kube-apiserver",
]  # in the order they are put in place: the folder is complete with the last
DISK = 3 << 30  # what the build takes at most, in bytes; all but 120 MB goes again

# What marks a package whose types are in the server's OpenAPI document, and the packages that have
# documents of their own.
OPENAPI_TAG = re.compile(rb"^// *\+k8s:openapi-gen=", re.MULTILINE)
OPENAPI_APART = ["code-generator", "sample-apiserver"]

_began = time.monotonic()


class CannotBuild(Exception):
    """Something is missing or went wrong; the message says what, and what to do next."""


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
    folder = Path(asked).expanduser().absolute() if asked else cache() / VERSION
    if not lacking(folder):
        return folder
    if asked and len(lacking(folder)) < len(
        PROGRAMS
    ):  # somebody else's: not ours to mix versions in
        names = " and no ".join(lacking(folder))
        raise CannotBuild(
            f"KUBEBUILDER_ASSETS={folder} has no {names}: put it there, or unset the variable"
        )
    with alone(cache()):
        if lacking(folder):  # else another call made it while this one waited
            make(folder)
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
            tell("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(folder: Path) -> None:
    tools()
    work = cache() / f"{VERSION}.build"
    # What an earlier try had compiled is kept, and makes this one shorter; Go checks it by content.
    for left in work.iterdir() if work.exists() else []:
        if left.name != "compiled":
            remove(left)
    (work / "tmp").mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(work).free < DISK:
        raise CannotBuild(f"{work} has less than {DISK >> 30} GiB free; XDG_CACHE_HOME moves it")

    root, source = download(work)
    patch(root, source)
    go = Go(root, work)
    openapi(go, source)
    server(go, source)

    made = {
        "kubectl": root / "usr/bin/kubectl",
        "etcd": root / "usr/bin/etcd",
        "kube-apiserver": work / "kube-apiserver",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        fresh = folder / f".{name}.new"
        shutil.copyfile(made[name], fresh)
        fresh.chmod(0o755)
        fresh.replace(folder / name)
    remove(work)
    tell("done")


def tools() -> None:
    """Debian's own tools. All but dpkg-source are on every Debian; root gets that one installed."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise CannotBuild(
            "this is built from Debian's packages, and this machine has no apt: "
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
                        "no archive that apt here knows gives Debian's packages: add one to its"
                        " sources, or set KUBEBUILDER_ASSETS"
                    ),
                    *refused,
                ]
            )
        )
    tell("downloading Go, etcd, kubectl and the source of Kubernetes (about 125 MB)")
    run(*apt, "download", *PACKAGES, cwd=work)
    run(*apt, "source", "--download-only", SOURCE, cwd=work)
    tell("unpacking")
    for package in sorted(work.glob("*.deb")):
        run("dpkg-deb", "-x", str(package), str(work / "root"))
    source = work / "gopath/src/k8s.io/kubernetes"
    described = next(work.glob("*.dsc"))
    if VERSION not in described.name:
        raise CannotBuild(
            f"Debian {SUITE} now has {described.name}, not {VERSION}:"
            " playrunner/sandbox/kube/process/assets.py needs an update"
        )
    run("dpkg-source", "--no-check", "-x", str(described), str(source))  # apt has checked it
    return work / "root", source


def mirrors() -> list[str]:
    """Where this machine's apt may get Debian from; read from its settings, whether or not it has
    fetched any list yet."""
    told = run(
        "apt-get",
        "--no-release-info",
        "indextargets",
        "--format",
        "$(RELEASE) $(COMPONENT) $(REPO_URI)",
        "Created-By: Packages",
    )
    found: dict[str, None] = {}
    for line in told.splitlines():
        release, component, uri = line.split(" ", 2)
        if component == "main" and re.fullmatch(
            r"[a-z]+", release
        ):  # neither -security nor -updates
            found[uri] = None
    return list(found)


def patch(root: Path, source: Path) -> None:
    """reflect2 1.0.1, which the source brings, crashes on custom resources when built by Go 1.18 or
    later; Debian has 1.0.2."""
    theirs = source / "vendor/github.com/modern-go/reflect2"
    remove(theirs)
    shutil.copytree(root / "usr/share/gocode/src/github.com/modern-go/reflect2", theirs)


class Go:
    """Debian's Go, unpacked; it compiles as upstream's scripts had it: by GOPATH, with the vendored
    libraries, without C."""

    def __init__(self, root: Path, work: Path) -> None:
        home = root / "usr/lib" / GO.replace("golang", "go")
        self.work = work
        self.program = str(home / "bin/go")
        self.env = {
            "GOROOT": str(home),
            "GOPATH": str(work / "gopath"),
            "GOCACHE": str(work / "compiled"),
            "GOTMPDIR": str(work / "tmp"),
            "GOENV": "off",
            "GOFLAGS": "",
            "GO111MODULE": "off",
            "CGO_ENABLED": "0",
        }

    def build(self, package: str, output: Path, source: Path, *options: str) -> None:
        run(
            self.program,
            "build",
            "-v",
            "-trimpath",
            *options,
            "-o",
            str(output),
            package,
            cwd=source,
            env=self.env,
            lines="packages",
        )


def openapi(go: Go, source: Path) -> None:
    """The one generated file that Debian's source lacks: the server's OpenAPI document (`make
    generated_files` there)."""
    tell("generating the OpenAPI document")
    generator, report = go.work / "openapi-gen", go.work / "violations"
    go.build("./vendor/k8s.io/kube-openapi/cmd/openapi-gen", generator, source)
    packages = sorted({str(file.parent.relative_to(source)) for file in tagged(source)})
    run(
        str(generator),
        "-i",
        ",".join(f"k8s.io/kubernetes/{each}" for each in packages),
        "-p",
        "k8s.io/kubernetes/pkg/generated/openapi",
        "-O",
        "zz_generated.openapi",
        "-h",
        "vendor/k8s.io/code-generator/hack/boilerplate.go.txt",
        "-r",
        str(report),
        cwd=source,
        env=go.env,
    )
    # Upstream keeps the list of API rules its types break. Ours is the same only when the very same
    # types were read.
    if report.read_bytes() != (source / "api/api-rules/violation_exceptions.list").read_bytes():
        raise CannotBuild(
            "the OpenAPI document was not made of the types upstream's is:"
            " playrunner/sandbox/kube/process/assets.py needs an update"
        )


def tagged(source: Path) -> Iterator[Path]:
    libraries = [
        each for each in (source / "vendor/k8s.io").iterdir() if each.name not in OPENAPI_APART
    ]  # links, most of them
    for top in [source / "cmd", source / "pkg", source / "plugin", *libraries]:
        for folder, _, files in os.walk(f"{top}/"):
            for file in files:
                if file.endswith(".go") and OPENAPI_TAG.search(Path(folder, file).read_bytes()):
                    yield Path(folder, file)


def server(go: Go, source: Path) -> None:
    tell("compiling kube-apiserver (four to seven minutes on two free cores)")
    facts = (source / "hack/lib/version.sh").read_text()
    major, minor, _ = VERSION.split(".")
    commit = re.search(r"KUBE_GIT_COMMIT='(\w+)'", facts)
    changed = re.search(r"^ -- .*>  (.*)$", (source / "debian/changelog").read_text(), re.MULTILINE)
    if f"tag: v{VERSION}" not in facts or not commit or not changed:
        raise CannotBuild(
            f"the source is not that of {VERSION}: playrunner/sandbox/kube/process/assets.py needs"
            " an update"
        )
    date = time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(email.utils.parsedate_to_datetime(changed[1]).timestamp())
    )
    said = {
        "gitVersion": f"v{VERSION}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": commit[1],
        "gitTreeState": "archive",
        "buildDate": date,
    }
    versions = [
        f"-X k8s.io/kubernetes/vendor/k8s.io/{package}.{name}={value}"
        for package in ("client-go/pkg/version", "component-base/version")
        for name, value in said.items()
    ]
    go.build(
        "./cmd/kube-apiserver",
        go.work / "kube-apiserver",
        source,
        "-tags",
        "providerless",
        "-ldflags",
        " ".join(["-s -w -buildid=", *versions]),
    )
    if run(str(go.work / "kube-apiserver"), "--version").strip() != f"Kubernetes v{VERSION}":
        raise CannotBuild("the kube-apiserver that was built does not say its version")


def run(
    *command: str, cwd: Path | None = None, env: dict[str, str] | None = None, lines: str = ""
) -> str:
    """Run to the end and return what it printed. With `lines`, tell every half minute how many
    there were (of what)."""
    program = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C", **(env or {})},
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said: list[str] = []
    over = threading.Event()

    def beat() -> None:
        while not over.wait(30):
            tell(f"  {len(said)} {lines}")

    if lines:
        threading.Thread(target=beat, daemon=True).start()
    try:
        assert program.stdout
        said.extend(iter(program.stdout.readline, ""))
        code = program.wait()
    except BaseException:
        program.terminate()
        program.wait()
        raise
    finally:
        over.set()
    if code:
        shown = f"{Path(command[0]).name} ... {' '.join(command[1:])[-80:]}"
        raise CannotBuild(f"'{shown}' ended with {code}:\n{''.join(said[-15:]).rstrip()}")
    return "".join(said)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def tell(what: str) -> None:
    print(f"kube-assets: {time.monotonic() - _began:4.0f} s  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
