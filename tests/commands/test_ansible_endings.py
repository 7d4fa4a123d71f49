"""What ends a whole run while it runs, and what only warns: as with ansible-playbook."""

from __future__ import annotations

import getpass
import re
from pathlib import Path

import pytest

from tests.commands.test_ansible_playbook import run
from tests.support.runner import invoke

BLOCK = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - block:
        - {task}
      rescue:
        - debug: {{msg: rescued}}
    - debug: {{msg: went on}}
- hosts: localhost
  gather_facts: false
  tasks:
    - debug: {{msg: the next play}}
"""


@pytest.mark.parametrize(
    ("task", "code", "said"),
    [
        (
            "{command: 'true', notify: missing}",
            1,
            "The requested handler 'missing' was not found in either the main handlers list",
        ),
        (
            "{debug: {}, throttle: \"{{ 'many' }}\"}",
            1,
            "Failed to convert the throttle value to an integer: invalid literal for int()",
        ),
        ("{include_tasks: wrong.yml}", 4, "no_such_module"),
    ],
)
def test_what_is_wrong_in_the_playbook_ends_the_run_past_every_rescue(
    tmp_path: Path, task: str, code: int, said: str
) -> None:
    (tmp_path / "wrong.yml").write_text("- no_such_module: {}\n")
    (tmp_path / "site.yml").write_text(BLOCK.format(task=task))
    done = run(tmp_path, "site.yml")
    assert (done.returncode, said in done.stderr) == (code, True), done
    assert not any(text in done.stdout for text in ('rescued"', "went on", "the next play"))
    ours = invoke("play", str(tmp_path / "site.yml"), "--json", state=tmp_path / "state")
    assert (ours.code, said in ours.text) == (5, True), ours.text


def test_an_include_of_a_file_that_is_not_there_fails_its_host_and_is_rescued(
    tmp_path: Path,
) -> None:
    task = "include_tasks: \"{{ 'missing' }}.yml\""
    (tmp_path / "site.yml").write_text(BLOCK.format(task=task))
    done = run(tmp_path, "site.yml")
    assert done.returncode == 0 and 'rescued"' in done.stdout and "the next play" in done.stdout


def test_a_role_is_no_handler(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(
        "- hosts: localhost\n  handlers:\n    - {name: h, include_role: {name: any}}\n"
    )
    done = run(tmp_path, "site.yml")
    assert done.returncode == 4 and "Using 'include_role' as a handler" in done.stderr


def test_an_inventory_that_is_not_there_is_a_warning_of_the_program_alone(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(
        "- {hosts: localhost, gather_facts: false, tasks: [debug: {msg: here}]}\n"
    )
    done = run(tmp_path, "-i", "missing", "site.yml")
    assert done.returncode == 0 and "here" in done.stdout
    assert f"Unable to parse {tmp_path}/missing as an inventory source" in done.stderr
    (tmp_path / "inventories").mkdir()
    (tmp_path / "inventories" / "mine.yaml").write_text("all: {hosts: {one: {}}}\n")
    assert "Unable to parse" not in run(tmp_path, "-i", "mine", "site.yml").stderr
    ours = invoke(
        "play",
        str(tmp_path / "site.yml"),
        "--inventory",
        str(tmp_path / "missing"),
        state=tmp_path / "state",
    )
    assert ours.code == 5 and "no such inventory" in ours.text


@pytest.mark.parametrize(
    ("treated", "group", "warns"),
    [
        ("never", "of-two", "but not replaced"),
        ("always", "of_two", "and automatically replaced"),
        ("silently", "of_two", ""),
        ("ignore", "of-two", ""),
    ],
)
def test_names_of_groups_are_made_valid_as_the_setting_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, treated: str, group: str, warns: str
) -> None:
    monkeypatch.setenv("ANSIBLE_TRANSFORM_INVALID_GROUP_CHARS", treated)
    (tmp_path / "hosts").write_text(
        "[of-two]\none ansible_connection=local\n[of-two:vars]\nword=known\n"
        "[above-it:children]\nof-two\n"
    )
    (tmp_path / "site.yml").write_text(
        "- hosts: all\n  gather_facts: false\n  tasks:\n"
        "    - debug: {msg: \"{{ group_names | join(' ') }} {{ word }}\"}\n"
    )
    done = run(tmp_path, "-i", "hosts", "-l", group, "site.yml")
    above = "above-it" if "-" in group else "above_it"
    assert done.returncode == 0 and f'"msg": "{above} {group} known"' in done.stdout, done
    assert ("Invalid characters were found in group names" in done.stderr) == bool(warns)
    assert warns in done.stderr


def test_what_a_run_shows_is_appended_to_its_log_without_secrets_and_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "of-runs.log"
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(log))
    monkeypatch.setenv("ANSIBLE_FORCE_COLOR", "true")
    (tmp_path / "site.yml").write_text(
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n"
        "    - {name: say, debug: {msg: aloud}}\n"
        "    - {name: hide, command: echo quietly, no_log: true}\n"
    )
    assert run(tmp_path, "site.yml").returncode == 0
    first = log.read_text()
    entry = rf"\d{{4}}(-\d\d){{2}} \d\d(:\d\d){{2}},\d{{3}} p=\d+ u={getpass.getuser()} n=ansible "
    assert re.search(rf"(?m)^{entry}INFO\| TASK \[say\] \*+$", first)
    assert '"msg": "aloud"' in first and "quietly" not in first and "\033" not in first
    assert log.stat().st_mode & 0o077 == 0
    ours = invoke("play", str(tmp_path / "site.yml"), state=tmp_path / "state")
    assert ours.code == 0 and log.read_text().startswith(first)
    assert "INFO| PLAY localhost" in log.read_text()
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(tmp_path / "none" / "log"))
    done = run(tmp_path, "site.yml")
    assert done.returncode == 0 and "cannot be written" in done.stderr


def test_a_block_within_a_block_holds_no_handlers(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(
        "- hosts: localhost\n  handlers:\n    - block:\n        - block: [{name: h, debug: }]\n"
    )
    done = run(tmp_path, "site.yml")
    assert done.returncode == 4 and "Using a block as a handler" in done.stderr
