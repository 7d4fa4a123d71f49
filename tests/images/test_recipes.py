"""What goes into an image, and what must not: its tag follows from the first, the second is refused
with a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playrunner.hostside.module import Failed
from playrunner.images import context, recipe
from playrunner.images.context import Source, sources_of
from playrunner.images.dockerfile import bases
from playrunner.images.ignore import Ignored
from playrunner.images.reference import parse

TEXT = "FROM scratch\nCOPY code /code\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "inner").mkdir(parents=True)
    (folder / "main.py").write_text("print(1)\n")
    (folder / "inner" / "data.txt").write_text("data\n")
    return folder


def made(code: Path, text: str = TEXT, **build_args: str) -> recipe.Recipe:
    return recipe.make(
        "cpu",
        "registry.example.org/team/images",
        text,
        sources_of({"code": str(code)}),
        build_args,
        "demo",
    )


def test_the_same_files_make_the_same_tag_wherever_and_whenever(code: Path, tmp_path: Path) -> None:
    first = made(code)
    elsewhere = tmp_path / "elsewhere"
    code.rename(elsewhere)
    os.utime(elsewhere / "main.py", (1, 1))
    (elsewhere / "main.py").chmod(0o600)
    (elsewhere / "__pycache__").mkdir()
    (elsewhere / "__pycache__" / "main.cpython-311.pyc").write_bytes(b"x")

    assert made(elsewhere).reference == first.reference
    assert str(first.reference) == f"registry.example.org/team/images:cpu-{first.content[:16]}"


@pytest.mark.parametrize("change", ["a byte", "a name", "a right", "the Dockerfile", "an argument"])
def test_whatever_goes_in_changes_the_tag(code: Path, change: str) -> None:
    before = made(code).reference.tag
    if change == "a byte":
        (code / "main.py").write_text("print(2)\n")
    elif change == "a name":
        (code / "main.py").rename(code / "other.py")
    elif change == "a right":
        (code / "main.py").chmod(0o755)
    text = TEXT + "USER 1\n" if change == "the Dockerfile" else TEXT
    after = made(code, text, **({"A": "1"} if change == "an argument" else {}))

    assert after.reference.tag != before


def test_a_file_that_changes_between_tag_and_build_is_noticed(code: Path) -> None:
    wanted = made(code)
    (code / "main.py").write_text("print(2)\n")

    with pytest.raises(Failed, match="have changed since its tag was worked out"):
        wanted.files()


def test_a_recipe_survives_its_way_through_a_playbook(code: Path) -> None:
    wanted = made(code, BASE="x")

    assert recipe.from_values(wanted.values()) == wanted


@pytest.mark.parametrize("name", ["bin", "lib", "etc", "usr"])
def test_a_workspace_cannot_overwrite_system_folders(code: Path, name: str) -> None:
    (code / name).mkdir()
    (code / name / "file").write_text("x")

    with pytest.raises(
        Failed, match=rf"{name} at its root would overwrite the image's own /{name}"
    ):
        context.files_of(sources_of({}, str(code)))
    (code / ".dockerignore").write_text(f"{name}\n")
    kept = [file.dest for file in context.files_of(sources_of({}, str(code)))]
    assert kept == ["workspace/inner/data.txt", "workspace/main.py"]


@pytest.mark.parametrize("name", [".env", "inner/id_rsa", ".aws/credentials", "server.pem"])
def test_a_file_that_looks_like_a_secret_is_refused(code: Path, name: str) -> None:
    (code / name).parent.mkdir(exist_ok=True)
    (code / name).write_text("x")

    with pytest.raises(Failed, match="looks like a secret"):
        context.files_of([Source(str(code), "code")])


def test_a_secret_as_a_build_argument_is_refused(code: Path) -> None:
    with pytest.raises(Failed, match="readable in the image's history"):
        made(code, HF_TOKEN="hf_x")


def test_a_link_out_of_the_folder_is_refused(code: Path) -> None:
    (code / "passwd").symlink_to("/etc/passwd")

    with pytest.raises(Failed, match="link to somewhere else"):
        made(code)


def test_what_is_laid_out_is_what_was_hashed(code: Path, tmp_path: Path) -> None:
    (code / "main.py").chmod(0o775)
    place = tmp_path / "out"
    place.mkdir()

    context.lay_out(place, TEXT, made(code).files())

    files = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    assert files == ["Dockerfile", "code/inner/data.txt", "code/main.py"]
    assert [
        oct((place / "code" / name).stat().st_mode & 0o777)
        for name in ("main.py", "inner/data.txt")
    ] == ["0o755", "0o644"]


@pytest.mark.parametrize(
    ("lines", "left_out", "kept"),
    [
        (["*.log"], ["a.log"], ["inner/a.log"]),
        (["**/*.log"], ["a.log", "inner/deep/a.log"], ["a.log.txt"]),
        (["data", "!data/small"], ["data/big", "data"], ["data/small", "data2"]),
        (["/data/"], ["data/big"], ["inner/data/big"]),
        (["# a comment", "", "file?.txt"], ["file1.txt"], ["file10.txt", "# a comment"]),
        (["[ab].py"], ["a.py"], ["c.py"]),
    ],
)
def test_dockerignore_leaves_out_what_docker_would(
    lines: list[str], left_out: list[str], kept: list[str]
) -> None:
    ignored = Ignored(lines)

    assert [name for name in (*left_out, *kept) if ignored.covers(name)] == left_out


@pytest.mark.parametrize(
    ("text", "arguments", "found"),
    [
        ("FROM python:3.11", {}, ["python:3.11"]),
        ("ARG BASE=a:1\nFROM $BASE\nARG BASE=b:1", {"BASE": "c:1"}, ["c:1"]),
        (
            (
                "FROM --platform=linux/amd64 a:1 AS one\nFROM one\nCOPY --from=one /x /x\nCOPY"
                " --from=b:2 /y /y"
            ),
            {},
            ["a:1", "b:2"],
        ),
        ("FROM scratch\nCOPY a \\\n  # in between\n  b", {}, []),
        ("FROM ${BASE:-d:4}", {}, ["d:4"]),
    ],
)
def test_the_images_that_a_dockerfile_builds_on(
    text: str, arguments: dict[str, str], found: list[str]
) -> None:
    assert bases(text, arguments) == found


def test_a_base_without_a_value_is_named() -> None:
    with pytest.raises(Failed, match="BASE_IMAGE has no value"):
        bases("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}", {})


@pytest.mark.parametrize(
    ("text", "whole", "host"),
    [
        ("python:3.11", "docker.io/library/python:3.11", "registry-1.docker.io"),
        ("longtong/cpu", "docker.io/longtong/cpu", "registry-1.docker.io"),
        ("127.0.0.1:5000/a/b:c", "127.0.0.1:5000/a/b:c", "127.0.0.1:5000"),
        (
            "us-docker.pkg.dev/p/r/i@sha256:" + "0" * 64,
            "us-docker.pkg.dev/p/r/i@sha256:" + "0" * 64,
            "us-docker.pkg.dev",
        ),
        ("localhost/x:y", "localhost/x:y", "localhost"),
    ],
)
def test_a_name_is_read_as_docker_reads_it(text: str, whole: str, host: str) -> None:
    assert (str(parse(text)), parse(text).api_host) == (whole, host)


@pytest.mark.parametrize("text", ["Upper/case", "a b", "a:b:c", "", "x@sha256:12"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(Failed, match="is not the name of an image"):
        parse(text)
