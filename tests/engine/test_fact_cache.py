"""Facts that outlive a run: `fact_caching: jsonfile`, in ansible-core's files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - set_fact: { kept: from the first run, cacheable: true }
    - set_fact: { not_kept: gone }
"""
SECOND = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - assert: { that: [kept == wanted, not_kept is undefined, ansible_facts.kept == wanted] }
"""
CLEAR = "- hosts: localhost\n  gather_facts: false\n  tasks: [{ meta: clear_facts }]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ansible.cfg").write_text(
        "[defaults]\nfact_caching = jsonfile\nfact_caching_connection = cache\n"
        "fact_caching_prefix = of_\ngathering = smart\n"
    )
    for name, text in (("first", FIRST), ("second", SECOND), ("clear", CLEAR)):
        (tmp_path / f"{name}.yml").write_text(text)
    return tmp_path


def play(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "playrunner.commands.ansible_programs.playbook", *words],
        cwd=folder,
        env={**os.environ, "ANSIBLE_CONFIG": str(folder / "ansible.cfg")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


WANTED = ("-e", '{"wanted": "from the first run"}')


def test_facts_are_there_in_the_next_run_until_they_are_cleared(folder: Path) -> None:
    kept = folder / "cache" / "of_s1_localhost"
    assert play(folder, "first.yml").returncode == 0
    assert kept.stat().st_mode & 0o777 == 0o600
    assert play(folder, "second.yml", *WANTED).returncode == 0
    assert play(folder, "clear.yml").returncode == 0
    assert not kept.exists()
    assert play(folder, "second.yml", *WANTED).returncode == 2


def test_flush_cache_forgets_them_first(folder: Path) -> None:
    assert play(folder, "first.yml").returncode == 0
    assert play(folder, "--flush-cache", "second.yml", *WANTED).returncode == 2


def test_check_writes_and_forgets_nothing(folder: Path) -> None:
    assert play(folder, "--check", "first.yml").returncode == 0
    assert not (folder / "cache").exists()
    assert play(folder, "first.yml").returncode == 0
    assert play(folder, "--check", "--flush-cache", "clear.yml").returncode == 0
    assert (folder / "cache" / "of_s1_localhost").exists()


def test_what_ansible_core_wrote_is_read_and_what_cannot_be_is_not(folder: Path) -> None:
    kept = folder / "cache" / "of_s1_localhost"
    kept.parent.mkdir()
    tagged = {"__ansible_type": "_AnsibleTaggedStr", "value": "from the first run", "tags": []}
    kept.write_text(json.dumps({"__payload__": json.dumps({"kept": tagged})}))
    assert play(folder, "second.yml", *WANTED).returncode == 0
    kept.write_text('{"__payload__": "{')
    assert play(folder, "second.yml", *WANTED).returncode == 2


def test_old_facts_are_forgotten(folder: Path) -> None:
    assert play(folder, "first.yml").returncode == 0
    os.utime(folder / "cache" / "of_s1_localhost", (1, 1))
    assert play(folder, "second.yml", *WANTED).returncode == 2


def test_kept_facts_are_not_gathered_again_where_gathering_is_smart(folder: Path) -> None:
    (folder / "gather.yml").write_text("- hosts: localhost\n  tasks: [{ debug: { msg: x } }]\n")
    assert "Gathering Facts" in play(folder, "gather.yml").stdout
    assert "Gathering Facts" not in play(folder, "gather.yml").stdout
    assert play(folder, "--flush-cache", "first.yml").returncode == 0
    assert "Gathering Facts" in play(folder, "gather.yml").stdout


def test_jsonfile_without_a_folder_is_refused(folder: Path) -> None:
    (folder / "ansible.cfg").write_text("[defaults]\nfact_caching = jsonfile\n")
    done = play(folder, "first.yml")
    assert done.returncode == 4
    assert "ansible.cfg:2" in done.stderr and "set fact_caching_connection" in done.stderr
