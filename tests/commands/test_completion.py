"""Completion of values, asked as the shells do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from playrunner.training.runs.record import Record

ROOT = Path(__file__).parents[2]
# Each sources the program's own script, and asks for what key presses would, once for each line
BEGIN = {
    "bash": "source <(playrunner --print-completion-script bash)",
    "zsh": "compctl() { : }\nsource <(playrunner --print-completion-script zsh)",
    "fish": "playrunner --print-completion-script fish | source",
}
ASK = {
    "bash": """
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_complete_playrunner playrunner "{last}" x
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """
words=({words})
_complete_playrunner
printf '%s\\n' "${{(M)reply[@]:#{last}*}}"
""",
    "fish": """
complete -C "{line}"
""",
}
END_OF_ANSWER = "end of answer"


@pytest.fixture(scope="module")
def shell_path(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose `playrunner` is this checkout's, with a run that was recorded."""
    folder = tmp_path_factory.mktemp("programs")
    program = folder / "playrunner"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m playrunner "$@"\n')
    program.chmod(0o755)
    state = folder / "state"
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PLAYRUNNER_STATE_HOME": str(state),
    }


def asked(shell: str, lines: list[str], environment: dict[str, str]) -> list[list[str]]:
    """What is offered for each line."""
    script = [BEGIN[shell]]
    for line in lines:
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        script.append(ASK[shell].format(words=quoted, last=words[-1], line=line))
        script.append(f"echo '{END_OF_ANSWER}'")
    ran = subprocess.run(
        [shutil.which(shell) or shell, "-c", "\n".join(script)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    answers = ran.stdout.split(END_OF_ANSWER + "\n")[:-1]
    return [[each.partition("\t")[0] for each in text.split("\n") if each] for text in answers]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_profiles(shell: str, shell_path: dict[str, str]) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    [offered] = asked(shell, ["playrunner train.launch --profile gpt2-mi"], shell_path)
    assert {"gpt2-micro", "gpt2-micro-smoke"} <= set(offered)
    assert all(each.startswith("gpt2-mi") for each in offered), offered


def test_runs_inventories_launchers_and_settings_are_completed_and_other_words_as_before(
    shell_path: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", shell_path["PLAYRUNNER_STATE_HOME"])
    Record("finished-yesterday").begin({"name": "finished-yesterday"})
    expected = {
        "playrunner train.logs --name fin": ["finished-yesterday"],
        "playrunner play --inventory eks-t": ["eks-trainium"],
        "playrunner train.launch --launcher pyt": ["pytorchjob"],
        "playrunner train.launch --set train.checkpoint.ke": ["train.checkpoint.keep="],
        "playrunner train.launch --det": ["--detach"],
        "playrunner train.launch --name fin --notify un": [],
        "playrunner train.laun": ["train.launch"],
        "playrunner train.launch --launcher torchrun --profile=gpt2-mi -- --inventory loc": [],
    }
    offered = asked("bash", list(expected), shell_path)
    assert dict(zip(expected, offered, strict=True)) == expected
