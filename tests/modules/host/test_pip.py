"""host.pip, with a real environment and a package made on the spot, so that no index is asked."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host import _requirements
from playrunner.modules.host.pip import Pip
from tests.support.host.performing import done, failure, undone


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("1.0", "1.2"):
        about = f"tiny_thing-{version}.dist-info"
        with zipfile.ZipFile(folder / f"tiny_thing-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny_thing.py", f"version = '{version}'\n")
            wheel.writestr(
                f"{about}/METADATA",
                f"Metadata-Version: 2.1\nName: tiny-thing\nVersion: {version}\n",
            )
            wheel.writestr(
                f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{about}/RECORD", "")
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("env") / "venv"


def step(environment: Path, wheels: Path, **more: Any) -> Pip:
    return Pip(
        virtualenv=str(environment),
        virtualenv_command=f"{sys.executable} -m venv",
        extra_args=f"--no-index --find-links {wheels}",
        **more,
    )


def test_packages_in_an_environment(environment: Path, wheels: Path, tmp_path: Path) -> None:
    tiny = {"environment": environment, "wheels": wheels}
    assert (
        done(step(**tiny, name=["tiny-thing"], version="1.0"), check=True)["changed"]
        and not environment.exists()
    )
    made = done(step(**tiny, name=["tiny-thing"], version="1.0"))
    assert made["changed"] and "Successfully installed tiny-thing-1.0" in made["stdout"]
    for asked in (["tiny-thing"], ["Tiny_Thing>=0.9,<2"], ["tiny.thing==1.0"]):
        assert not done(step(**tiny, name=asked))["changed"], asked
    assert done(step(**tiny, name=["tiny-thing>1.0"]), check=True)["changed"]
    assert done(step(**tiny, name=["tiny-thing"], state="latest"))["changed"]
    assert not done(step(**tiny, name=["tiny-thing"], state="latest"))["changed"]
    (tmp_path / "requirements.txt").write_text("# ours\ntiny-thing==1.0  # pinned\n")
    listed = step(**tiny, requirements=str(tmp_path / "requirements.txt"))
    assert (
        done(listed)["changed"]
        and not done(listed)["changed"]
        and not done(listed, check=True)["changed"]
    )
    taken = done(step(**tiny, name=["tiny-thing"], state="absent"))
    assert (
        taken["changed"] and not done(step(**tiny, name=["tiny-thing"], state="absent"))["changed"]
    )
    undone(step(**tiny, name=["tiny-thing"], state="absent"), taken["diff"]["before"])
    assert not done(step(**tiny, name=["tiny-thing==1.0"]))["changed"]
    assert "nosuch-package" in str(failure(step(**tiny, name=["nosuch-package"])))


def test_a_pip_that_is_not_there_is_named() -> None:
    assert "nosuchpip" in str(failure(Pip(name=["x"], executable="nosuchpip")))


def test_arguments_that_contradict_each_other_are_refused() -> None:
    assert "one of them" in (
        Pip.check({"name": ["a"], "executable": "pip3", "virtualenv": "/v"}) or ""
    )
    assert "exactly one name" in (Pip.check({"name": ["a", "b"], "version": "1"}) or "")
    assert "nothing to install" in (Pip.check({}) or "")


@pytest.mark.parametrize(
    ("text", "version", "met"),
    [
        ("a", "1", True),
        ("a==1.0", "1.0.0", True),
        ("a>=1.10", "1.9", False),
        ("a~=1.4", "1.9", True),
        ("a~=1.4", "2.0", False),
        ("a!=1.0,>=1", "1.0", False),
        ("a[x]>1,<3", "2", True),
        ("a==1.0rc1", "1.0rc1", True),
        ("a>=1.0rc1", "1.0", False),
        ("a; python_version<'3'", "1", False),
        ("git+https://e/a.git#egg=a", "1", False),
        ("./a", "1", False),
    ],
)
def test_whether_an_installed_version_does(text: str, version: str, met: bool) -> None:
    assert _requirements.met_by(text, version) is met


def test_a_list_in_one_text_keeps_conditions_together() -> None:
    assert _requirements.listed(["a>=1,<2, b"]) == ["a>=1,<2", "b"]
