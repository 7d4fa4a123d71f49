"""playrunner-inventory: what ansible-inventory prints, and how it ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from playrunner.commands.ansible_programs import inventory
from tests.engine.test_inventory import SAMPLES


def ansible(*words: str) -> tuple[int, str]:
    program = shutil.which("ansible-inventory", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("ansible-core is not installed")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "cluster.yaml --list",
        "cluster.yaml --list --export",
        "mixed --list --yaml --export",
        "cluster.yaml --graph --vars",
        "mixed --graph",
        "cluster.ini --host lone",
        "cluster.ini --host nosuch",
        "cluster.ini --graph nosuch",
        "cluster.ini --list -l !lone",
        "cluster.ini",
        "cluster.ini --list --graph",
    ],
)
def test_it_prints_and_ends_as_ansible_inventory_does(
    words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    name, *flags = words.split()
    asked = ["-i", str(SAMPLES / name), *flags]
    code = inventory.main(asked)
    assert (code, capfd.readouterr().out) == ansible(*asked)


def test_variables_beside_a_playbook_are_added(capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["-i", str(SAMPLES / "mixed"), "--playbook-dir", str(SAMPLES / "beside_playbook")]
    assert inventory.main([*asked, "--list"]) == 0
    assert (0, capfd.readouterr().out) == ansible(*asked, "--list")


def test_a_file_can_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.yaml"
    asked = ["-i", "one,two,", "--list", "--output", str(file)]
    assert inventory.main([*asked, "--yaml"]) == 0
    assert capfd.readouterr().out == ""
    written = yaml.safe_load(file.read_text())
    assert written == {"all": {"children": {"ungrouped": {"hosts": {"one": {}, "two": {}}}}}}
    asked[-1] = str(tmp_path / "nowhere" / "out")
    assert inventory.main(asked) == 1
    assert "Unable to write to destination file" in capfd.readouterr().err


def test_what_is_encrypted_stays_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "i.yaml"
    file.write_text("all:\n  hosts:\n    one:\n      key: !vault |\n        $ANSIBLE_VAULT;1.1\n")
    assert inventory.main(["-i", str(file), "--host", "one"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert list(shown["key"]) == ["__ansible_vault"]
