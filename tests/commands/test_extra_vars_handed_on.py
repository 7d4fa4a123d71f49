"""--extra-vars of a play hold for the commands that its steps start."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from playrunner.commands.flags import options_from
from playrunner.errors import BadInput
from playrunner.variables.extra_vars import read_extra_vars
from tests.support import runner

_STEP = """
- hosts: localhost
  gather_facts: false
  tasks:
    - command: {argv: [PYTHON, -c, "import os; print(os.environ['PLAYRUNNER_EXTRA_VARS'])"]}
      environment: {PLAYRUNNER_EXTRA_VARS: "{{ playrunner_extra_vars | to_json }}"}
      register: seen
    - copy: {content: "{{ seen.stdout }}", dest: DEST}
"""


def test_a_started_command_has_the_plays_variables_and_its_own_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "more.yaml").write_text("region: east\nname: theirs\n")
    text = _STEP.replace("PYTHON", sys.executable).replace("DEST", str(tmp_path / "seen"))
    (tmp_path / "play.yaml").write_text(text)
    given = ("--extra-vars", f"@{tmp_path}/more.yaml", "--extra-vars", "size='{{ 7 * 6 }}'")
    done = runner.invoke("play", tmp_path / "play.yaml", *given, state=tmp_path / "state")
    assert done.code == 0, done.text
    handed = (tmp_path / "seen").read_text()
    assert json.loads(handed) == [f"@{tmp_path}/more.yaml", "size='{{ 7 * 6 }}'"]

    monkeypatch.setenv("PLAYRUNNER_EXTRA_VARS", handed)
    options = options_from({"extra_vars": ["name=ours"]})
    found = read_extra_vars(options.extra_vars)
    assert (found["region"], found["name"]) == ("east", "ours")


def test_what_is_no_list_of_texts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYRUNNER_EXTRA_VARS", '{"a": 1}')
    with pytest.raises(BadInput, match="JSON list"):
        options_from({})
