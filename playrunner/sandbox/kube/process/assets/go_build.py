"""kube-apiserver, compiled with Debian's Go."""

from __future__ import annotations

import email.utils
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from playrunner.sandbox.kube.process.assets.commands import VERSION, CannotBuild, run, tell
from playrunner.sandbox.kube.process.assets.debian import GO

# What marks a package whose types are in the server's OpenAPI document, and the packages that have
# documents of their own.
OPENAPI_TAG = re.compile(rb"^// *\+k8s:openapi-gen=", re.MULTILINE)

OPENAPI_APART = ["code-generator", "sample-apiserver"]
# What only a debugger reads takes a seventh of the time
WITHOUT_DEBUGGER = "-gcflags=all=-dwarf=false"


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
            "the OpenAPI document does not have the types of upstream's:"
            " playrunner/sandbox/kube/process/assets needs an update"
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
            f"the source is not that of {VERSION}: playrunner/sandbox/kube/process/assets needs"
            " an update"
        )
    date = time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(email.utils.parsedate_to_datetime(changed[1]).timestamp())
    )
    stamps = {
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
        for name, value in stamps.items()
    ]
    go.build(
        "./cmd/kube-apiserver",
        go.work / "kube-apiserver",
        source,
        "-tags",
        "providerless",
        WITHOUT_DEBUGGER,
        "-ldflags",
        " ".join(["-s -w -buildid=", *versions]),
    )
    if run(str(go.work / "kube-apiserver"), "--version").strip() != f"Kubernetes v{VERSION}":
        raise CannotBuild("the compiled kube-apiserver does not report its version")
