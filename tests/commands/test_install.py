"""An installed wheel: the `playrunner` command in an empty folder, without a checkout."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from playrunner.project import install_extra
from tests.support.installed import (  # noqa: F401 - fixtures
    Project,
    project,
    python,
    python_without_extras,
    sandbox,
    wheel,
)
from tests.support.runner import REPOSITORY

HELLO_ROLE = "- {name: of this project, debug: {msg: hello}}\n"


def test_after_the_quickstart_the_pretend_cloud_finds_what_it_needs(tmp_path: Path) -> None:
    printed = subprocess.run(
        ["make", "-n", "quickstart", f"VENV={tmp_path}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    extras = {
        extra
        for group in re.findall(r'pip install .*"\.\[([\w,-]+)\]"', printed)
        for extra in group.split(",")
    }
    asked_for = re.search(r"\[([\w-]+)\]", install_extra("sandbox"))  # what is said without moto
    assert asked_for and {asked_for[1], "train"} <= extras


def test_a_wheel_holds_two_packages_and_the_content_inside_one_of_them(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.partition("/")[0] for name in names}
    assert {name.removesuffix(".dist-info").partition("-")[0] for name in top} == {
        "playrunner",
        "trainer",
    }
    assert len(top) == 3
    assert {
        "playrunner/content/roles/eks/verbs.py",
        "playrunner/content/roles/training/tasks/main.yaml",
        "playrunner/content/manifests/versions.yaml",
        "playrunner/content/playbooks/hello-nodes.yaml",
        "playrunner/content/inventories/local.yaml",
        "playrunner/commands/new_project/site.yaml",
        "playrunner/sandbox/__main__.py",
        "trainer/profiles/gpt2-micro-smoke.yaml",
    } <= set(names)
    assert not [name for name in names if name.endswith(".pyc") or "tests/" in name]


def test_every_file_of_a_checkout_that_verbs_read_is_in_the_wheel(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    for part in ("roles", "manifests", "playbooks", "inventories", "playrunner", "trainer"):
        prefix = "" if part in ("playrunner", "trainer") else "playrunner/content/"
        tracked = subprocess.run(
            ["git", "ls-files", part], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout.split()
        present = {f"{prefix}{name}" for name in tracked if (REPOSITORY / name).is_file()}
        assert present <= packed


def test_the_verbs_are_there_in_an_empty_folder(project: Project) -> None:
    listed = project.playrunner("--list")
    assert listed.code == 0, listed.text
    for name in ("init", "play", "eks.create", "train.launch", "sandbox.up"):
        assert f"  {name} " in listed.out
    assert project.playrunner("--version").out.startswith("playrunner ")
    assert project.run(project.python, "-m", "playrunner", "--version").code == 0
    shown = project.playrunner("play", "--help")
    assert shown.code == 0 and "Usage: playrunner" in shown.out
    refused = project.playrunner("ply")
    assert refused.code == 5 and 'did you mean "play"' in refused.err
    completion = project.playrunner("--complete", "--", "playrunner ")
    assert completion.code == 0 and "train.launch" in completion.out.split()


def test_init_creates_a_project_once_and_keeps_what_is_there(project: Project) -> None:
    project.write("site.yaml", "mine\n")
    files = {"inventory.yaml", "site.yaml", ".gitignore"}
    looked = project.playrunner("init", "--check", "--json").data
    assert set(looked["created"]) == files - {"site.yaml"}
    assert [path.name for path in project.folder.iterdir()] == ["site.yaml"]
    made = project.playrunner("init", "--json").data
    assert set(made["created"]) == files - {"site.yaml"} and made["kept"] == ["site.yaml"]
    again = project.playrunner("init")
    assert again.code == 0 and "created" not in again.out
    assert (project.folder / "site.yaml").read_text() == "mine\n"
    assert {path.name for path in project.folder.iterdir()} == files


def test_a_new_project_runs_its_playbook_on_the_sandbox_nodes(sandbox: Project) -> None:
    assert sandbox.playrunner("init").code == 0
    played = sandbox.playrunner("play", "site.yaml", "--json")
    assert played.code == 0, played.text
    assert played.counts("node1")["changed"] == played.counts("node2")["changed"] == 2
    again = sandbox.playrunner("play", "site.yaml", "--json")
    assert again.code == 0 and again.counts("node1")["changed"] == 0
    shown = sandbox.playrunner("inventory.show", "--json")
    assert shown.data["nodes"]["hosts"] == ["node1", "node2"]


def test_the_projects_own_files_come_before_those_of_the_package(project: Project) -> None:
    eks = project.playrunner("inventory.show", "--inventory", "eks-gpu", "--json")
    assert eks.code == 0, eks.text
    bundled = project.playrunner("play", "hello-nodes", "--list-tasks")
    assert bundled.code == 0 and "The greeting itself" in bundled.out
    project.write("playbooks/hello-nodes.yaml", "- {hosts: localhost, roles: [bucket, network]}\n")
    project.write("roles/bucket/tasks/main.yaml", HELLO_ROLE)
    own = project.playrunner("play", "hello-nodes", "--list-tasks")
    assert own.code == 0, own.text
    assert "of this project" in own.out and "network" in own.out
    assert "greeting" not in own.out
    assert "bucket.create" in project.playrunner("--list").out


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("train.launch --profile gpt2-micro-smoke --nodes 2", "train"),
        ("audit --inventory eks-gpu", "aws"),
        ("eks.create --check --inventory eks-gpu", "aws"),
        ("eks.create --check --inventory eks-gpu --inventory local", "sandbox"),
        ("sandbox.up --aws", "sandbox"),
        ("gke.create --check --inventory gke --inventory local", "gcp"),
        ("audit --inventory gke --extra-vars gcp_project=mine", "gcp"),
    ],
)
def test_a_missing_extra_is_named_as_pip_takes_it(
    python_without_extras: Path, tmp_path: Path, command: str, extra: str
) -> None:
    project = Project(python_without_extras, tmp_path)
    done = project.playrunner(*command.split())
    assert project.playrunner("sandbox.down", "--yes").code == 0
    assert done.code != 0, done.text
    assert f"pip install 'playrunner[{extra}]'" in done.text
    assert "Traceback" not in done.text


@pytest.mark.parametrize(
    ("program", "extra"),
    [("eks_token --cluster c --region us-east-1", "aws"), ("gke_token", "gcp")],
)
def test_a_token_program_names_the_extra_that_it_needs(
    python_without_extras: Path, tmp_path: Path, program: str, extra: str
) -> None:
    words = f"playrunner.{program}".split()
    done = Project(python_without_extras, tmp_path).run(python_without_extras, "-m", *words)
    assert done.code != 0 and done.out == ""
    assert f"pip install 'playrunner[{extra}]'" in done.err
    assert len(done.err.splitlines()) == 1
